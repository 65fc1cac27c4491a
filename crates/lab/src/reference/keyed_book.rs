//! Reference of a book by price: all levels of the venue in one map, the published ones in another.

use std::collections::BTreeMap;

/// One side, better prices first. Prices are whole numbers of any unit.
#[derive(Clone, Debug)]
pub struct KeyedSide {
    bids: bool,
    levels_max: usize,
    /// All levels of the venue, by rank: the smaller, the better.
    expected: BTreeMap<i128, (i64, i64)>,
    /// Published levels.
    shown: BTreeMap<i128, (i64, i64)>,
    /// Best rank that was left out so far.
    left_out: Option<i128>,
}

/// Action of the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A new level.
    New,
    /// A new quantity of a level.
    Change,
    /// A deleted level.
    Delete,
}

/// Result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Consistent with the book.
    Expected,
    /// The level existed already, or did not exist; or levels were left out, and less than a quarter of the limit is left.
    Unexpected,
    /// A level was left out.
    Beyond,
}

impl KeyedSide {
    /// An empty side that publishes at most `levels_max` levels.
    pub fn new(bids: bool, levels_max: usize) -> KeyedSide {
        KeyedSide {
            bids,
            levels_max,
            expected: BTreeMap::new(),
            shown: BTreeMap::new(),
            left_out: None,
        }
    }

    /// Applies the venue's action at a price.
    pub fn apply(&mut self, said: Said, price: i64, quantity: i64) -> Became {
        let rank = self.rank(price);
        let is_gone = said == Said::Delete || quantity == 0;
        let was_shown = self.shown.contains_key(&rank);
        if is_gone {
            self.expected.remove(&rank);
        } else {
            self.expected.insert(rank, (price, quantity));
        }
        if self.left_out.is_some_and(|left_out| rank >= left_out) {
            return Became::Beyond;
        }
        let fits = match (is_gone, said) {
            (true, _) | (false, Said::Change) => was_shown,
            (false, _) => !was_shown,
        };
        if is_gone {
            self.shown.remove(&rank);
        } else {
            self.shown.insert(rank, (price, quantity));
        }
        let mut became = Became::Expected;
        if self.shown.len() > self.levels_max
            && let Some((worst, _)) = self.shown.pop_last()
        {
            self.left_out = Some(worst);
            became = Became::Beyond;
        }
        let has_run_out = is_gone && self.left_out.is_some() && 4 * self.len() < self.levels_max;
        match fits && !has_run_out {
            true => became,
            false => Became::Unexpected,
        }
    }

    /// Empties the side, with no level left out.
    pub fn clear(&mut self) {
        *self = KeyedSide::new(self.bids, self.levels_max);
    }

    /// Price and quantity of the published levels, best first.
    pub fn levels(&self) -> impl DoubleEndedIterator<Item = (i64, i64)> + '_ {
        self.shown.values().copied()
    }

    /// Number of published levels.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Whether no level is published.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Whether the published levels are the best of all levels, without a gap.
    pub fn is_best_part(&self) -> bool {
        self.shown
            .iter()
            .eq(self.expected.iter().take(self.shown.len()))
    }

    /// Whether the venue has a level at the price.
    pub fn has(&self, price: i64) -> bool {
        self.expected.contains_key(&self.rank(price))
    }

    fn rank(&self, price: i64) -> i128 {
        let price = i128::from(price);
        if self.bids { -price } else { price }
    }
}
