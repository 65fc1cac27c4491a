//! One side of a deep book, kept by price.
//!
//! The levels are contiguous, the worst first, with free space at both ends:
//!
//! ```text
//!  │ free │ worst … … … … … … best │ free │
//!         begin                    end
//! ```
//!
//! Nearly every change is near the best: it is found in a few steps from there, and only better
//! levels move. A change near the worst moves the worse levels, so that a book built level by
//! level, best or worst first, moves none. Figures: `docs/design/deep-books.md`.
//!
//! The book is always the best part of the venue's book without omissions: a level without room sets `truncated_from`
//! to its price, and levels at that price or worse are ignored until the book is cleared. So this part shrinks: a deletion that leaves
//! less than a quarter of the limit is [`ApplyResult::Unexpected`], and a whole book is needed.

mod consistency;
mod known_part;

use crate::levels::Steps;
use touchline_types::{Level, LevelAction, Price, Quantity, Side, UpdateAction};

/// One side of a book, kept by price.
#[derive(Clone, Debug)]
pub struct DeepLevels {
    room: Vec<Level>,
    begin: usize,
    end: usize,
    levels_max: usize,
    /// Sign that maps prices to keys of which the larger is the better.
    turn: i64,
    /// Best price that was left out since the book was clear, as a key.
    truncated_from: Option<i64>,
}

/// Result of applying a venue's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ApplyResult {
    /// Applied as stated.
    Expected,
    /// The level was missing, or existed already: the event was applied as far as possible, and the book may differ
    /// from the venue's. Or the known part of a truncated side has run out.
    Unexpected,
    /// The event's level is beyond the limit, or a level was left out.
    Beyond,
}

/// Levels searched linearly before binary search.
const LINEAR_SEARCH_MAX: usize = 8;

/// Maximum levels a side: the range of an index.
pub const DEEP_MAX: usize = u16::MAX as usize;

impl DeepLevels {
    /// An empty side of at most `levels_max` levels (up to [`DEEP_MAX`]). Its memory is reserved now and touched as
    /// levels arrive: the system provides pages on first use, so a small book takes little.
    pub fn with_room(side: Side, levels_max: usize) -> DeepLevels {
        let levels_max = levels_max.clamp(1, DEEP_MAX);
        DeepLevels {
            room: Vec::with_capacity(levels_max * 2),
            levels_max,
            ..DeepLevels::growing(side)
        }
    }

    /// An empty side that allocates as needed, up to [`DEEP_MAX`] levels.
    pub fn growing(side: Side) -> DeepLevels {
        DeepLevels {
            room: Vec::new(),
            begin: 0,
            end: 0,
            levels_max: DEEP_MAX,
            turn: -(side as i64),
            truncated_from: None,
        }
    }

    /// The levels, the worst first.
    #[inline]
    pub fn worst_first(&self) -> &[Level] {
        &self.room[self.begin..self.end]
    }

    /// The best level.
    #[inline]
    pub fn best(&self) -> Option<Level> {
        self.worst_first()
            .last()
            .copied()
            .filter(|level| level.known)
    }

    /// Price from which on levels are left out, if any.
    pub fn truncated_from(&self) -> Option<Price> {
        self.truncated_from.map(|key| Price(key ^ self.turn))
    }

    /// Applies one action at the level's price and reports the steps it resolved to.
    #[inline]
    pub fn apply(
        &mut self,
        action: UpdateAction,
        level: Level,
        steps: &mut impl Steps,
    ) -> ApplyResult {
        let key = self.key(&level);
        if self
            .truncated_from
            .is_some_and(|truncated_from| key <= truncated_from)
        {
            return ApplyResult::Beyond;
        }
        let (index, found) = self.find(key);
        let action = if level.quantity == Quantity::ZERO {
            UpdateAction::Delete
        } else {
            action
        };
        let result = match action {
            UpdateAction::New | UpdateAction::Change | UpdateAction::Overlay if found => {
                let is_one = self.is_one_entry(index, level.orders);
                let place = self.end - 1 - index;
                self.room[place] = level;
                steps.step(LevelAction::Replace, index, level);
                expected(action != UpdateAction::New && is_one)
            }
            UpdateAction::New | UpdateAction::Change | UpdateAction::Overlay => {
                // An overlay is valid whether the level existed or not.
                let said = expected(action != UpdateAction::Change);
                let came = self.insert(index, level, key, steps);
                // A possible difference from the venue takes precedence.
                if said == ApplyResult::Expected {
                    came
                } else {
                    said
                }
            }
            UpdateAction::Delete if found => {
                let is_one = self.is_one_entry(index, level.orders);
                self.close(index);
                steps.step(LevelAction::Remove, index, Level::UNKNOWN);
                // mutant: deep book: the known part of a truncated side runs out unnoticed
                expected(is_one && !self.has_run_out())
            }
            UpdateAction::Delete | UpdateAction::DeleteThru | UpdateAction::DeleteFrom => {
                // The last two refer to positions.
                ApplyResult::Unexpected
            }
        };
        debug_assert_eq!(
            self.broken(index.saturating_sub(1)..index + 2),
            None,
            "a book by price breaks its rule near level {index}"
        );
        result
    }

