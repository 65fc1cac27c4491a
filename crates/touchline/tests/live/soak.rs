//! R14, and R2 for the whole system: processes are killed at random, restart, and recover without
//! intervention; no wrong book is shown as live.
//!
//! A supervisor of the test restarts killed processes, like a service manager. The restarted
//! exchange is a new one, whose numbers start again and whose market takes another course; its
//! instruments are the same.

use crate::expected_books::{equals, judge};
use crate::matrix::{gateway, settled, subscriber};
use crate::processes::{Place, Process, Processes};
use crate::together;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, amount, seeds};

/// Seconds of kills or stops: `SOAK_SECONDS`, or the time of a test run. Shorter runs test nothing.
pub fn seconds(usual: u64) -> u64 {
    amount("SOAK_SECONDS", usual).max(usual)
}

/// Number of concurrent subscribers.
const SUBSCRIBERS: usize = 3;

#[test]
fn killed_processes_recover_and_no_wrong_book_is_live() {
    let _together = together();
    for seed in seeds(1) {
        let processes = Processes::new("soak");
        let mut troupe = Troupe::start(&processes, seed);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds(12)) {
            let pause_ms = troupe.random.between(200, 1_500) as u64;
            thread::sleep(Duration::from_millis(pause_ms));
            troupe.kill_one();
            troupe.all_run();
        }
        troupe.end();
    }
}

/// The processes, and the number of kills of each kind.
struct Troupe<'a> {
    processes: &'a Processes,
    seed: u64,
    random: Random,
    exchange: Option<Process>,
    gateway: Option<Process>,
    subscribers: Vec<Process>,
    /// Files of the order books that subscribers showed as live before a regular end.
    order_states: Vec<String>,
    kills: [u64; 3],
}

impl<'a> Troupe<'a> {
    fn start(processes: &'a Processes, seed: u64) -> Troupe<'a> {
        let mut troupe = Troupe {
            processes,
            seed,
            random: Random::from_seed(seed),
            exchange: None,
            gateway: None,
            subscribers: Vec::new(),
            order_states: Vec::new(),
            kills: [0; 3],
        };
        troupe.exchange = Some(troupe.next_exchange());
        troupe.gateway = Some(gateway(processes, "127.0.0.1"));
        troupe.subscribers = (0..SUBSCRIBERS)
            .map(|number| subscriber(processes, number))
            .collect();
        troupe
    }

    /// Each exchange has its own log, because a market starts again.
    fn next_exchange(&self) -> Process {
        let (seed, run) = (self.seed, self.kills[0]);
        let line = format!(
            "sim cme --groups {} --seed {seed} --course {run} --instruments 6 --events-per-second 800 --commands --write @ \
             --truth-books @/truth-books.jsonl --truth-orders @/truth-orders.jsonl \
             --truth-log @/truth-{run}.log --truth-order-log @/truth-{run}.orders",
            self.processes.groups()
        );
        let faults = [
            "drop ab 0.02",
            "both 0.001 8",
            "reorder ab 0.02 4",
            "corrupt ab 0.005",
        ];
        let more: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).collect();
        let mut exchange =
            self.processes
                .start(Place::Exchange, &format!("exchange-{run}"), &line, &more);
        exchange.wait_for("sending");
        exchange
    }

    /// Kills a process, and starts the next one after a pause.
    fn kill_one(&mut self) {
        let kind = self.random.index(3);
        self.kills[kind] += 1;
        let pause = Duration::from_millis(self.random.below(600));
        match kind {
            0 => {
                self.exchange.take().expect("an exchange").kill();
                thread::sleep(pause);
                self.exchange = Some(self.next_exchange());
            }
            1 => {
                self.gateway.take().expect("a gateway").kill();
                thread::sleep(pause);
                self.gateway = Some(gateway(self.processes, "127.0.0.1"));
            }
            _ => {
                let number = self.random.index(SUBSCRIBERS);
                let ended = self.subscribers.remove(number);
                match self.random.chance(0.5) {
                    true => ended.kill(),
                    false => self.close(ended, number),
                }
                thread::sleep(pause);
                self.subscribers
                    .insert(number, subscriber(self.processes, number));
            }
        }
    }

    /// Ends a subscriber regularly, and stores its order books.
    fn close(&mut self, subscriber: Process, number: usize) {
        subscriber.close();
        let from = self.processes.path(&format!("s{number}.orders"));
        // A subscriber without a gateway has none.
        let kept = format!("kept-{}.orders", self.order_states.len());
        if std::fs::rename(from, self.processes.path(&kept)).is_ok() {
            self.order_states.push(kept);
        }
    }

    /// No process ends because another one was killed.
    fn all_run(&mut self) {
        let seed = self.seed;
        let actors = self.exchange.iter_mut().chain(&mut self.gateway);
        for process in actors.chain(&mut self.subscribers) {
            assert!(
                process.runs(),
                "seed {seed}: ended: {}",
                process.said("err")
            );
        }
    }

    /// The exchange lets all receivers recover; then every subscriber has its books, and had no
    /// others.
    fn end(mut self) {
        let (processes, seed) = (self.processes, self.seed);
        thread::sleep(Duration::from_secs(1));
        let mut exchange = self.exchange.take().expect("an exchange");
        settled(processes, &mut exchange);
        exchange.tell("quit");
        exchange.ends_well();
        self.subscribers.drain(..).for_each(Process::close);
        self.gateway.take().expect("a gateway").close();
        for end in ["log", "orders"] {
            let runs = 0..=self.kills[0];
            let expected_books: String = runs
                .map(|run| processes.read(&format!("truth-{run}.{end}")))
                .collect();
            let whole = processes.path(&format!("truth.{end}"));
            std::fs::write(whole, expected_books).expect("the session's folder");
        }
        let mut right = 0;
        for number in 0..SUBSCRIBERS {
            let name = format!("s{number}");
            equals(processes, &name, &format!("seed {seed}"));
            let verdict = judge(processes, "truth.log", &format!("{name}.out"));
            assert_eq!(
                verdict.wrong, 0,
                "seed {seed}: {name} was shown {verdict:?}"
            );
            right += verdict.right;
            self.order_states.push(format!("{name}.orders"));
        }
        let mut orders_right = 0;
        for states in &self.order_states {
            let verdict = judge(processes, "truth.orders", states);
            assert_eq!(verdict.wrong, 0, "seed {seed}: {states}: {verdict:?}");
            orders_right += verdict.right;
        }
        let [exchanges, gateways, subscribers] = self.kills;
        println!(
            "seed {seed}: killed {exchanges} exchanges, {gateways} gateways, {subscribers} subscribers; \
             {right} live price books and {orders_right} live order books, each one right"
        );
        assert!(
            orders_right > 100,
            "seed {seed}: only {orders_right} live order books were seen"
        );
        assert!(
            right > 1_000,
            "seed {seed}: only {right} live books were seen"
        );
        assert!(
            self.kills.iter().sum::<u64>() > 3,
            "seed {seed}: {:?}: no test",
            self.kills
        );
    }
}
