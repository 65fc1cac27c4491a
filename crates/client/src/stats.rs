//! Counts of a bus since it was joined.

use crate::words::counted;
use std::fmt;

/// Counts since a bus was joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Returned events.
    pub events: u64,
    /// Overruns of this reader.
    pub overruns: u64,
    /// Messages lost in overruns.
    pub lost: u64,
    /// Publishers after the first.
    pub restarts: u64,
    /// Skipped messages of a newer schema.
    pub unknown: u64,
    /// Skipped messages of instruments without a definition: the publisher's tables are too small, or it ended while
    /// this reader joined.
    pub undefined: u64,
    /// Steps that did not fit their book: 0, unless this client or its publisher has a bug.
    pub inconsistent: u64,
    /// Messages read from the tape of the bus.
    pub tape_messages: u64,
    /// Overruns after which the reader continued with the tape.
    pub tape_fall_backs: u64,
    /// Readings of the tape that ended with a loss, which is an overrun.
    pub tape_losses: u64,
}

/// `18,204 events, 0 overruns, 0 restarts, 0 inconsistent`.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}, {}, {} inconsistent",
            counted(self.events, "event"),
            counted(self.overruns, "overrun"),
            counted(self.restarts, "restart"),
            self.inconsistent
        )
    }
}
