//! R14, and R2 for the whole system: processes are killed at random, restart, and recover without
//! intervention; no wrong book is shown as live.
//!
//! A supervisor of the test restarts killed processes, like a service manager. The restarted
//! exchange is a new one, whose numbers start again and whose market takes another course; its
//! instruments are the same.

use crate::cast::{Actor, Place, Stage};
use crate::expected_books::{equals, judge};
use crate::matrix::{gateway, settled, subscriber};
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
        let stage = Stage::new("soak");
        let mut troupe = Troupe::start(&stage, seed);
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
    stage: &'a Stage,
    seed: u64,
    random: Random,
    exchange: Option<Actor>,
    gateway: Option<Actor>,
    subscribers: Vec<Actor>,
    /// Files of the order books that subscribers showed as live before a regular end.
    order_states: Vec<String>,
    kills: [u64; 3],
}

impl<'a> Troupe<'a> {
    fn start(stage: &'a Stage, seed: u64) -> Troupe<'a> {
        let mut troupe = Troupe {
            stage,
            seed,
            random: Random::from_seed(seed),
            exchange: None,
            gateway: None,
            subscribers: Vec::new(),
            order_states: Vec::new(),
            kills: [0; 3],
        };
        troupe.exchange = Some(troupe.next_exchange());
        troupe.gateway = Some(gateway(stage, "127.0.0.1"));
        troupe.subscribers = (0..SUBSCRIBERS)
            .map(|number| subscriber(stage, number))
            .collect();
        troupe
    }

    /// Each exchange has its own log, because a market starts again.
    fn next_exchange(&self) -> Actor {
        let (seed, run) = (self.seed, self.kills[0]);
        let line = format!(
            "sim cme --groups {} --seed {seed} --course {run} --instruments 6 --events-per-second 800 --commands --write @ \
             --truth-books @/truth-books.jsonl --truth-orders @/truth-orders.jsonl \
             --truth-log @/truth-{run}.log --truth-order-log @/truth-{run}.orders",
            self.stage.groups()
        );
        let faults = [
            "drop ab 0.02",
            "both 0.001 8",
            "reorder ab 0.02 4",
            "corrupt ab 0.005",
        ];
        let more: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).collect();
        let mut exchange =
            self.stage
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
                self.gateway = Some(gateway(self.stage, "127.0.0.1"));
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
                    .insert(number, subscriber(self.stage, number));
            }
        }
    }

    /// Ends a subscriber regularly, and stores its order books.
    fn close(&mut self, subscriber: Actor, number: usize) {
        subscriber.close();
        let from = self.stage.path(&format!("s{number}.orders"));
        // A subscriber without a gateway has none.
        let kept = format!("kept-{}.orders", self.order_states.len());
        if std::fs::rename(from, self.stage.path(&kept)).is_ok() {
            self.order_states.push(kept);
        }
    }

    /// No process ends because another one was killed.
    fn all_run(&mut self) {
        let seed = self.seed;
        let actors = self.exchange.iter_mut().chain(&mut self.gateway);
        for actor in actors.chain(&mut self.subscribers) {
            assert!(actor.runs(), "seed {seed}: ended: {}", actor.said("err"));
        }
    }

    /// The exchange lets all receivers recover; then every subscriber has its books, and had no
    /// others.
    fn end(mut self) {
        let (stage, seed) = (self.stage, self.seed);
        thread::sleep(Duration::from_secs(1));
        let mut exchange = self.exchange.take().expect("an exchange");
        settled(stage, &mut exchange);
        exchange.tell("quit");
        exchange.ends_well();
        self.subscribers.drain(..).for_each(Actor::close);
        self.gateway.take().expect("a gateway").close();
        for end in ["log", "orders"] {
            let runs = 0..=self.kills[0];
            let expected_books: String = runs
                .map(|run| stage.read(&format!("truth-{run}.{end}")))
                .collect();
            let whole = stage.path(&format!("truth.{end}"));
            std::fs::write(whole, expected_books).expect("the session's folder");
        }
        let mut right = 0;
        for number in 0..SUBSCRIBERS {
            let name = format!("s{number}");
            equals(stage, &name, &format!("seed {seed}"));
            let verdict = judge(stage, "truth.log", &format!("{name}.out"));
            assert_eq!(
                verdict.wrong, 0,
                "seed {seed}: {name} was shown {verdict:?}"
            );
            right += verdict.right;
            self.order_states.push(format!("{name}.orders"));
        }
        let mut orders_right = 0;
        for states in &self.order_states {
            let verdict = judge(stage, "truth.orders", states);
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
