//! Result of storing an update in its table.

/// Result of storing an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Available to late joiners.
    Whole,
    /// The book is deeper than its slot.
    Cut,
    /// The instrument has no slot.
    Refused,
}
