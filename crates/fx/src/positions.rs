//! Positions and cash of each pair, exact: the fills of orders, and the trades that the desk books without an order.

use crate::desk_trades::DeskTrades;
use crate::setup::Setup;
use touchline_fx_events::desk::{BookState, Day, DeskTrade};
use touchline_fx_events::positions::Position;
use touchline_fx_events::setup::Pair;
use touchline_types::{Id, Price, Side};

/// Value dates of a pair for which there is room.
const DATES_EXPECTED: usize = 16;

/// Positions of all pairs.
///
/// Invariant: the position of a pair is the sum of its fills and of its bookings by the desk, and of its parts by value date.
#[derive(Debug, Clone)]
pub struct Positions {
    positions: Vec<Position>,
    /// Parts of each position by value date, ascending.
    dates: Vec<Vec<(u32, Position)>>,
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
            dates: vec![Vec::with_capacity(DATES_EXPECTED); setup.pairs.len()],
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

    /// Parts of the position of a pair by value date, ascending.
    pub fn dates(&self, pair: Pair) -> &[(u32, Position)] {
        &self.dates[pair]
    }

    /// Leaves out parts that are zero and whose value date has passed.
    pub fn begin_day(&mut self, day: &Day) {
        let is_kept = |(value_date, part): &(u32, Position)| {
            *value_date >= day.trade || *part != Position::default()
        };
        self.dates[day.pair].retain(is_kept);
    }

    /// Books a fill of a value date; a negative quantity reverses one.
    pub fn book(
        &mut self,
        (pair, value_date): (Pair, u32),
        side: Side,
        quantity: i64,
        price: Price,
    ) {
        trade(&mut self.positions[pair], side, quantity, price);
        trade(self.part(pair, value_date), side, quantity, price);
    }

    fn part(&mut self, pair: Pair, value_date: u32) -> &mut Position {
        let dates = &mut self.dates[pair];
        // mutant: fx: a fill is booked to the newest value date
        let found = dates.binary_search_by_key(&value_date, |(other, _)| *other);
        let at = found.unwrap_or_else(|at| {
            dates.insert(at, (value_date, Position::default()));
            at
        });
        &mut dates[at].1
    }

    /// Moves a booked fill to another price.
    pub fn reprice(&mut self, of: (Pair, u32), side: Side, quantity: i64, [from, to]: [Price; 2]) {
        self.book(of, side, -quantity, from);
        self.book(of, side, quantity, to);
    }

    /// Stores the verdict on a proposal or a confirmation of the desk. True if the trade is booked by it.
    pub fn book_desk_trade(&mut self, state: BookState, by: Id, of: &DeskTrade) -> bool {
        self.desk_trades.apply(state, by, of);
        let is_booked = state == BookState::Booked;
        if is_booked {
            let value_date = of.value_date.as_str().parse().unwrap_or(0);
            self.book((of.pair, value_date), of.side, of.quantity, of.price);
            trade(&mut self.by_desk[of.pair], of.side, of.quantity, of.price);
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
        let parts = self.dates[pair].iter().map(|(_, part)| part);
        let (mut units, mut cash) = (0, 0);
        for part in parts {
            units += part.units;
            cash += part.cash;
        }
        assert!(
            position.units == units && position.cash == cash,
            "a position is the sum of its parts by value date"
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
