//! T24 and R14: processes of the whole path are stopped (`SIGSTOP`) at random moments for random times, and continue.
//!
//! While the gateway is stopped, or receives nothing from a stopped exchange, no reader shows a live book after the
//! stated limit. When the process continues, every book is live again within [`WHOLE_MAX`]. Every book that a reader
//! showed as live, price book or order book, from the stream or from the last-value tables, is a state of the
//! exchange's book, in order. Memory and descriptors of each process must not grow.

use crate::alone;
use crate::expected_books::{hash_of, judge_states};
use crate::participants::{Participants, SUBSCRIBERS, exchange};
use crate::pauses::{live_books, nothing_says_that_all_is_well};
use crate::processes::{Place, Process, Processes};
use crate::resources::{SAMPLES_MIN, Watch};
use crate::soak::seconds;
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::seeds;

/// A gateway without a heartbeat for this time is stalled: two heartbeats of 100 ms.
const STALLED_AFTER: Duration = Duration::from_millis(200);

/// `channel_silence_ms` of the gateway, and the longest time until a check; the exchange repeats its snapshots and definitions without
/// a pause.
const SILENT_AFTER: Duration = Duration::from_millis(1_100);

/// Additional time after which a check is reliable on a loaded host.
const MARGIN: Duration = Duration::from_millis(500);

/// A stop of the exchange that must be detected, milliseconds. The gateway may be late by less than the stall limit,
/// both with the last packet and with the check that finds the silence.
const LONG_MS: i64 =
    (SILENT_AFTER.as_millis() + 2 * STALLED_AFTER.as_millis() + MARGIN.as_millis()) as i64;

/// Time after the last stop within which every book is live again: some snapshot cycles, which take a second each and
/// are partly lost themselves.
const WHOLE_MAX: Duration = Duration::from_secs(15);

#[test]
fn stopped_processes_recover_and_no_wrong_book_is_live() {
    let _alone = alone();
    for seed in seeds(1) {
        let processes = Processes::new("stops");
        let mut session = Session::start(&processes, seed);
        let start = Instant::now();
        // Each kind at least once, in any order; enough of them to distinguish growth from noise.
        let mut turns = 0;
        while turns < SAMPLES_MIN || start.elapsed() < Duration::from_secs(seconds(9)) {
            let kind = match turns {
                0..3 => (seed as usize + turns) % 3,
                _ => session.all.random.index(3),
            };
            session.turn(kind);
            turns += 1;
        }
        session.end();
    }
}

/// The processes, and their observed books.
struct Session<'a> {
    all: Participants<'a>,
    /// Books shown as live by the last-value tables: venue id and hash, in order.
    shown: Vec<(i32, u64)>,
    watch: Watch,
    stops: [u64; 3],
    /// Number of checks that found no live book, by stopped process.
    looks: [u64; 3],
    /// Number of overruns of the subscriber that lives to the end.
    overrun: u64,
    /// Longest time until every book was live again, by stopped process.
    whole_max: [Duration; 3],
}

