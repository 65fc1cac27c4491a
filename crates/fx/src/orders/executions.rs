//! What banks have reported: the ExecIDs that came, and the fills that were booked, found again by a bust or a correction.

use crate::setup::Bank;
use std::collections::{HashMap, HashSet};
use touchline_types::Id;

/// A booked fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// The order that it is of.
    pub order: usize,
    /// Its name.
    pub exec_id: Id,
    /// Units.
    pub quantity: i64,
    /// Ticks.
    pub price: i64,
}

/// All of a run.
#[derive(Debug, Clone, Default)]
pub struct Executions {
    reported: HashSet<(Bank, Id)>,
    booked: HashMap<(Bank, Id), Execution>,
}

impl Executions {
    /// Whether a bank sends an ExecID for the first time. One that cannot be held is always new: what it books is judged by
    /// CumQty.
    pub fn is_new(&mut self, bank: Bank, exec_id: Option<&[u8]>) -> bool {
        match exec_id.and_then(Id::new) {
            // mutant: fx: a repeated report is taken again
            Some(exec_id) => self.reported.insert((bank, exec_id)),
            None => true,
        }
    }

    /// Keeps a fill.
    pub fn book(&mut self, bank: Bank, execution: Execution) {
        self.booked.insert((bank, execution.exec_id), execution);
    }

    /// Takes a fill out, which is reversed.
    pub fn reverse(&mut self, bank: Bank, exec_id: Option<&[u8]>) -> Option<Execution> {
        let exec_id = exec_id.and_then(Id::new)?;
        // mutant: fx: a trade is busted twice
        self.booked.remove(&(bank, exec_id))
    }
}