    /// Adds an entry of a whole book: entries of one price without a number of orders are one level with their sum, as of a venue
    /// that sends one entry for each market maker. [`ApplyResult::Unexpected`] if the sum does not fit.
    pub fn rebuild(&mut self, level: Level, steps: &mut impl Steps) -> ApplyResult {
        let (index, found) = self.find(self.key(&level));
        if !found || level.orders >= 0 {
            return self.apply(UpdateAction::New, level, steps);
        }
        let place = self.end - 1 - index;
        let old = self.room[place];
        let sum = old.quantity.0.checked_add(level.quantity.0);
        let Some(quantity) = sum.filter(|sum| *sum != i64::MAX).map(Quantity) else {
            return ApplyResult::Unexpected;
        };
        let level = Level {
            quantity,
            orders: old.orders.max(1).saturating_add(1),
            ..level
        };
        self.room[place] = level;
        steps.step(LevelAction::Replace, index, level);
        ApplyResult::Expected
    }

    /// Whether an entry without a number of orders (-1) can be meant for all of a level: it is unknown which of several entries
    /// of one price it changes.
    #[inline]
    fn is_one_entry(&self, index: usize, orders: i32) -> bool {
        orders >= 0 || self.room[self.end - 1 - index].orders <= 1
    }

    /// Empties the side; `true` if it had levels.
    pub fn clear(&mut self) -> bool {
        let had = self.begin < self.end;
        self.begin = self.room.len() / 2;
        self.end = self.begin;
        self.truncated_from = None;
        had
    }

    /// Applies one resolved step, as a reader of updates does. `false` if it does not fit the list.
    #[inline]
    pub fn apply_delta(&mut self, action: LevelAction, index: usize, level: Level) -> bool {
        let len = self.len();
        match action {
            LevelAction::Insert if index <= len && len < self.levels_max => self.open(index, level),
            LevelAction::Replace if index < len => self.room[self.end - 1 - index] = level,
            LevelAction::Remove if index < len => self.close(index),
            LevelAction::Clear => {
                self.clear();
            }
            _ => return false,
        }
        true
    }

    #[inline]
    fn len(&self) -> usize {
        self.end - self.begin
    }

    #[inline]
    fn key(&self, level: &Level) -> i64 {
        level.price.0 ^ self.turn
    }

    /// Number of levels better than the key, and whether the next one has the key.
    #[inline]
    fn find(&self, key: i64) -> (usize, bool) {
        let levels = self.worst_first();
        for (index, level) in levels.iter().rev().take(LINEAR_SEARCH_MAX).enumerate() {
            let held = self.key(level);
            if held <= key {
                return (index, held == key);
            }
        }
        let far = &levels[..levels.len().saturating_sub(LINEAR_SEARCH_MAX)];
        let worse = far.partition_point(|level| self.key(level) < key);
        let found = far.get(worse).is_some_and(|level| self.key(level) == key);
        (levels.len() - worse - usize::from(found), found)
    }

    /// Inserts a level by price; if the side is full, the worst level is left out.
    #[inline]
    fn insert(
        &mut self,
        index: usize,
        level: Level,
        key: i64,
        steps: &mut impl Steps,
    ) -> ApplyResult {
        if self.len() < self.levels_max {
            self.open(index, level);
            steps.step(LevelAction::Insert, index, level);
            return ApplyResult::Expected;
        }
        let worst = self.len() - 1;
        if index > worst {
            self.truncated_from = Some(key);
            return ApplyResult::Beyond;
        }
        // mutant: deep book: a removed level does not set the truncation price
        self.truncated_from = Some(self.key(&self.room[self.begin]));
        self.begin += 1;
        steps.step(LevelAction::Remove, worst, Level::UNKNOWN);
        self.open(index, level);
        steps.step(LevelAction::Insert, index, level);
        ApplyResult::Beyond
    }

    /// Inserts a level at `index` (<= len); the shorter part moves.
    #[inline]
    fn open(&mut self, index: usize, level: Level) {
        let is_near = index <= self.len() / 2;
        if (is_near && self.end == self.room.len()) || (!is_near && self.begin == 0) {
            self.make_room();
        }
        let place = self.end - index;
        if is_near {
            self.room.copy_within(place..self.end, place + 1);
            self.end += 1;
            self.room[place] = level;
        } else {
            self.room.copy_within(self.begin..place, self.begin - 1);
            self.begin -= 1;
            self.room[place - 1] = level;
        }
    }

