//! One side of a market-by-price book: a list of levels, best first, kept by position.
//!
//! The update-action table, with `?` for a level that must exist but was never published:
//!
//! | action | rule | depth 3 |
//! |---|---|---|
//! | New n | insert at n, worse move down, beyond the depth dropped; missing better ones become `?` | `[]`, New 2 → `[?,x]` |
//! | Change n, Overlay n | replace n; missing better ones become `?`; a missing n is created | `[a]`, Change 3 → `[a,?,x]` |
//! | Delete n | remove n, worse move up | `[?,?,c]`, Delete 1 → `[?,c]` |
//! | DeleteThru n | remove 1..n | `[a,b,c]`, Thru 2 → `[c]` |
//! | DeleteFrom n | remove n and worse | `[a,b,c]`, From 2 → `[a]` |
//!
//! A position of 0 or beyond the depth changes nothing. `?` at the end is dropped at once.
//! Sources and the open points of the specification: `docs/venues/cme.md`.

use touchline_types::{Level, LevelAction, UpdateAction};

/// A list of at most `MAX` levels, of which the venue keeps `depth`.
#[derive(Clone, Copy, Debug)]
pub struct Levels<const MAX: usize> {
    levels: [Level; MAX],
    len: u8,
    depth: u8,
}

/// Levels of one list, best first, in either memory order.
#[derive(Clone, Copy, Debug)]
pub struct LevelList<'a> {
    levels: &'a [Level],
    is_worst_first: bool,
}

impl<'a> LevelList<'a> {
    /// No levels.
    pub const EMPTY: LevelList<'static> = LevelList::best_first(&[]);

    /// List of levels stored best first.
    #[inline]
    pub const fn best_first(levels: &'a [Level]) -> LevelList<'a> {
        LevelList {
            levels,
            is_worst_first: false,
        }
    }

    /// List of levels stored worst first.
    #[inline]
    pub const fn worst_first(levels: &'a [Level]) -> LevelList<'a> {
        LevelList {
            levels,
            is_worst_first: true,
        }
    }

    /// Number of levels.
    #[inline]
    pub const fn len(&self) -> usize {
        self.levels.len()
    }

    /// Whether the list is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The best level.
    #[inline]
    pub const fn first(&self) -> Option<&'a Level> {
        match self.is_worst_first {
            true => self.levels.last(),
            false => self.levels.first(),
        }
    }

    /// The list without its best level.
    #[inline]
    pub fn rest(self) -> LevelList<'a> {
        let levels = match (self.is_worst_first, self.levels) {
            (true, [rest @ .., _]) | (false, [_, rest @ ..]) => rest,
            (_, []) => &[],
        };
        LevelList { levels, ..self }
    }

    /// The levels, best first.
    #[inline]
    pub fn iter(self) -> LevelIter<'a> {
        LevelIter(self)
    }

    /// The levels as a slice, best first: in place, or copied to `room`, whose content is replaced.
    pub fn slice(self, room: &'a mut Vec<Level>) -> &'a [Level] {
        if !self.is_worst_first {
            return self.levels;
        }
        room.clear();
        room.extend(self.levels.iter().rev());
        room
    }
}

/// The levels of a [`LevelList`], best first.
#[derive(Clone, Debug)]
pub struct LevelIter<'a>(LevelList<'a>);

impl<'a> Iterator for LevelIter<'a> {
    type Item = &'a Level;

    #[inline]
    fn next(&mut self) -> Option<&'a Level> {
        let first = self.0.first()?;
        self.0 = self.0.rest();
        Some(first)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl ExactSizeIterator for LevelIter<'_> {}

impl<'a> IntoIterator for LevelList<'a> {
    type Item = &'a Level;
    type IntoIter = LevelIter<'a>;

    #[inline]
    fn into_iter(self) -> LevelIter<'a> {
        self.iter()
    }
}

/// Receiver of the steps of an action: step, index, level.
pub trait Steps {
    /// One step; see [`touchline_types::LevelChange`].
    fn step(&mut self, action: LevelAction, index: usize, level: Level);
}

impl<F: FnMut(LevelAction, usize, Level)> Steps for F {
    #[inline]
    fn step(&mut self, action: LevelAction, index: usize, level: Level) {
        self(action, index, level);
    }
}

impl<const MAX: usize> Levels<MAX> {
    /// An empty list for `depth` levels, at most `MAX`.
    pub fn new(depth: u16) -> Self {
        let depth = depth.min(MAX as u16) as u8;
        Levels {
            levels: [Level::UNKNOWN; MAX],
            len: 0,
            depth,
        }
    }

