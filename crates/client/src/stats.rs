//! What a bus has counted since it was joined.

use crate::words::counted;
use std::fmt;

/// Counts since a bus was joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Events given out.
    pub events: u64,
    /// Times that the publisher overran this reader.
    pub overruns: u64,
    /// Messages that were lost by it.
    pub lost: u64,
    /// Publishers after the first.
    pub restarts: u64,
    /// Messages of a newer schema, which were passed over.
    pub unknown: u64,
    /// Messages of instruments without a definition, which were passed over: the publisher's tables are too small, or it
    /// ended while this reader joined.
    pub undefined: u64,
    /// Steps that did not fit the book they were for: 0, unless this client or its publisher is wrong.
    pub inconsistent: u64,
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
