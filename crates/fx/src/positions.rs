//! Positions and cash of each pair, exact: the fills of orders, and the trades that the desk books without an order.

use crate::desk_trades::DeskTrades;
use crate::setup::Setup;
use touchline_fx_events::desk::{BookState, DeskTrade};
use touchline_fx_events::positions::Position;
use touchline_fx_events::setup::Pair;
use touchline_types::{Id, Price, Side};

/// Positions of all pairs.
///
/// Invariant: the position of a pair is the sum of its fills and of its bookings by the desk.
#[derive(Debug, Clone)]
pub struct Positions {
    positions: Vec<Position>,
    /// Part of the desk's bookings.
    by_desk: Vec<Position>,
    desk_trades: DeskTrades,
}

impl Positions {
    /// Empty positions.
    pub fn new(setup: &Setup) -> Positions {
        let empty = vec![Position::default(); setup.pairs.len()];
        Positions {
            positions: empty.clone(),
            by_desk: empty,
            desk_trades: DeskTrades::default(),
        }
    }

    /// Position of a pair.
    pub fn of(&self, pair: Pair) -> &Position {
        &self.positions[pair]
    }

    /// Trades that the desk booked without an order.
    pub fn desk_trades(&self) -> &DeskTrades {
        &self.desk_trades
    }

    /// Books a fill; a negative quantity reverses one.
    pub fn book(&mut self, pair: Pair, side: Side, quantity: i64, price: Price) {
        trade(&mut self.positions[pair], side, quantity, price);
    }

    /// Moves a booked fill to another price.
    pub fn reprice(&mut self, pair: Pair, side: Side, quantity: i64, from: Price, to: Price) {
        self.book(pair, side, -quantity, from);
        self.book(pair, side, quantity, to);
    }

    /// Stores the verdict on a proposal or a confirmation of the desk. True if the trade is booked by it.
    pub fn book_desk_trade(&mut self, state: BookState, by: Id, of: &DeskTrade) -> bool {
        self.desk_trades.apply(state, by, of);
        let is_booked = state == BookState::Booked;
        if is_booked {
            for position in [&mut self.positions[of.pair], &mut self.by_desk[of.pair]] {
                trade(position, of.side, of.quantity, of.price);
            }
        }
        is_booked
    }

    /// Compares the position of a pair with the sum of its fills.
    pub fn check(&self, pair: Pair, fills: &Position) {
        let (position, by_desk) = (&self.positions[pair], &self.by_desk[pair]);
        assert!(
            position.units == fills.units + by_desk.units
                && position.cash == fills.cash + by_desk.cash,
            "a position is the sum of its fills and of the desk's bookings"
        );
    }
}

/// Adds a trade to a position.
pub(crate) fn trade(position: &mut Position, side: Side, quantity: i64, price: Price) {
    let signed = match side {
        Side::Bid => quantity,
        Side::Ask => -quantity,
    };
    position.units += signed;
    position.cash -= i128::from(price.0) * i128::from(signed);
}
