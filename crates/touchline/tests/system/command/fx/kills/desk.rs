//! The load: a desk of two people that sends parents, cancels, kills and lifts at random.

use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use touchline_execution::desk::DeskClient;
use touchline_execution::ledger::Ledger;
use touchline_lab::random::Random;
use touchline_transport::boot_ns;
use touchline_transport::bus::Root;

/// Time between two lifts of a kill switch that is set.
const LIFT: Duration = Duration::from_millis(200);

/// Two clients of an engine, which may run or not.
pub struct Load {
    desk: DeskClient,
    chief: DeskClient,
    random: Random,
    request: u64,
    lifted: Instant,
    /// Quantity of each parent that was sent.
    pub wanted: BTreeMap<String, i64>,
}

impl Load {
    pub fn open(root: &Root, seed: u64) -> Load {
        let client = |name: &str| DeskClient::open(root, "fx-run", name).expect("a ring of ours");
        Load {
            desk: client("desk"),
            chief: client("chief"),
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
            let lift = json!({"op": "lift"}).to_string();
            let request = self.number();
            self.desk.send(request, &lift);
            self.chief.send(request, &lift);
        }
        match self.random.below(400) {
            0 => self.send(&json!({"op": "kill"}).to_string()),
            1..20 => self.cancel(ledger),
            20..140 => self.parent(),
            _ => {}
        }
    }

    fn cancel(&mut self, ledger: &Ledger) {
        let mut working = ledger.parents.iter().rev();
        if let Some(parent) = working.find(|parent| !parent.is_ended) {
            let command = json!({"op": "cancel", "id": parent.id.as_str()}).to_string();
            self.send(&command);
        }
    }

    fn parent(&mut self) {
        let id = format!("P{}", self.wanted.len() + 1);
        let random = &mut self.random;
        let lifetime = *random.pick(&["gtd", "gtd", "ioc", "fok"]);
        let quantity = random.between(1, 6_000) * 1_000;
        let mut command = json!({
            "op": "parent", "id": id,
            "pair": random.pick(&["EUR/USD", "USD/JPY"]), "side": random.pick(&["buy", "sell"]),
            "qty": quantity, "tif": lifetime, "urgency": random.below(3),
            "style": random.pick(&["best", "best", "full", "sweep"]),
        });
        if lifetime == "gtd" {
            command["deadline_ms"] = random.between(50, 1_500).into();
        }
        self.wanted.insert(id, quantity);
        self.send(&command.to_string());
    }

    fn send(&mut self, command: &str) {
        let request = self.number();
        assert!(self.desk.send(request, command), "a short command");
    }

    /// Time of a command, which ascends.
    fn number(&mut self) -> u64 {
        self.request = boot_ns().max(self.request + 1);
        self.request
    }
}
