//! What the fills of a parent cost against the market that it met.

use super::account::{Arrival, Parent, sign};
use super::exact::quotient;
use touchline_fx_events::ticks;
use touchline_types::Side;

/// Decimals of a slippage in ticks.
pub const TICK_DECIMALS: u32 = 4;
/// Decimals of an amount per million.
pub const MILLION_DECIMALS: u32 = 2;

/// Fills of a parent, and the market that it met.
#[derive(Debug, Clone, Copy)]
pub struct Traded {
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Decimals of a tick.
    pub precision: u8,
    /// Units filled, net of busts.
    pub units: i64,
    /// Units times price of these, 1e-9 of the term currency.
    pub cost: i128,
    /// The market that it met.
    pub arrival: Arrival,
}

impl Parent {
    /// Its fills, and the market that it met.
    pub fn traded(&self) -> Traded {
        Traded {
            side: self.side,
            precision: self.precision,
            units: self.filled,
            cost: self.cost,
            arrival: self.arrival,
        }
    }
}

/// Figures of a parent, as tables, pages and stories have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slippage {
    /// Average price of the filled units, hundredths of a tick, as the engine states it.
    pub average: i64,
    /// Dearer than the mid at arrival, 1e-4 of a tick; negative is better.
    pub ticks: Option<i128>,
    /// The same for all units, 1e-10 of the term currency.
    pub money: Option<i128>,
    /// The same for a million units, hundredths of the term currency.
    pub per_million: Option<i128>,
    /// Dearer than the whole quantity at arrival, hundredths of a tick.
    pub against_whole: Option<i64>,
}

impl Slippage {
    /// That of a parent; none of one without a fill.
    pub fn of(traded: &Traded) -> Option<Slippage> {
        let units = i128::from(traded.units);
        if units <= 0 {
            return None;
        }
        let is_buy = traded.side == Side::Bid;
        let average = ticks::average_of_trades(traded.cost, traded.units, traded.precision, is_buy);
        let money2 = traded.arrival.mid2.map(|mid2| {
            let dearer2 = 2 * traded.cost - units * mid2;
            sign(traded.side) * dearer2
        });
        let tick = i128::from(ticks::tick(traded.precision));
        let scaled = |decimals: u32, by: i128| quotient(money2? * 10_i128.pow(decimals), 2 * by);
        Some(Slippage {
            average,
            ticks: scaled(TICK_DECIMALS, units * tick),
            money: money2.map(|money2| money2 * 5),
            per_million: scaled(MILLION_DECIMALS + 6, units * 1_000_000_000),
            against_whole: traded
                .arrival
                .whole
                .map(|whole| sign(traded.side) as i64 * (average - whole)),
        })
    }
}
