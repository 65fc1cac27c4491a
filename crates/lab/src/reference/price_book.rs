//! Reference price book: a plain list of levels per side, and the table of update actions.

use crate::picture::Level;

/// One side of a price book, best level first. `None` is a level that exists but is unknown.
///
/// The list never ends in an unknown level: below the last known one, unknown and empty levels cannot be
/// distinguished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceSide {
    levels: Vec<Option<Level>>,
    depth: usize,
    drops_last: bool,
}

/// Action of an entry on its level. The numbers are CME's MDUpdateAction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// 0: insert at the level; worse levels move down, the one beyond the depth is dropped.
    New,
    /// 1 and 5 (Overlay): replace the level, price included.
    Change,
    /// 2: remove the level; worse ones move up, and the last level becomes empty.
    Delete,
    /// 3: remove the levels from the best to this one.
    DeleteThru,
    /// 4: remove this level and all worse ones.
    DeleteFrom,
}

impl PriceSide {
    /// An empty side of at most `depth` levels. Without `drops_last` an insertion keeps the level beyond the depth: an
    /// injected defect, to show that a comparison detects it.
    pub fn new(depth: usize, drops_last: bool) -> Self {
        Self {
            levels: Vec::new(),
            depth,
            drops_last,
        }
    }

    /// Largest number of levels.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Levels, best first.
    pub fn levels(&self) -> &[Option<Level>] {
        &self.levels
    }

    /// Best level, if known.
    pub fn best(&self) -> Option<Level> {
        self.levels.first().copied().flatten()
    }

    /// Applies one entry to level `n`, counted from 1. A level outside the book changes nothing.
    pub fn apply(&mut self, action: Action, n: usize, level: Level) {
        if n == 0 || n > self.depth {
            return;
        }
        let index = n - 1;
        match action {
            Action::New => {
                self.reach(index);
                self.levels.insert(index, Some(level));
                if self.drops_last {
                    self.levels.truncate(self.depth);
                }
            }
            Action::Change => {
                self.reach(n);
                self.levels[index] = Some(level);
            }
            Action::Delete => {
                if index < self.levels.len() {
                    self.levels.remove(index);
                }
            }
            Action::DeleteThru => {
                self.levels.drain(..n.min(self.levels.len()));
            }
            Action::DeleteFrom => self.levels.truncate(index),
        }
        while self.levels.last() == Some(&None) {
            self.levels.pop();
        }
    }

    /// Empties the side.
    pub fn clear(&mut self) {
        self.levels.clear();
    }

    /// Lengthens the list to `length` with unknown levels.
    fn reach(&mut self, length: usize) {
        while self.levels.len() < length {
            self.levels.push(None);
        }
    }
}

impl Action {
    /// The action of an MDUpdateAction; `None` for a number that CME does not define.
    pub fn from_wire(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::New),
            1 | 5 => Some(Self::Change),
            2 => Some(Self::Delete),
            3 => Some(Self::DeleteThru),
            4 => Some(Self::DeleteFrom),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(name: char) -> Level {
        Level {
            price: Some(name as i64),
            quantity: Some(1),
            orders: Some(1),
        }
    }

    /// Applies the actions to a side of depth 3 given as text; `?` is an unknown level.
    #[track_caller]
    fn check(before: &str, actions: &[(Action, usize, char)], after: &str) {
        let parse = |text: &str| {
            text.chars()
                .map(|c| (c != '?').then(|| level(c)))
                .collect::<Vec<_>>()
        };
        let mut side = PriceSide {
            levels: parse(before),
            ..PriceSide::new(3, true)
        };
        for &(action, n, name) in actions {
            side.apply(action, n, level(name));
        }
        assert_eq!(side.levels, parse(after), "{before} {actions:?}");
    }

    #[test]
    fn actions_follow_the_table() {
        use Action::*;
        check("", &[(New, 1, 'x')], "x");
        check("", &[(New, 2, 'x')], "?x");
        check("abc", &[(New, 1, 'x')], "xab");
        check("abc", &[(New, 3, 'x')], "abx");
        check("a", &[(Change, 3, 'x')], "a?x");
        check("abc", &[(Change, 2, 'x')], "axc");
        check("??c", &[(Delete, 1, 'x')], "?c");
        check("a?c", &[(Delete, 3, 'x')], "a");
        check("abc", &[(DeleteThru, 2, 'x')], "c");
        check("a", &[(DeleteThru, 3, 'x')], "");
        check("abc", &[(DeleteFrom, 2, 'x')], "a");
        check(
            "abc",
            &[
                (New, 0, 'x'),
                (Change, 4, 'x'),
                (Delete, 4, 'x'),
                (DeleteFrom, 0, 'x'),
            ],
            "abc",
        );
        check("a?c", &[(Delete, 3, 'x'), (New, 2, 'y')], "ay");
    }
}
