//! Exchange, gateway and subscribers of a session in which processes are killed or stopped, and the judgement at its end.

use crate::expected_books::{equals, judge};
use crate::matrix::{settled, subscriber};
use crate::processes::{Place, Process, Processes};
use touchline_lab::random::Random;

/// Number of concurrent subscribers.
pub const SUBSCRIBERS: usize = 3;

/// The processes of a session.
pub struct Participants<'a> {
    pub processes: &'a Processes,
    pub seed: u64,
    pub random: Random,
    pub exchange: Process,
    pub gateway: Process,
    pub subscribers: Vec<Process>,
    /// Files of the order books that ended subscribers showed as live.
    order_states: Vec<String>,
}

impl<'a> Participants<'a> {
    pub fn start(
        processes: &'a Processes,
        seed: u64,
        exchange: Process,
        gateway: Process,
    ) -> Participants<'a> {
        let subscribers = (0..SUBSCRIBERS).map(|number| subscriber(processes, number));
        Participants {
            processes,
            seed,
            random: Random::from_seed(seed),
            exchange,
            gateway,
            subscribers: subscribers.collect(),
            order_states: Vec::new(),
        }
    }

    /// Starts a subscriber in the place of one that was removed.
    pub fn replace(&mut self, number: usize) {
        self.subscribers
            .insert(number, subscriber(self.processes, number));
    }

    /// Keeps the order books of a subscriber that ended regularly; one without a gateway has none.
    pub fn keep_order_states(&mut self, number: usize) {
        let from = self.processes.path(&format!("s{number}.orders"));
        let kept = format!("kept-{}.orders", self.order_states.len());
        if std::fs::rename(from, self.processes.path(&kept)).is_ok() {
            self.order_states.push(kept);
        }
    }

    /// No process ends because another one was killed or stopped.
    pub fn all_run(&mut self) {
        let seed = self.seed;
        let others = [&mut self.exchange, &mut self.gateway].into_iter();
        for process in others.chain(&mut self.subscribers) {
            assert!(
                process.runs(),
                "seed {seed}: ended: {}",
                process.said("err")
            );
        }
    }

    /// The exchange lets all receivers recover; then all processes end. Every subscriber has its books, and had no others:
    /// the numbers of price books and of order books that were shown. `logs` completes the logs of the exchange.
    pub fn end(mut self, logs: impl FnOnce()) -> [u64; 2] {
        let (processes, seed) = (self.processes, self.seed);
        settled(processes, &mut self.exchange);
        self.exchange.tell("quit");
        self.exchange.ends_well();
        self.subscribers.drain(..).for_each(Process::close);
        self.gateway.close();
        logs();
        let mut right = [0; 2];
        for number in 0..SUBSCRIBERS {
            let name = format!("s{number}");
            equals(processes, &name, &format!("seed {seed}"));
            let verdict = judge(processes, "truth.log", &format!("{name}.out"));
            assert_eq!(
                verdict.wrong, 0,
                "seed {seed}: {name} was shown {verdict:?}"
            );
            right[0] += verdict.right;
            self.order_states.push(format!("{name}.orders"));
        }
        for states in &self.order_states {
            let verdict = judge(processes, "truth.orders", states);
            assert_eq!(verdict.wrong, 0, "seed {seed}: {states}: {verdict:?}");
            right[1] += verdict.right;
        }
        right
    }
}

/// An exchange that loses packets, with logs of this name.
pub fn exchange(
    processes: &Processes,
    name: &str,
    options: &str,
    log: &str,
    faults: [&str; 4],
) -> Process {
    let line = format!(
        "sim cme --groups {} {options} --instruments 6 --commands --write @ \
         --truth-books @/truth-books.jsonl --truth-orders @/truth-orders.jsonl --truth-log @/{log}.log \
         --truth-order-log @/{log}.orders",
        processes.groups()
    );
    let more: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).collect();
    let mut exchange = processes.start(Place::Exchange, name, &line, &more);
    exchange.wait_for("sending");
    exchange
}
