//! Forged packets, clock steps, and a restarted exchange: `sim cme --commands` over real sockets.
//!
//! After each command every book is live again within two snapshot cycles, and correct. Every book that a reader showed
//! as live, price book or order book, from the stream or from the last-value tables, is a state of the exchange's book,
//! in order.

use crate::expected_books::{equals, hash_of, judge, judge_states};
use crate::matrix::{gateway, settled, subscriber};
use crate::pauses::{live_books, rows};
use crate::processes::{PATIENCE, Place, Process, Processes};
use crate::together;
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, seeds};
use touchline_testing::until;

/// Commands of one turn, a line each; faults are cleared afterwards.
const TURNS: [&[&str]; 16] = [
    &["forge a 5000000 -86400"],
    &["forge ab 4294967295 31536000"],
    &["forge a 1 30"],
    &["forge ab 1 -0.5"],
    &["forge a +2147483648 0", "forge a +2147483649 0"],
    &["forge b +1 31536000"],
    &["forge-snapshot a +100000 0"],
    &["old a 2000"],
    &["old b 12 s"],
    &["clock 30"],
    &["clock -3600"],
    &["clock 31536000"],
    &["restart"],
    &["restart -3600", "old a 100 i"],
    &["restart 86400", "old ab 100 smbo"],
    // Old and forged snapshots reach a gateway that has lost packets, without other faults. The clock of the previous
    // session is correct: snapshots of a session some seconds ahead cannot always be distinguished from those of this
    // session.
    &[
        "restart",
        "wait",
        "wait",
        "drop ab 1 s",
        "drop ab 1 smbo",
        "restart",
        "wait",
        "both 0.2 5 i",
        "wait",
        "old ab 12 s",
        "old ab 50 smbo",
        "forge-snapshot a 4294967280 0",
        "forge-snapshot b 4294967280 0 smbo",
        "wait",
    ],
];

/// Number of cycles of the two snapshot feeds within which every book must be correct: the running ones, two complete
/// ones of each, and two that may pass before a check.
const LOOPS_MAX: u64 = 8;

/// Duration of the market after a command.
const EFFECT: Duration = Duration::from_millis(400);

#[test]
fn under_forged_packets_no_wrong_book_is_live_and_two_cycles_recover_all() {
    let _together = together();
    for seed in seeds(1) {
        let processes = Processes::new("hostile");
        let mut turns = TURNS.to_vec();
        let mut random = Random::from_seed(seed);
        // In any order: which packets are old, and by whose clock, depends on the earlier commands.
        for last in (1..turns.len()).rev() {
            turns.swap(last, random.index(last + 1));
        }
        let mut session = Session::start(&processes, seed);
        turns.into_iter().for_each(|turn| session.turn(turn));
        session.end();
    }
}

/// The gateway listens before the exchange opens, and receives other packets first.
#[test]
fn packets_before_the_start_of_the_exchange_do_not_stop_the_gateway() {
    let _together = together();
    for first in [
        "forge a 5000000 -120",
        "forge ab 4294967295 -2000000000",
        "forge a 1 31536000",
        "forge b 4294967295 31536000",
        "clock -86400",
    ] {
        let processes = Processes::new("first");
        let line = format!(
            "sim cme --groups {} --events-per-second 0 --seconds 1 --write @",
            processes.groups()
        );
        processes
            .start(Place::Exchange, "maker", &line, &[])
            .ends_well();
        let gateway = gateway(&processes, "127.0.0.1");
        let exchange = exchange(&processes, 1, &["--fault", first]);
        let follower = subscriber(&processes, 0);
        let mut session = Session::of(&processes, 1, exchange, gateway, follower);
        session.turn(&["forge a +1 0"]);
        session.turn(&["restart"]);
        session.end();
    }
}

/// The processes, and their observed books.
struct Session<'a> {
    processes: &'a Processes,
    seed: u64,
    exchange: Process,
    gateway: Process,
    follower: Process,
    /// Number of answered commands.
    answered: usize,
    /// Books shown as live by the last-value tables: venue id and hash, in order.
    shown: Vec<(i32, u64)>,
    loops_max: u64,
}

impl<'a> Session<'a> {
    fn start(processes: &'a Processes, seed: u64) -> Session<'a> {
        let exchange = exchange(processes, seed, &[]);
        let gateway = gateway(processes, "127.0.0.1");
        let follower = subscriber(processes, 0);
        Session::of(processes, seed, exchange, gateway, follower)
    }

    fn of(
        processes: &'a Processes,
        seed: u64,
        exchange: Process,
        gateway: Process,
        follower: Process,
    ) -> Session<'a> {
        let session = Session {
            processes,
            seed,
            exchange,
            gateway,
            follower,
            answered: 0,
            shown: Vec::new(),
            loops_max: 0,
        };
        until(&format!("seed {seed}: all books live"), PATIENCE, || {
            is_whole(&session.counters_file())
        });
        session
    }

