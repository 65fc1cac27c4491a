//! Positions and cash of each pair, exact.

use crate::setup::{Pair, Setup};
pub use touchline_fx_events::positions::{Position, WorstCase};
use touchline_types::{Price, Side};

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