impl<'a> Session<'a> {
    fn start(processes: &'a Processes, seed: u64) -> Session<'a> {
        let options = format!("--seed {seed} --events-per-second 600");
        let faults = [
            "drop ab 0.01",
            "both 0.0002 4",
            "reorder ab 0.02 4",
            "corrupt ab 0.002",
        ];
        let exchange = exchange(processes, "exchange", &options, "truth", faults);
        let mut session = Session {
            all: Participants::start(processes, seed, exchange, gateway(processes)),
            shown: Vec::new(),
            watch: Watch::default(),
            stops: [0; 3],
            looks: [0; 3],
            overrun: 0,
            whole_max: [Duration::ZERO; 3],
        };
        session.until_whole("at the start");
        session
    }

    /// Stops a process for a while; afterwards every book recovers.
    fn turn(&mut self, kind: usize) {
        thread::sleep(Duration::from_millis(self.all.random.below(300)));
        self.stops[kind] += 1;
        match kind {
            0 => self.stop_exchange(),
            1 => self.stop_gateway(),
            _ => self.stop_subscriber(),
        }
        let whole = self.until_whole(["the exchange", "the gateway", "a subscriber"][kind]);
        self.whole_max[kind] = self.whole_max[kind].max(whole);
        self.sample();
    }

    fn stop_exchange(&mut self) {
        let is_short = self.stops[0] > 1 && self.all.random.chance(0.5);
        let pause_ms = match is_short {
            true => self.all.random.between(20, 900),
            false => self.all.random.between(LONG_MS, LONG_MS + 1_000),
        };
        self.all.exchange.signal("STOP");
        thread::sleep(Duration::from_millis(pause_ms as u64));
        if !is_short {
            self.nobody_has_a_live_book(0);
        }
        self.all.exchange.signal("CONT");
    }

    fn stop_gateway(&mut self) {
        let pause_ms = self.all.random.between(20, 1_500) as u64;
        let pause = Duration::from_millis(pause_ms);
        self.all.gateway.signal("STOP");
        // The first one is long enough.
        thread::sleep(pause.max((STALLED_AFTER + MARGIN) * u32::from(self.stops[1] == 1)));
        if self.stops[1] == 1 || pause >= STALLED_AFTER + MARGIN {
            self.nobody_has_a_live_book(1);
            nothing_says_that_all_is_well(self.all.processes, &format!("seed {}", self.all.seed));
        }
        self.all.gateway.signal("CONT");
    }

    /// Stops the subscriber, which may be overrun; no process waits for it.
    fn stop_subscriber(&mut self) {
        // The first stopped subscriber is the one that lives to the end, stopped long enough to be overrun.
        let (number, pause_ms) = match self.stops[2] {
            1 => (SUBSCRIBERS - 1, 2_000),
            _ => (
                self.all.random.index(SUBSCRIBERS),
                self.all.random.between(20, 2_000) as u64,
            ),
        };
        let pause = Duration::from_millis(pause_ms);
        let messages = |session: &Session<'_>| session.counters_file()["messages"].as_u64();
        self.all.subscribers[number].signal("STOP");
        let before = messages(self);
        thread::sleep(pause);
        // Published messages reach the other subscribers: an exchange of this rate is never quiet
        // for that long.
        if pause > Duration::from_secs(1) {
            let seed = self.all.seed;
            assert!(messages(self) > before, "seed {seed}: the gateway waits");
            self.looks[2] += 1;
        }
        self.all.subscribers[number].signal("CONT");
    }

    /// Neither in the last-value tables nor at a subscriber that keeps books, which ends and is
    /// replaced.
    fn nobody_has_a_live_book(&mut self, kind: usize) {
        let what = format!(
            "seed {}: {} is stopped",
            self.all.seed,
            ["exchange", "gateway"][kind]
        );
        assert!(
            live_books(self.all.processes).is_empty(),
            "{what}: live in images"
        );
        assert_eq!(self.counters_file()["counters"]["ready"], 0, "{what}");
        assert_eq!(self.counters_file()["counters"]["books_live"], 0, "{what}");
        // The last one lives to the end, for its memory.
        let number = self.all.random.index(SUBSCRIBERS - 1);
        self.all.subscribers.remove(number).close();
        for rows in ["books", "orders"] {
            let rows = self.all.processes.read(&format!("s{number}-{rows}.jsonl"));
            assert!(!rows.is_empty(), "{what}: s{number} had nothing");
            assert!(
                !rows.contains("\"state\":\"live\""),
                "{what}: s{number}: {rows}"
            );
        }
        self.all.keep_order_states(number);
        self.all.replace(number);
        self.looks[kind] += 1;
    }

    /// Checks every book until all are live, and records the live ones. Returns the time taken.
    fn until_whole(&mut self, stopped: &str) -> Duration {
        let start = Instant::now();
        loop {
            for (id, book) in live_books(self.all.processes) {
                self.shown.push((id as i32, hash_of(&book)));
            }
            let counters_file = self.counters_file();
            if is_whole(&counters_file) {
                self.overrun = self.overrun.max(laps_of_the_last(&counters_file));
                return start.elapsed();
            }
            self.all.all_run();
            let (seed, wait) = (self.all.seed, start.elapsed());
            assert!(
                wait < WHOLE_MAX,
                "seed {seed}: not whole {wait:?} after {stopped} went on: {counters_file:#}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn counters_file(&self) -> Value {
        let counters_file = self.all.processes.run("stat live --json").stdout;
        serde_json::from_slice(&counters_file).unwrap_or_default()
    }

    fn sample(&mut self) {
        self.watch.note("exchange", self.all.exchange.id());
        self.watch.note("gateway", self.all.gateway.id());
        for (number, subscriber) in self.all.subscribers.iter().enumerate() {
            self.watch.note(&format!("s{number}"), subscriber.id());
        }
    }

    fn end(mut self) {
        self.all.all_run();
        let (processes, seed) = (self.all.processes, self.all.seed);
        let [books, orders] = self.all.end(|| {});
        let verdict = judge_states(processes, "truth.log", self.shown.into_iter());
        assert_eq!(verdict.wrong, 0, "seed {seed}: images: {verdict:?}");
        let right = [books, orders, verdict.right];
        let ([exchanges, gateways, subscribers], overrun) = (self.stops, self.overrun);
        println!(
            "seed {seed}: stopped: exchange {exchanges}, gateway {gateways}, subscribers {subscribers} times, of which \
             one was overtaken {overrun} times; whole again \
             after at most {:?}; {right:?} live price books, order books and images, each one right",
            self.whole_max
        );
        print!("{}", self.watch.describe());
        assert!(right.iter().all(|&right| right > 50), "{right:?}: no test");
        assert!(self.looks.iter().all(|&looks| looks > 0), "no test");
        assert!(
            overrun > 0,
            "no reader was overrun: the test covered nothing"
        );
        let leaks = self.watch.leaks();
        assert!(leaks.is_empty(), "seed {seed}: {leaks:?}");
    }
}

/// Number of overruns of the subscriber that lives to the end so far.
fn laps_of_the_last(counters_file: &Value) -> u64 {
    let name = format!("s{}", SUBSCRIBERS - 1);
    let readers = counters_file["readers_by_name"].as_array();
    let mut readers = readers.into_iter().flatten();
    let last = readers.find(|reader| reader["name"] == name.as_str());
    last.map_or(0, |reader| {
        reader["counters"]["overruns"].as_u64().unwrap_or(0)
    })
}

/// A subscriber with at most this lag has read the published messages.
const LAG_BYTES_MAX: u64 = 16_384;

/// Every book is live, and every subscriber has read it.
fn is_whole(counters_file: &Value) -> bool {
    let reads = |reader: &Value| {
        let behind = reader["behind_bytes"].as_u64();
        reader["pid"].is_u64() && behind.is_some_and(|bytes| bytes <= LAG_BYTES_MAX)
    };
    let readers = counters_file["readers_by_name"].as_array();
    let reading = readers.map_or(0, |all| all.iter().filter(|reader| reads(reader)).count());
    let counter = |name: &str| counters_file["counters"][name].as_u64().unwrap_or(0);
    let known = counter("books_known");
    known > 0
        && reading == SUBSCRIBERS
        && counters_file["stalled"] == false
        && counter("ready") == 1
        && counter("books_live") == known
        && counter("order_books_live") == known
}

/// Its ring is so small that it wraps while processes warm up, and a stopped subscriber may be overrun.
fn gateway(processes: &Processes) -> Process {
    let config = format!(
        "bus = \"live\"\n[venue]\nkind = \"cme\"\nchannel = 998\nconfig_xml = \"config.xml\"\n\
         interface = \"127.0.0.1\"\n[limits]\ninstruments_max = 256\norders_max = 65536\n\
         hold_packets_max = 1024\n[gateway]\nheartbeat_ms = {}\n\
         [publication]\nring_bytes = 262144\n",
        STALLED_AFTER.as_millis() / 2
    );
    std::fs::write(processes.path("live.toml"), config).expect("the session's folder");
    let line = "gateway --until-eof --config @/live.toml";
    let mut gateway = processes.start(Place::Firm, "gateway", line, &[]);
    gateway.wait_for("listening");
    gateway
}
