//! Scores of a bank and a pair.

use crate::orders::RejectCode;

/// Horizons after a fill, milliseconds.
pub const HORIZONS_MS: [u64; 5] = [1, 10, 100, 1_000, 10_000];

/// A sum with the number of its values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mean {
    /// Number of values.
    pub count: u64,
    /// Sum, half units of 1e-9.
    pub sum2: i128,
}

impl Mean {
    /// Adds a value, half units of 1e-9.
    pub fn add(&mut self, value2: i128) {
        self.count += 1;
        self.sum2 += value2;
    }
}

/// Times from sending to the end: nearest ranks, none without an ended order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holds {
    /// The median.
    pub p50_ns: Option<u64>,
    /// The ninth of ten.
    pub p90_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

/// Score of a bank and a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// Time with the pricing session up.
    pub up_ns: u64,
    /// Quote messages of the pair.
    pub quotes: u64,
    /// Time at the best price, by side.
    pub best_ns: [u64; 2],
    /// Time with both sides of the bank usable.
    pub spread_ns: u64,
    /// Spread summed over the time with both sides, ticks times nanoseconds.
    pub spread_sum: i128,
    /// Orders sent.
    pub orders: u64,
    /// Quantity of the sent orders, units.
    pub sent: i64,
    /// Fills.
    pub fills: u64,
    /// Quantity of the fills, units.
    pub filled: i64,
    /// Orders that ended without a fill, by code.
    pub rejects: [u64; RejectCode::COUNT],
    /// Number of times an order became unknown.
    pub unknown: u64,
    /// Time from sending to the end, over the ended orders.
    pub holds: Holds,
    /// Fills better than the order's price.
    pub improved: u64,
    /// Other fills.
    pub equal: u64,
    /// Sum of all fills' improvements, each in whole ticks, rounded down.
    pub improve_ticks: i64,
    /// Move of the mid in the desk's favour between sending and the end, of orders with a fill.
    pub moved_filled: Mean,
    /// Move of the mid in the desk's favour between sending and the end, of orders without a fill.
    pub moved_rejected: Mean,
    /// Mid less price after each fill, in the desk's favour, by horizon.
    pub markouts: [Mean; HORIZONS_MS.len()],
    /// Penalty at the end, tenths of a tick.
    pub penalty: i64,
}
