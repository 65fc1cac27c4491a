//! How far a book may be trusted; it travels with the data, end to end.

/// The validity of one instrument's book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Validity {
    /// Complete, and confirmed after the last lost packet.
    Live = 0,
    /// Complete as far as seen, but a packet was lost since the instrument was last confirmed.
    Gapped = 1,
    /// Known to miss something; emptied, waiting for a snapshot.
    Recovering = 2,
    /// Emptied and refilled from live updates alone: what it shows is right, but not everything.
    Natural = 3,
    /// The connection is down; contents are those of the last moment.
    Stale = 4,
    /// The venue says that the instrument is closed.
    Closed = 5,
}

impl Validity {
    /// The word used in output, counters and screens.
    pub const fn name(self) -> &'static str {
        match self {
            Validity::Live => "live",
            Validity::Gapped => "gapped",
            Validity::Recovering => "recovering",
            Validity::Natural => "natural",
            Validity::Stale => "stale",
            Validity::Closed => "closed",
        }
    }
}
