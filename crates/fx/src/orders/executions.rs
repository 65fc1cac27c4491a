//! Executions: reported ExecIDs, and booked fills for later busts and corrections.

use super::store::number_id;
use crate::setup::Bank;
use crate::touched;
use std::collections::{HashMap, HashSet};
use touchline_types::Id;

/// A booked fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// Order of the fill.
    pub order: usize,
    /// ExecID.
    pub exec_id: Id,
    /// Units.
    pub quantity: i64,
    /// Ticks.
    pub price: i64,
}

/// Executions of a run.
#[derive(Debug, Clone, Default)]
pub struct Executions {
    reported: HashSet<(Bank, Id)>,
    /// Reports whose ExecID was reported before.
    repeated: u64,
    booked: HashMap<(Bank, Id), Execution>,
}

impl Executions {
    /// Takes memory for the fills of this many orders.
    pub fn reserve(&mut self, orders: usize) {
        self.reported.reserve(orders);
        let sample = Execution {
            order: 0,
            exec_id: Id::EMPTY,
            quantity: 0,
            price: 0,
        };
        touched::map(
            &mut self.booked,
            orders,
            |number| (0, number_id(number)),
            &sample,
        );
    }

    /// Whether an ExecID of a bank is new. One that is too long is always new: CumQty limits its bookings.
    pub fn is_new(&mut self, bank: Bank, exec_id: Option<&[u8]>) -> bool {
        let is_new = match exec_id.and_then(Id::new) {
            // mutant: fx: a repeated report is taken again
            Some(exec_id) => self.reported.insert((bank, exec_id)),
            None => true,
        };
        self.repeated += u64::from(!is_new);
        is_new
    }

    /// Reports whose ExecID was reported before, which were ignored.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Stores a fill.
    pub fn book(&mut self, bank: Bank, execution: Execution) {
        self.booked.insert((bank, execution.exec_id), execution);
    }

    /// Removes a reversed fill.
    pub fn reverse(&mut self, bank: Bank, exec_id: Option<&[u8]>) -> Option<Execution> {
        let exec_id = exec_id.and_then(Id::new)?;
        // mutant: fx: a trade is busted twice
        self.booked.remove(&(bank, exec_id))
    }
}
