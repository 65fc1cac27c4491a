//! Names for the numbers in events, which the text of an event needs.

use crate::setup::{Bank, Pair};
use touchline_types::Id;

/// Names of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// Prefix of identifiers.
    pub prefix: Id,
    /// Account of orders.
    pub account: Id,
    /// Names of the banks, by rank.
    pub banks: Vec<String>,
    /// Pairs, by index.
    pub pairs: Vec<PairLabel>,
}

impl Labels {
    /// The bank of this name, which may have had another rank in another run.
    pub fn bank(&self, name: &str) -> Option<Bank> {
        self.banks.iter().position(|bank| bank == name)
    }

    /// A pair of another run in this one, if it has the pair with the same ticks: a price in other ticks is another price.
    pub fn pair(&self, of: &PairLabel) -> Option<Pair> {
        let is_it = |pair: &PairLabel| (&pair.symbol, pair.precision) == (&of.symbol, of.precision);
        self.pairs.iter().position(is_it)
    }
}

/// Label of a pair: the symbol, currency, precision and sizes that texts need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairLabel {
    /// Symbol.
    pub symbol: String,
    /// Base currency.
    pub base: Id,
    /// Decimals of a tick, 0 to 9.
    pub precision: u8,
    /// Sizes of the composite's average prices, units.
    pub sizes: Vec<i64>,
}
