//! Credit that the orders of a bank's pair use.

use crate::config::Credit;
use touchline_types::Side;

/// Units of a bank's pair that use credit, by side.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// Filled and open.
    all: [i64; 2],
    /// Of it open.
    open: [i64; 2],
}

impl Used {
    /// Adds the change of an order, or takes it away: filled and open quantity, and the open one.
    pub fn add(&mut self, side: Side, all: i64, open: i64) {
        self.all[side.index()] += all;
        self.open[side.index()] += open;
        assert!(
            self.all[side.index()] >= 0,
            "the credit that orders use is not negative"
        );
    }

    /// Units that use credit.
    pub fn of(&self, credit: Credit) -> i64 {
        match credit {
            Credit::Gross => self.all[0] + self.all[1],
            Credit::Net => Side::BOTH
                .map(|side| self.net(side))
                .into_iter()
                .fold(0, i64::max),
        }
    }

    /// Units by which a further order of a side is covered by fills of the other side, below zero if they are used up.
    pub fn covered(&self, credit: Credit, side: Side) -> i64 {
        match credit {
            Credit::Gross => -self.of(credit),
            Credit::Net => -self.net(side),
        }
    }

    /// What a side has filled and may still fill, less the fills of the other side.
    fn net(&self, side: Side) -> i64 {
        let other = 1 - side.index();
        // mutant: fx: orders that are open free the credit of the other side
        self.all[side.index()] - (self.all[other] - self.open[other])
    }
}
