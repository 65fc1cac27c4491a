//! Position and worst case of a pair.

/// Position of a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Base units; negative is short.
    pub units: i64,
    /// Term currency, 1e-9.
    pub cash: i128,
}

impl Position {
    /// Twice the profit at a mid, 1e-9: cash and position at that price. `mid2` is twice the mid in ticks of this size.
    pub fn pnl2(&self, mid2: i64, tick: i64) -> i128 {
        2 * self.cash + i128::from(self.units) * i128::from(mid2) * i128::from(tick)
    }
}

/// Worst case of a pair, units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorstCase {
    /// If every buying parent is filled completely and no selling one.
    pub long: i64,
    /// If every selling parent is filled completely and no buying one.
    pub short: i64,
}

impl WorstCase {
    /// Worst case of a position with the open quantities of buying and selling parents.
    pub fn new(position: &Position, [buying, selling]: [i64; 2]) -> WorstCase {
        WorstCase {
            long: position.units + buying,
            short: position.units - selling,
        }
    }

    /// The larger absolute value.
    pub fn size(&self) -> i64 {
        i64::max(self.long, -self.short)
    }
}