    fn turn(&mut self, commands: &[&str]) {
        let before = self.counters_file();
        for command in commands {
            match *command {
                "wait" => thread::sleep(EFFECT),
                command => self.say(command),
            }
        }
        self.say("clear");
        let loops = counter(&self.counters_file(), "snapshot_cycles");
        thread::sleep(EFFECT);
        self.say("rate 0");
        let expected_books = self.processes.path("truth-books.jsonl");
        let _ = std::fs::remove_file(&expected_books);
        self.say("truth");
        self.until_right(commands, loops);
        let restarts = commands
            .iter()
            .filter(|command| command.starts_with("restart"))
            .count();
        let noticed = counter(&self.counters_file(), "numbering_restarts")
            - counter(&before, "numbering_restarts");
        assert!(
            noticed >= restarts as u64,
            "{}: not noticed",
            self.what(commands)
        );
        self.say("rate 600");
        thread::sleep(EFFECT / 4);
    }

    /// Checks every book until all are live and equal to the exchange's, and records the live ones.
    fn until_right(&mut self, commands: &[&str], loops: u64) {
        let expected_books = rows(&self.processes.read("truth-books.jsonl"));
        let start = Instant::now();
        loop {
            // Before the books, which are of that time or later.
            let counters_file = self.counters_file();
            let took = counter(&counters_file, "snapshot_cycles") - loops;
            let books = live_books(self.processes);
            for (id, book) in &books {
                self.shown.push((*id as i32, hash_of(book)));
            }
            if is_whole(&counters_file) && books == expected_books {
                self.loops_max = self.loops_max.max(took);
                return;
            }
            let what = self.what(commands);
            assert!(
                took <= LOOPS_MAX,
                "{what}: not whole after {took} loops: {counters_file:#}\n{books:?}\n{expected_books:?}"
            );
            assert!(
                start.elapsed() < PATIENCE,
                "{what}: not whole: {counters_file:#}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a command, which must be answered with `ok`.
    fn say(&mut self, command: &str) {
        self.exchange.tell(command);
        let answer = until(command, PATIENCE, || {
            let said = self.exchange.said("out");
            let answers = said
                .lines()
                .filter(|line| line.starts_with("ok") || line.starts_with("refused"));
            answers.skip(self.answered).last().map(str::to_owned)
        });
        assert!(answer.starts_with("ok"), "{command}: {answer}");
        self.answered += 1;
    }

    fn counters_file(&self) -> Value {
        let counters_file = self.processes.run("stat live --json").stdout;
        serde_json::from_slice(&counters_file).unwrap_or_default()
    }

    fn what(&self, commands: &[&str]) -> String {
        format!("seed {}, {commands:?}", self.seed)
    }

    fn end(mut self) {
        let (processes, seed) = (self.processes, self.seed);
        let counters_file = settled(processes, &mut self.exchange);
        self.exchange.tell("quit");
        self.exchange.ends_well();
        self.follower.close();
        self.gateway.close();
        let what = format!("seed {seed}");
        equals(processes, "s0", &what);
        let stream = judge(processes, "truth.log", "s0.out");
        let orders = judge(processes, "truth.orders", "s0.orders");
        let images = judge_states(processes, "truth.log", self.shown.into_iter());
        for verdict in [stream, orders, images] {
            assert_eq!(verdict.wrong, 0, "{what}: {verdict:?}");
            assert!(verdict.right > 10, "{what}: {verdict:?}: no test");
        }
        let unconfirmed = [
            "packets_implausible",
            "packets_out_of_window",
            "recovery_refused",
            "packets_old_epoch",
        ];
        let unconfirmed = unconfirmed.map(|name| (name, counter(&counters_file, name)));
        assert!(
            unconfirmed.iter().any(|&(_, packets)| packets > 0),
            "nothing was noticed: no test"
        );
        println!(
            "{what}: whole and right after at most {} loops; {unconfirmed:?}",
            self.loops_max
        );
    }
}

/// Every book is live.
fn is_whole(counters_file: &Value) -> bool {
    let known = counter(counters_file, "books_known");
    let live = |name| counter(counters_file, name) == known;
    known > 0
        && counter(counters_file, "ready") == 1
        && live("books_live")
        && live("order_books_live")
}

fn counter(counters_file: &Value, name: &str) -> u64 {
    counters_file["counters"][name].as_u64().unwrap_or(0)
}

fn exchange(processes: &Processes, seed: u64, more: &[&str]) -> Process {
    let line = format!(
        "sim cme --groups {} --seed {seed} --instruments 6 --events-per-second 600 --commands --write @ \
         --truth-books @/truth-books.jsonl --truth-orders @/truth-orders.jsonl --truth-log @/truth.log \
         --truth-order-log @/truth.orders",
        processes.groups()
    );
    let mut exchange = processes.start(Place::Exchange, "exchange", &line, more);
    exchange.wait_for("sending");
    exchange
}
