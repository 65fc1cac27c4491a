//! The known part of a truncated side, which only shrinks: levels at the prices that are left out do not come back by changes.

use super::DeepLevels;

/// A truncated side with less than this part of its limit has run out. A whole book fills it to the limit, so it runs out again
/// after three quarters of the limit were deleted at the earliest.
const KEPT_PART: usize = 4;

impl DeepLevels {
    /// Whether levels were left out, and so few of the others remain that the venue has others in their place.
    #[inline]
    pub(super) fn has_run_out(&self) -> bool {
        self.truncated_from.is_some() && self.len() < self.levels_max.div_ceil(KEPT_PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApplyResult;
    use crate::deep::tests::level;
    use touchline_types::Side;
    use touchline_types::UpdateAction::{Change, Delete, New};

    /// The levels behind the known ones are unknown: a side without them would be an empty side of a full book.
    #[test]
    fn a_truncated_side_that_runs_out_is_reported() {
        use ApplyResult::{Beyond, Expected, Unexpected};
        for (levels_max, left_min) in [(1, 1), (4, 1), (5, 2), (16, 4), (100, 25)] {
            let mut side = DeepLevels::with_room(Side::Bid, levels_max);
            let none = &mut |_, _, _| {};
            let best = levels_max as i64;
            // One level more than the limit.
            for price in (0..=best).rev() {
                let _ = side.apply(New, level(price, 1), none);
            }
            for left in (left_min..levels_max).rev() {
                let price = left as i64 + 1;
                assert_eq!(side.apply(Delete, level(price, 0), none), Expected);
                assert_eq!(side.worst_first().len(), left);
            }
            let last = side.best().expect("it has levels");
            assert_eq!(side.apply(Change, level(last.price.0, 0), none), Unexpected);
            assert_eq!(side.apply(New, level(0, 1), none), Beyond, "it is unknown");
            // A whole book has them.
            side.clear();
            assert_eq!(side.apply(New, level(0, 1), none), Expected);
            assert_eq!(side.apply(Delete, level(0, 0), none), Expected, "all of it");
        }
    }
}