    /// The levels, best first. The last one is always known.
    #[inline]
    pub fn as_slice(&self) -> &[Level] {
        &self.levels[..self.len()]
    }

    /// The best level, if it exists and is known.
    #[inline]
    pub fn best(&self) -> Option<Level> {
        self.as_slice().first().copied().filter(|level| level.known)
    }

    /// Number of levels that the venue keeps.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Applies one action at `position` (from 1) and reports the steps it resolved to.
    #[inline]
    pub fn apply(
        &mut self,
        action: UpdateAction,
        position: u8,
        level: Level,
        steps: &mut impl Steps,
    ) {
        if position == 0 || position > self.depth {
            return;
        }
        let index = usize::from(position) - 1;
        match action {
            UpdateAction::New => self.insert(index, level, steps),
            UpdateAction::Change | UpdateAction::Overlay => self.replace(index, level, steps),
            UpdateAction::Delete => self.remove(index, 1, steps),
            UpdateAction::DeleteThru => self.remove(0, index + 1, steps),
            UpdateAction::DeleteFrom => self.remove(index, MAX, steps),
        }
        self.trim(steps);
        debug_assert_eq!(self.broken(), None, "a book by position breaks its rule");
    }

    /// The rule that the list breaks, if any. It holds after each action of the venue; the steps that a reader applies may
    /// break it, because they come from another process.
    fn broken(&self) -> Option<&'static str> {
        if self.len > self.depth {
            return Some("the list has more levels than the venue keeps");
        }
        let last = self.as_slice().last();
        let is_known = last.is_none_or(|level| level.known);
        (!is_known).then_some("the last level of the list is unknown")
    }

    /// Empties the list; `true` if it had levels.
    pub fn clear(&mut self) -> bool {
        std::mem::take(&mut self.len) > 0
    }

    /// Applies one resolved step, as a reader of updates does. `false` if it does not fit the list.
    pub fn apply_delta(&mut self, action: LevelAction, index: usize, level: Level) -> bool {
        let len = self.len();
        match action {
            LevelAction::Insert if index <= len && len < MAX => self.open(index, level),
            LevelAction::Replace if index < len => self.levels[index] = level,
            LevelAction::Remove if index < len => self.close(index, 1),
            LevelAction::Clear => self.len = 0,
            _ => return false,
        }
        true
    }

    #[inline]
    fn len(&self) -> usize {
        usize::from(self.len).min(MAX)
    }

    fn insert(&mut self, index: usize, level: Level, steps: &mut impl Steps) {
        self.pad(index, steps);
        if self.len == self.depth {
            let last = self.len() - 1;
            self.len -= 1;
            steps.step(LevelAction::Remove, last, Level::UNKNOWN);
        }
        self.open(index, level);
        steps.step(LevelAction::Insert, index, level);
    }

    fn replace(&mut self, index: usize, level: Level, steps: &mut impl Steps) {
        if index < self.len() {
            self.levels[index] = level;
            steps.step(LevelAction::Replace, index, level);
        } else {
            self.insert(index, level, steps);
        }
    }

    fn remove(&mut self, index: usize, count: usize, steps: &mut impl Steps) {
        let count = count.min(self.len().saturating_sub(index));
        if count == 0 {
            return;
        }
        self.close(index, count);
        for _ in 0..count {
            steps.step(LevelAction::Remove, index, Level::UNKNOWN);
        }
    }

    /// Adds unknown levels up to `index`.
    fn pad(&mut self, index: usize, steps: &mut impl Steps) {
        while self.len() < index {
            let end = self.len();
            self.open(end, Level::UNKNOWN);
            steps.step(LevelAction::Insert, end, Level::UNKNOWN);
        }
    }

    /// Drops unknown levels at the end, where "unknown" and "empty" are not distinguished.
    #[inline]
    fn trim(&mut self, steps: &mut impl Steps) {
        while self.as_slice().last().is_some_and(|level| !level.known) {
            self.len -= 1;
            steps.step(LevelAction::Remove, self.len(), Level::UNKNOWN);
        }
    }

    /// Inserts a level at `index` (<= len < MAX).
    #[inline]
    fn open(&mut self, index: usize, level: Level) {
        let len = self.len();
        self.levels.copy_within(index..len, index + 1);
        self.levels[index] = level;
        self.len += 1;
    }

    /// Removes `count` existing levels at `index`.
    #[inline]
    fn close(&mut self, index: usize, count: usize) {
        let len = self.len();
        self.levels.copy_within(index + count..len, index);
        self.len -= count as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UpdateAction::{Change, Delete, DeleteFrom, DeleteThru, New, Overlay};
    use touchline_types::{Price, Quantity};

    /// A level whose price is the letter; `?` is unknown.
    fn level(letter: char) -> Level {
        if letter == '?' {
            return Level::UNKNOWN;
        }
        Level {
            price: Price(letter as i64),
            quantity: Quantity(1),
            orders: 1,
            known: true,
        }
    }

    fn list(text: &str, depth: u8) -> Levels<10> {
        let mut list = Levels::new(depth.into());
        for (index, letter) in text.chars().enumerate() {
            assert!(list.apply_delta(LevelAction::Insert, index, level(letter)));
        }
        list
    }

    fn text(list: &Levels<10>) -> String {
        let letter = |level: &Level| {
            if level.known {
                level.price.0 as u8 as char
            } else {
                '?'
            }
        };
        list.as_slice().iter().map(letter).collect()
    }

    /// Applies an action, checks the result, and checks that the steps alone give the same list.
    #[track_caller]
    fn check(before: &str, depth: u8, action: UpdateAction, position: u8, after: &str) {
        let mut book = list(before, depth);
        let mut mirror = list(before, 10);
        book.apply(action, position, level('x'), &mut |action, index, level| {
            assert!(
                mirror.apply_delta(action, index, level),
                "step {action:?} at {index} does not fit"
            );
        });
        assert_eq!(
            text(&book),
            after,
            "{before} {action:?} {position} (depth {depth})"
        );
        assert_eq!(text(&mirror), after, "the steps tell another story");
    }

    #[test]
    fn a_list_that_breaks_its_rule_is_found() {
        let mut levels = Levels::<4>::new(2);
        assert_eq!(levels.broken(), None);
        levels.apply_delta(LevelAction::Insert, 0, Level::UNKNOWN);
        assert_eq!(
            levels.broken(),
            Some("the last level of the list is unknown")
        );
        (0..3).for_each(|index| _ = levels.apply_delta(LevelAction::Insert, index, level('a')));
        assert_eq!(
            levels.broken(),
            Some("the list has more levels than the venue keeps")
        );
    }

    #[test]
    fn new_inserts_and_drops_beyond_the_depth() {
        check("", 3, New, 1, "x");
        check("abc", 3, New, 1, "xab");
        check("abc", 3, New, 3, "abx");
        check("ab", 3, New, 2, "axb");
        check("", 3, New, 2, "?x");
        check("a", 1, New, 1, "x");
        check("a?c", 3, New, 1, "xa");
        check("abcdefghij", 10, New, 10, "abcdefghix");
    }

    #[test]
    fn change_and_overlay_replace_or_create() {
        check("abc", 3, Change, 2, "axc");
        check("a", 3, Change, 3, "a?x");
        check("", 3, Overlay, 1, "x");
        check("a?c", 3, Overlay, 2, "axc");
    }

    #[test]
    fn deletes_move_levels_up_and_leave_the_last_one_empty() {
        check("abc", 3, Delete, 1, "bc");
        check("??c", 3, Delete, 1, "?c");
        check("a?c", 3, Delete, 3, "a");
        check("ab", 3, Delete, 3, "ab");
        check("abc", 3, DeleteThru, 2, "c");
        check("ab", 3, DeleteThru, 3, "");
        check("abc", 3, DeleteFrom, 2, "a");
        check("a?c", 3, DeleteFrom, 3, "a");
        check("a", 3, DeleteFrom, 2, "a");
    }

    #[test]
    fn a_position_outside_the_book_changes_nothing() {
        for action in [New, Change, Delete, DeleteThru, DeleteFrom, Overlay] {
            for position in [0, 4, 255] {
                check("abc", 3, action, position, "abc");
            }
        }
    }

    #[test]
    fn an_action_that_contradicts_the_book_is_refused() {
        let mut book = list("ab", 3);
        assert!(!book.apply_delta(LevelAction::Insert, 3, level('x')));
        assert!(!book.apply_delta(LevelAction::Replace, 2, level('x')));
        assert!(!book.apply_delta(LevelAction::Remove, 2, level('x')));
        let mut full = list("abcdefghij", 10);
        assert!(!full.apply_delta(LevelAction::Insert, 0, level('x')));
    }
}
