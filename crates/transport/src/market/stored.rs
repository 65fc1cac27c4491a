//! What a table is given of an update, and what became of it.

use std::sync::atomic::AtomicU64;

/// Published message of an update.
#[derive(Clone, Copy, Debug)]
pub struct PublishedMessage<'a> {
    /// Number of its last message.
    pub sequence: u64,
    /// Position after that.
    pub end: u64,
    /// Its words, in place.
    pub words: &'a [AtomicU64],
    /// Its bytes.
    pub length: usize,
}

/// Result of keeping an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Available to late joiners.
    Whole,
    /// The book is deeper than its slot.
    Cut,
    /// The instrument has no slot.
    Refused,
}
