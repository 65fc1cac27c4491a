//! Positions and cash of each pair, exact.

use crate::setup::{Pair, Setup};
use touchline_types::Side;

/// What is held of a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Base units; negative is short.
    pub units: i64,
    /// Term currency, ticks times units.
    pub cash: i128,
}

impl Position {
    /// Twice the profit at a mid: cash and position at that price.
    pub fn pnl2(&self, mid2: i64) -> i128 {
        2 * self.cash + i128::from(self.units) * i128::from(mid2)
    }
}

/// What a pair may come to, units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorstCase {
    /// If every buying parent is wholly filled and no selling one.
    pub long: i64,
    /// The other way round.
    pub short: i64,
}

impl WorstCase {
    /// A position with what buying and selling parents may still come to.
    pub fn new(position: &Position, [buying, selling]: [i64; 2]) -> WorstCase {
        WorstCase {
            long: position.units + buying,
            short: position.units - selling,
        }
    }

    /// The larger of both, as a size.
    pub fn size(&self) -> i64 {
        i64::max(self.long, -self.short)
    }
}

/// All pairs.
#[derive(Debug, Clone)]
pub struct Positions(Vec<Position>);

impl Positions {
    /// Nothing is held.
    pub fn new(setup: &Setup) -> Positions {
        Positions(vec![Position::default(); setup.pairs.len()])
    }

    /// What is held of a pair.
    pub fn of(&self, pair: Pair) -> &Position {
        &self.0[pair]
    }

    /// Books a trade; a negative quantity reverses one.
    pub fn book(&mut self, pair: Pair, side: Side, quantity: i64, price: i64) {
        let signed = match side {
            Side::Bid => quantity,
            Side::Ask => -quantity,
        };
        let position = &mut self.0[pair];
        position.units += signed;
        position.cash -= i128::from(price) * i128::from(signed);
    }
}
