//! Consistency of a side that is kept by price: levels in order, within the limit, and none at a price that is left out.

use super::DeepLevels;
use std::ops::Range;

impl DeepLevels {
    /// The rule that some of the levels (from the best, 0) break, if any. It holds after each event of the venue; the steps that a
    /// reader applies may break it, because they come from another process.
    pub(super) fn broken(&self, levels: Range<usize>) -> Option<&'static str> {
        let is_placed = self.begin <= self.end && self.end <= self.room.len();
        if !is_placed || self.len() > self.levels_max {
            return Some("the side has more levels than its memory or its limit");
        }
        let of_best = |index: usize| self.len() - index.min(self.len());
        let near = &self.worst_first()[of_best(levels.end)..of_best(levels.start)];
        if !near.is_sorted_by(|worse, better| self.key(worse) < self.key(better)) {
            return Some("the levels are not in order of price");
        }
        let worst = self.worst_first().first().map(|level| self.key(level));
        let is_whole = worst.is_none_or(|worst| self.truncated_from.is_none_or(|out| out < worst));
        (!is_whole).then_some("the side has a level at a price that it leaves out")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Level, LevelAction, Price, Quantity, Side};

    fn level(price: i64) -> Level {
        Level {
            price: Price(price),
            quantity: Quantity(1),
            orders: 1,
            known: true,
        }
    }

    /// A side that a reader's steps, or memory, have put in disorder is found, and only near the disorder.
    #[test]
    fn a_side_that_breaks_its_rule_is_found() {
        let in_disorder = Some("the levels are not in order of price");
        let mut side = DeepLevels::with_room(Side::Bid, 8);
        for price in [4, 3, 1, 2] {
            let end = side.len();
            assert!(side.apply_delta(LevelAction::Insert, end, level(price)));
        }
        assert_eq!(side.broken(0..2), None);
        assert_eq!(side.broken(2..9), in_disorder);
        assert!(side.apply_delta(LevelAction::Replace, 3, level(1)));
        assert_eq!(side.broken(0..9), in_disorder, "two levels of one price");
        assert!(side.apply_delta(LevelAction::Remove, 3, level(1)));
        assert_eq!(side.broken(0..9), None);
        side.truncated_from = Some(side.key(&level(1)));
        assert_eq!(
            side.broken(0..9),
            Some("the side has a level at a price that it leaves out")
        );
        side.levels_max = 2;
        assert_eq!(
            side.broken(0..9),
            Some("the side has more levels than its memory or its limit")
        );
    }
}
