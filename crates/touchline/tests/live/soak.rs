//! R14, and R2 for the whole system: processes are killed at random, restart, and recover without
//! intervention; no wrong book is shown as live.
//!
//! A supervisor of the test restarts killed processes, like a service manager. The restarted
//! exchange is a new one, whose numbers start again and whose market takes another course; its
//! instruments are the same.

use crate::matrix::gateway;
use crate::participants::{Participants, SUBSCRIBERS, exchange};
use crate::processes::{Process, Processes};
use crate::together;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::{amount, seeds};

/// Seconds of kills or stops: `SOAK_SECONDS`, or the time of a test run. Shorter runs test nothing.
pub fn seconds(usual: u64) -> u64 {
    amount("SOAK_SECONDS", usual).max(usual)
}

#[test]
fn killed_processes_recover_and_no_wrong_book_is_live() {
    let _together = together();
    for seed in seeds(1) {
        let processes = Processes::new("soak");
        let mut session = Session::start(&processes, seed);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds(12)) {
            let pause_ms = session.all.random.between(200, 1_500) as u64;
            thread::sleep(Duration::from_millis(pause_ms));
            session.kill_one();
            session.all.all_run();
        }
        session.end();
    }
}

/// The processes, and the number of kills of each kind.
struct Session<'a> {
    all: Participants<'a>,
    kills: [u64; 3],
}

impl<'a> Session<'a> {
    fn start(processes: &'a Processes, seed: u64) -> Session<'a> {
        let exchange = next_exchange(processes, seed, 0);
        let gateway = gateway(processes, "127.0.0.1");
        Session {
            all: Participants::start(processes, seed, exchange, gateway),
            kills: [0; 3],
        }
    }

    /// Kills a process, and starts the next one after a pause.
    fn kill_one(&mut self) {
        let Session { all, kills } = self;
        let kind = all.random.index(3);
        kills[kind] += 1;
        let pause = Duration::from_millis(all.random.below(600));
        match kind {
            0 => {
                all.exchange.kill();
                thread::sleep(pause);
                all.exchange = next_exchange(all.processes, all.seed, kills[0]);
            }
            1 => {
                all.gateway.kill();
                thread::sleep(pause);
                all.gateway = gateway(all.processes, "127.0.0.1");
            }
            _ => {
                let number = all.random.index(SUBSCRIBERS);
                let mut ended = all.subscribers.remove(number);
                match all.random.chance(0.5) {
                    true => ended.kill(),
                    false => {
                        ended.close();
                        all.keep_order_states(number);
                    }
                }
                thread::sleep(pause);
                all.replace(number);
            }
        }
    }

    fn end(self) {
        let Session { all, kills } = self;
        let (processes, seed) = (all.processes, all.seed);
        thread::sleep(Duration::from_secs(1));
        let [right, orders_right] = all.end(|| {
            for end in ["log", "orders"] {
                let runs = 0..=kills[0];
                let expected_books: String = runs
                    .map(|run| processes.read(&format!("truth-{run}.{end}")))
                    .collect();
                let whole = processes.path(&format!("truth.{end}"));
                std::fs::write(whole, expected_books).expect("the session's folder");
            }
        });
        let [exchanges, gateways, subscribers] = kills;
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
            kills.iter().sum::<u64>() > 3,
            "seed {seed}: {kills:?}: no test"
        );
    }
}

/// Each exchange has its own log, because a market starts again.
fn next_exchange(processes: &Processes, seed: u64, run: u64) -> Process {
    let options = format!("--seed {seed} --course {run} --events-per-second 800");
    let faults = [
        "drop ab 0.02",
        "both 0.001 8",
        "reorder ab 0.02 4",
        "corrupt ab 0.005",
    ];
    let (name, log) = (format!("exchange-{run}"), format!("truth-{run}"));
    exchange(processes, &name, &options, &log, faults)
}
