//! Levels that the venue lists with a size of zero. The book does not contain them, so their later changes do not apply to it
//! directly.

use touchline_types::{LevelEvent, Price, Quantity, Side, UpdateAction};

/// Maximum number of these levels of an instrument. A change of a level beyond them does not fit the book, which is then
/// requested again.
const LEVELS_MAX: usize = 32;

/// Levels of size zero of an instrument, oldest first.
#[derive(Debug, Default)]
pub struct EmptyLevels(Vec<(Side, Price)>);

impl EmptyLevels {
    /// Removes all levels, for a complete book.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a level.
    pub fn add(&mut self, side: Side, price: Price) {
        self.remove(side, price);
        if self.0.len() >= LEVELS_MAX {
            self.0.remove(0);
        }
        self.0.reserve_exact(LEVELS_MAX - self.0.len());
        self.0.push((side, price));
    }

    fn remove(&mut self, side: Side, price: Price) -> bool {
        let at = self.0.iter().position(|level| *level == (side, price));
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// The change of the book that follows from a change of a level; `None` if the book is unchanged.
    #[inline]
    pub fn change(&mut self, level: LevelEvent) -> Option<LevelEvent> {
        let is_zero = level.quantity == Quantity::ZERO;
        if self.0.is_empty() && !is_zero {
            return Some(level);
        }
        self.of_empty(level, is_zero)
    }

    #[cold]
    fn of_empty(&mut self, level: LevelEvent, is_zero: bool) -> Option<LevelEvent> {
        let was_empty = self.remove(level.side, level.price);
        if is_zero {
            self.add(level.side, level.price);
        }
        let is_new = level.action == UpdateAction::New;
        match (was_empty || is_new && is_zero, level.action) {
            (false, _) => Some(level),
            (true, UpdateAction::Change) if !is_zero => Some(LevelEvent {
                action: UpdateAction::New,
                ..level
            }),
            (true, UpdateAction::New) if !is_zero => Some(level),
            (true, _) => None,
        }
    }
}
