//! A tape of a live run with faults has the books of a live subscriber, at the end of each event, and plays to the same bytes each time.
//!
//! Lines lose packets; gateway and recorder are killed. Both readers state what they have at each end of an event, by publication and
//! number of its last message: where both have an end, its books are equal. `SOAK_SECONDS` sets the time of the run.

use crate::matrix::gateway;
use crate::participants::exchange;
use crate::processes::{Place, Process, Processes};
use crate::soak::seconds;
use crate::together;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::market::values::seen;
use touchline_lab::random::{Random, seeds};
use touchline_tape::{Publication, Reader, Taped};
use touchline_transport::market::Item;
use touchline_transport::shm::{Join, Polled, Root, Subscriber};
use touchline_transport::{Envelope, Mirror, Subscribe, SubscriptionEvent};
use touchline_types::{Instrument, Validity};

const FAULTS: [&str; 4] = [
    "drop ab 0.02",
    "both 0.001 8",
    "reorder ab 0.02 4",
    "corrupt ab 0.005",
];

/// Books at the end of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AtEnd {
    /// Levels and orders of the instruments that the event has changed.
    contents: u64,
    /// Their validities; `None` while a reader knows that the publisher is away, which another one may notice earlier.
    validities: Option<u64>,
}

/// A reader that states what it has at each end of an event.
struct Watcher {
    mirror: Mirror,
    changed: BTreeSet<u32>,
    /// The instruments are those of all messages of the event: a reader may join, and hear of its publisher, within one.
    is_whole: bool,
    generation: u64,
    /// All books are of one place of the stream.
    is_current: bool,
    is_down: bool,
    ends: BTreeMap<(u64, u64), AtEnd>,
}

impl Watcher {
    fn new() -> Watcher {
        Watcher {
            mirror: Mirror::new(256, 65_536),
            changed: BTreeSet::new(),
            is_whole: false,
            generation: 0,
            is_current: false,
            is_down: false,
            ends: BTreeMap::new(),
        }
    }

    fn take(&mut self, item: &Item<'_>) {
        match item {
            Item::Update(received) => {
                self.mirror.update(&Envelope {
                    sequence: received.sequence,
                    timestamps: &received.timestamps,
                    update: &received.update,
                });
                let instrument = received.update.instrument();
                self.changed
                    .extend(instrument.map(|instrument| instrument.0));
                if received.batch_end && !received.is_image && received.sequence > 0 {
                    self.end(received.sequence);
                }
            }
            Item::Top { .. } | Item::Undecoded(_) => {}
            Item::BatchEnd => {
                self.changed.clear();
                self.is_whole = true;
            }
            Item::SubscriptionEvent(event) => self.event(event),
        }
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.mirror.event(event);
        self.changed.clear();
        self.is_whole = false;
        match event {
            SubscriptionEvent::CaughtUp => self.is_current = true,
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. } => {
                self.is_current = false;
            }
            SubscriptionEvent::Restarted { generation } => {
                self.generation = *generation;
                (self.is_current, self.is_down) = (false, false);
            }
            SubscriptionEvent::PublisherResumed => self.is_down = false,
            _ => self.is_down = true,
        }
    }

    fn end(&mut self, sequence: u64) {
        let changed = std::mem::take(&mut self.changed);
        let is_whole = std::mem::replace(&mut self.is_whole, true);
        if !is_whole || !self.is_current || changed.is_empty() {
            return;
        }
        let [mut contents, mut validities] = [(); 2].map(|()| DefaultHasher::new());
        let mut is_stale = self.is_down;
        for index in changed {
            let (levels, orders, price, of_orders) = seen(&self.mirror, Instrument(index));
            format!("{index} {levels:?} {orders:?}").hash(&mut contents);
            format!("{price:?} {of_orders:?}").hash(&mut validities);
            is_stale |= [price, of_orders].contains(&Validity::Stale);
        }
        let at_end = AtEnd {
            contents: contents.finish(),
            validities: (!is_stale).then(|| validities.finish()),
        };
        self.ends.insert((self.generation, sequence), at_end);
    }
}

