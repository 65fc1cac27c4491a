//! The load: a desk of two people that sends parents, cancels, kills and lifts at random.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use touchline_fx_desk::DeskClient;
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::parents::Lifetime;
use touchline_fx_events::plan::Style;
use touchline_lab::random::Random;
use touchline_transport::boot_ns;
use touchline_transport::bus::Root;
use touchline_types::{Id, Side};

/// Time between two lifts of a kill switch that is set.
const LIFT: Duration = Duration::from_millis(200);

/// Two clients of an engine, which may run or not.
pub struct Load {
    desk: DeskClient,
    chief: DeskClient,
    pairs: &'static [&'static str],
    random: Random,
    request: u64,
    lifted: Instant,
    /// Quantity of each parent that was sent.
    pub wanted: BTreeMap<String, i64>,
}

impl Load {
    pub fn open(root: &Root, seed: u64, pairs: &'static [&'static str]) -> Load {
        let client = |name: &str| DeskClient::open(root, "fx-run", name).expect("a ring of ours");
        Load {
            desk: client("desk"),
            chief: client("chief"),
            pairs,
            random: Random::from_seed(seed ^ 0x10AD),
            request: 0,
            lifted: Instant::now(),
            wanted: BTreeMap::new(),
        }
    }

    /// Sends a command or none.
    pub fn act(&mut self, ledger: &Ledger) {
        if ledger.killed.is_some() && self.lifted.elapsed() > LIFT {
            self.lifted = Instant::now();
            let request = self.number();
            self.desk.send(request, &Command::Lift);
            self.chief.send(request, &Command::Lift);
        }
        match self.random.below(400) {
            0 => self.send(Command::Kill),
            1..20 => self.cancel(ledger),
            20..140 => self.parent(),
            _ => {}
        }
    }

    /// The desk has asked this bank which orders it has.
    pub fn enable(&mut self, bank: &str, pair: &str) {
        let [bank, pair] = [bank, pair].map(|name| Id::lossy(name.as_bytes()));
        self.send(Command::Enable { bank, pair });
    }

    fn cancel(&mut self, ledger: &Ledger) {
        let mut working = ledger.parents.iter().rev();
        if let Some(parent) = working.find(|parent| !parent.is_ended) {
            let id = parent.id;
            self.send(Command::Cancel { id });
        }
    }

    fn parent(&mut self) {
        let id = format!("P{}", self.wanted.len() + 1);
        let random = &mut self.random;
        let lifetime = *random.pick(&[
            Lifetime::Deadline,
            Lifetime::Deadline,
            Lifetime::Immediate,
            Lifetime::AllOrNothing,
        ]);
        let quantity = random.between(1, 6_000) * 1_000;
        let pair = Id::lossy(random.pick(self.pairs).as_bytes());
        let side = *random.pick(&[Side::Bid, Side::Ask]);
        let urgency = random.below(3) as u8;
        let style = *random.pick(&[Style::Best, Style::Best, Style::Full, Style::Sweep]);
        let mut order = Order {
            lifetime,
            urgency,
            style,
            ..Order::new(Id::lossy(id.as_bytes()), pair, side, quantity)
        };
        if lifetime == Lifetime::Deadline {
            order.deadline_ms = random.between(50, 1_500) as u64;
        }
        self.wanted.insert(id, quantity);
        self.send(Command::Parent(order));
    }

    fn send(&mut self, command: Command) {
        let request = self.number();
        self.desk.send(request, &command);
    }

    /// Time of a command, which ascends.
    fn number(&mut self) -> u64 {
        self.request = boot_ns().max(self.request + 1);
        self.request
    }
}