    /// Removes the level at `index`, which exists; the shorter part moves.
    #[inline]
    fn close(&mut self, index: usize) {
        let place = self.end - 1 - index;
        if index <= self.len() / 2 {
            self.room.copy_within(place + 1..self.end, place);
            self.end -= 1;
        } else {
            self.room.copy_within(self.begin..place, self.begin + 1);
            self.begin += 1;
        }
    }

    /// Centers the levels between both ends. The next call follows at the earliest after a quarter of the capacity was
    /// inserted at one end. A capacity that is half full is doubled, within the memory reserved at start.
    #[cold]
    fn make_room(&mut self) {
        let len = self.len();
        if self.room.len() < 2 * self.levels_max && 2 * len >= self.room.len() {
            let grown = (self.room.len() * 2).max(ROOM_MIN);
            let grown = grown.min(2 * self.levels_max);
            self.room.resize(grown, Level::UNKNOWN);
        }
        let begin = (self.room.len() - len) / 2;
        self.room.copy_within(self.begin..self.end, begin);
        (self.begin, self.end) = (begin, begin + len);
    }
}

/// Initial capacity in levels.
const ROOM_MIN: usize = 64;

const fn expected(is: bool) -> ApplyResult {
    match is {
        true => ApplyResult::Expected,
        false => ApplyResult::Unexpected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UpdateAction::{Change, Delete, DeleteFrom, New, Overlay};

    pub(super) fn level(price: i64, quantity: i64) -> Level {
        Level {
            price: Price(price),
            quantity: Quantity(quantity),
            orders: 1,
            known: true,
        }
    }

    /// Applies each action and checks that the steps alone give the same list.
    fn applied(
        side: Side,
        levels_max: usize,
        events: &[(UpdateAction, i64, i64)],
    ) -> (String, Vec<ApplyResult>) {
        let mut book = DeepLevels::with_room(side, levels_max);
        let mut mirror = DeepLevels::growing(side);
        let mut fits = Vec::new();
        for (action, price, quantity) in events {
            let result = book.apply(
                *action,
                level(*price, *quantity),
                &mut |action, index, level| {
                    assert!(
                        mirror.apply_delta(action, index, level),
                        "{action:?} at {index}"
                    );
                },
            );
            fits.push(result);
        }
        assert_eq!(book.worst_first(), mirror.worst_first());
        let best_first = book.worst_first().iter().rev();
        let text: Vec<String> = best_first
            .map(|level| format!("{}x{}", level.quantity, level.price.0))
            .collect();
        (text.join(" "), fits)
    }

    #[test]
    fn levels_are_found_by_their_price_best_first() {
        let events = [
            (New, 10, 1),
            (New, 12, 2),
            (New, 11, 3),
            (Change, 12, 4),
            (Delete, 10, 0),
        ];
        let all = vec![ApplyResult::Expected; 5];
        let bids = applied(Side::Bid, 9, &events);
        assert_eq!(bids, ("4x12 3x11".to_owned(), all.clone()));
        let asks = applied(Side::Ask, 9, &events);
        assert_eq!(asks, ("3x11 4x12".to_owned(), all));
    }

    #[test]
    fn changes_that_contradict_the_book_are_applied_where_possible_and_reported() {
        use ApplyResult::{Expected, Unexpected};
        let (text, fits) = applied(
            Side::Ask,
            9,
            &[
                (Change, 10, 1),
                (New, 10, 2),
                (Overlay, 11, 3),
                (Delete, 12, 0),
                (DeleteFrom, 10, 1),
                (New, 13, 5),
                (Change, 13, 0),
                (New, 14, 0),
            ],
        );
        assert_eq!(text, "2x10 3x11");
        let overlay = Expected;
        assert_eq!(
            fits[..5],
            [Unexpected, Unexpected, overlay, Unexpected, Unexpected]
        );
        assert_eq!(
            fits[5..],
            [Expected, Expected, Unexpected],
            "no quantity is a deletion"
        );
    }

    #[test]
    fn beyond_the_limit_the_book_stays_the_best_part_of_the_expected_books() {
        use ApplyResult::{Beyond, Expected};
        let (text, fits) = applied(
            Side::Bid,
            3,
            &[
                (New, 10, 1),
                (New, 9, 1),
                (New, 8, 1),
                (New, 11, 1),    // 8 is dropped: levels behind 9 are unknown
                (Delete, 11, 0), // there is room again
                (Change, 8, 5),
                (New, 7, 1),
                (New, 6, 1),
            ],
        );
        assert_eq!(text, "1x10 1x9");
        assert_eq!(
            fits,
            [
                Expected, Expected, Expected, Beyond, Expected, Beyond, Beyond, Beyond
            ]
        );
        // A level that is left out sets the limit, and better ones still enter.
        let (text, _) = applied(
            Side::Bid,
            2,
            &[
                (New, 10, 1),
                (New, 9, 1),
                (New, 5, 1),
                (Delete, 9, 0),
                (New, 7, 1),
                (New, 4, 1),
            ],
        );
        assert_eq!(text, "1x10 1x7");
        let (text, _) = applied(
            Side::Bid,
            2,
            &[
                (New, 10, 1),
                (New, 9, 1),
                (New, 5, 1),
                (Delete, 9, 0),
                (New, 5, 1),
            ],
        );
        assert_eq!(text, "1x10");
    }

    /// Entries of one price in a whole book, one for each market maker, are one level. What changes one of them later is unknown.
    #[test]
    fn entries_of_one_price_are_summed_and_then_not_changed_one_by_one() {
        use ApplyResult::{Expected, Unexpected};
        let entry = |price, quantity| Level {
            orders: -1,
            ..level(price, quantity)
        };
        let fresh = || {
            let mut side = DeepLevels::growing(Side::Bid);
            for (price, quantity) in [(10, 1), (9, 2), (10, 3), (10, 4)] {
                assert_eq!(
                    side.rebuild(entry(price, quantity), &mut |_, _, _| {}),
                    Expected
                );
            }
            side
        };
        let all = fresh();
        let seen = all.worst_first().iter().rev();
        let seen: Vec<_> = seen
            .map(|level| (level.price.0, level.quantity.0, level.orders))
            .collect();
        assert_eq!(seen, [(10, 8, 3), (9, 2, -1)]);
        for (action, price, result) in [
            (Change, 10, Unexpected),
            (Overlay, 10, Unexpected),
            (New, 10, Unexpected),
            (Delete, 10, Unexpected),
            (Change, 9, Expected),
            (Delete, 9, Expected),
        ] {
            let applied = fresh().apply(action, entry(price, 5), &mut |_, _, _| {});
            assert_eq!(applied, result, "{action:?} {price}");
        }
        // A level of named quotes carries its order count, and replaces the level at its price.
        assert_eq!(
            fresh().apply(Overlay, level(10, 5), &mut |_, _, _| {}),
            Expected
        );
        let most = entry(10, i64::MAX - 8);
        assert_eq!(fresh().rebuild(most, &mut |_, _, _| {}), Unexpected);
    }

    #[test]
    fn a_cleared_side_is_complete_to_any_depth() {
        let mut side = DeepLevels::with_room(Side::Bid, 1);
        let none = &mut |_, _, _| {};
        let _ = side.apply(New, level(10, 1), none);
        assert_eq!(side.apply(New, level(9, 1), none), ApplyResult::Beyond);
        assert_eq!(side.truncated_from(), Some(Price(9)));
        assert!(side.clear() && !side.clear());
        assert_eq!(side.truncated_from(), None);
        assert_eq!(side.apply(New, level(9, 1), none), ApplyResult::Expected);
    }

    #[test]
    fn memory_is_reserved_at_once_and_written_as_levels_are_added() {
        for (levels_max, few) in [(8_192, 30), (40, 30), (1, 1)] {
            let mut side = DeepLevels::with_room(Side::Bid, levels_max);
            let taken = (side.room.as_ptr(), side.room.capacity());
            let mut none = |_, _, _| {};
            for price in 0..few {
                assert_eq!(
                    side.apply(New, level(price, 1), &mut none),
                    ApplyResult::Expected
                );
            }
            assert!(side.room.len() <= 64, "{levels_max}: {}", side.room.len());
            for price in few..2 * levels_max as i64 {
                let _ = side.apply(New, level(price, 1), &mut none);
            }
            assert_eq!(side.worst_first().len(), levels_max);
            assert_eq!(side.room.len(), 2 * levels_max);
            assert_eq!((side.room.as_ptr(), side.room.capacity()), taken);
        }
    }

    /// A whole book in either order moves no level once its memory was touched.
    #[test]
    fn levels_added_in_order_move_no_other_level() {
        for best_first in [true, false] {
            let mut side = DeepLevels::with_room(Side::Ask, 4_096);
            for price in 0..4_096 {
                let _ = side.apply(New, level(price, 1), &mut |_, _, _| {});
            }
            side.clear();
            for step in 0..2_000_i64 {
                let price = if best_first { step } else { 5_000 - step };
                let (begin, end) = (side.begin, side.end);
                let _ = side.apply(New, level(price, 1), &mut |_, _, _| {});
                let moved = (side.begin, side.end) != (begin.wrapping_sub(1), end)
                    && (side.begin, side.end) != (begin, end + 1);
                assert!(!moved, "at step {step}");
                // The level was inserted at the growing end.
                let place = if best_first && step > 0 {
                    side.begin
                } else {
                    side.end - 1
                };
                assert_eq!(side.room[place].price, Price(price));
            }
        }
    }
}
