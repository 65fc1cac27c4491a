//! Positions and cash of each pair, exact.

use crate::setup::{Pair, Setup};
use touchline_types::{Price, Side};

/// Position of a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Base units; negative is short.
    pub units: i64,
    /// Term currency, 1e-9.
    pub cash: i128,
}

impl Position {
    /// Twice the profit at a mid, 1e-9: cash and position at that price. `mid2` is twice the mid in ticks of this size.
    pub fn pnl2(&self, mid2: i64, tick: i64) -> i128 {
        2 * self.cash + i128::from(self.units) * i128::from(mid2) * i128::from(tick)
    }
}

/// Worst case of a pair, units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorstCase {
    /// If every buying parent is filled completely and no selling one.
    pub long: i64,
    /// If every selling parent is filled completely and no buying one.
    pub short: i64,
}

impl WorstCase {
    /// Worst case of a position with the open quantities of buying and selling parents.
    pub fn new(position: &Position, [buying, selling]: [i64; 2]) -> WorstCase {
        WorstCase {
            long: position.units + buying,
            short: position.units - selling,
        }
    }

    /// The larger absolute value.
    pub fn size(&self) -> i64 {
        i64::max(self.long, -self.short)
    }
}

/// Positions of all pairs.
#[derive(Debug, Clone)]
pub struct Positions(Vec<Position>);

impl Positions {
    /// Empty positions.
    pub fn new(setup: &Setup) -> Positions {
        Positions(vec![Position::default(); setup.pairs.len()])
    }

    /// Position of a pair.
    pub fn of(&self, pair: Pair) -> &Position {
        &self.0[pair]
    }

    /// Books a trade; a negative quantity reverses one.
    pub fn book(&mut self, pair: Pair, side: Side, quantity: i64, price: Price) {
        let signed = match side {
            Side::Bid => quantity,
            Side::Ask => -quantity,
        };
        let position = &mut self.0[pair];
        position.units += signed;
        position.cash -= i128::from(price.0) * i128::from(signed);
    }

    /// A trade has another price than the one it was booked at.
    pub fn reprice(&mut self, pair: Pair, side: Side, quantity: i64, from: Price, to: Price) {
        self.book(pair, side, -quantity, from);
        self.book(pair, side, quantity, to);
    }
}