/// Reads a bus until it is over.
fn live(root: &Path, is_over: &AtomicBool) -> Watcher {
    let mut watcher = Watcher::new();
    let mut subscriber = loop {
        match Subscriber::join(&Root::at(root), "live", Join::default()) {
            Ok(subscriber) => break subscriber,
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    };
    watcher.generation = Publication::read_by(&subscriber).generation;
    while !is_over.load(Ordering::Relaxed) {
        let mut is_restarted = false;
        let polled = subscriber.poll(|item| {
            is_restarted = matches!(
                &item,
                Item::SubscriptionEvent(SubscriptionEvent::Restarted { .. })
            );
            watcher.take(&item);
        });
        // Without a join the tables are empty.
        watcher.is_current |= is_restarted && !subscriber.is_joining();
        if polled == Polled::Nothing {
            thread::sleep(Duration::from_micros(100));
        }
    }
    watcher
}

/// Reads a tape to its end: what a reader has, with the gaps and the lost messages.
fn taped(tape: &Path) -> (Watcher, (u64, u64)) {
    let mut watcher = Watcher::new();
    let mut reader = Reader::open(tape, Some("live")).expect("a tape");
    let begun = reader.begin().expect("a tape").expect("it has the bus");
    watcher.generation = begun.generation;
    let mut read = || reader.poll(|item| watcher.take(&item)).expect("a tape");
    while let Taped::Given(()) | Taped::Passed = read() {}
    (watcher, reader.gaps())
}

fn recorder(processes: &Processes) -> Process {
    let line = "record live --until-eof --journal @/tape --segment-mb 16 --segment-s 3 --compress";
    let mut recorder = processes.start(Place::Firm, "recorder", line, &[]);
    recorder.wait_for("record_started");
    recorder
}

/// Outputs of a replay of the tape.
fn replayed(processes: &Processes, name: &str, speed: &str) -> Vec<String> {
    let files = ["books", "orders", "tops", "quotes.csv", "trades.jsonl"];
    let arguments = files.map(|file| {
        let option = file.split('.').next().expect("a name");
        format!("--{option} @/{name}-{file}")
    });
    let line = format!(
        "replay --journal @/tape --quiet --speed {speed} {}",
        arguments.join(" ")
    );
    let output = processes.run(&line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let read = files.map(|file| processes.read(&format!("{name}-{file}")));
    read.into()
}

#[test]
fn a_tape_of_a_live_run_has_the_books_of_a_live_subscriber() {
    let _together = together();
    for seed in seeds(1) {
        let processes = Processes::new("taped");
        let options = format!("--seed {seed} --events-per-second 800");
        let mut exchange = exchange(&processes, "exchange", &options, "truth", FAULTS);
        let mut publisher = gateway(&processes, "127.0.0.1");
        let mut random = Random::from_seed(seed);
        let (mut turns, mut kills) = (0, [0; 2]);
        let is_over = AtomicBool::new(false);
        let root = processes.path("buses");
        let live = thread::scope(|scope| {
            let live = scope.spawn(|| live(&root, &is_over));
            let mut tape = recorder(&processes);
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(seconds(12)) {
                thread::sleep(Duration::from_millis(random.between(500, 3_000) as u64));
                turns += 1;
                match (turns, random.index(16)) {
                    (2, _) | (5.., 0) => {
                        publisher.kill();
                        publisher = gateway(&processes, "127.0.0.1");
                        kills[0] += 1;
                    }
                    (4, _) | (5.., 1) => {
                        tape.kill();
                        tape = recorder(&processes);
                        kills[1] += 1;
                    }
                    _ => {}
                }
                assert!(exchange.runs() && publisher.runs(), "seed {seed}");
                assert!(tape.runs(), "seed {seed}: {}", tape.said("err"));
            }
            tape.close();
            is_over.store(true, Ordering::Relaxed);
            live.join().expect("it reads")
        });
        publisher.close();
        exchange.kill();
        let (tape, (gaps, lost)) = taped(&processes.path("tape"));
        let mut equal = 0;
        for (end, taped) in &tape.ends {
            let Some(live) = live.ends.get(end) else {
                continue;
            };
            assert_eq!(taped.contents, live.contents, "seed {seed}: event {end:?}");
            if let (Some(taped), Some(live)) = (taped.validities, live.validities) {
                assert_eq!(taped, live, "seed {seed}: validities at event {end:?}");
            }
            equal += 1;
        }
        let [first, second] = ["max", "100"].map(|speed| replayed(&processes, speed, speed));
        assert!(first == second, "seed {seed}: two replays differ");
        let bytes: usize = first.iter().map(String::len).sum();
        println!(
            "seed {seed}: killed {} gateways, {} recorders; ends of events: live {}, tape {}, {equal} of both equal; \
             {gaps} gaps, {lost} messages lost; two replays of {bytes} bytes equal",
            kills[0],
            kills[1],
            live.ends.len(),
            tape.ends.len()
        );
        assert!(
            equal > 1_000,
            "seed {seed}: only {equal} ends were compared"
        );
        assert!(
            2 * equal > live.ends.len(),
            "seed {seed}: the tape lacks most"
        );
    }
}
