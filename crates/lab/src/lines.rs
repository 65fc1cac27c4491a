//! Feeds of a channel, and the lines that carry them.

/// The feeds of one CME channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feed {
    /// Real-time updates (`I`).
    Incremental,
    /// Cycle of instrument definitions (`N`).
    Definitions,
    /// Cycle of market-by-price snapshots (`S`).
    Snapshot,
    /// Cycle of market-by-order snapshots (`SMBO`).
    OrderSnapshot,
}

/// The two lines that carry the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// Line A.
    A,
    /// Line B.
    B,
}

impl Feed {
    /// All feeds of a channel.
    pub const ALL: [Self; 4] = [
        Self::Incremental,
        Self::Definitions,
        Self::Snapshot,
        Self::OrderSnapshot,
    ];

    /// CME's `feed-type` in the channel configuration.
    pub fn code(self) -> &'static str {
        match self {
            Self::Incremental => "I",
            Self::Definitions => "N",
            Self::Snapshot => "S",
            Self::OrderSnapshot => "SMBO",
        }
    }
}

impl Line {
    /// Both lines.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// CME's `feed` in the channel configuration.
    pub fn code(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}
