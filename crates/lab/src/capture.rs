//! Packets on their way from an exchange to us: which feed and line they belong to, and when they arrive.

/// The feeds of one CME channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feed {
    /// Real-time updates (`I`).
    Incremental,
    /// The loop of instrument definitions (`N`).
    Definitions,
    /// The loop of market-by-price snapshots (`S`).
    Snapshot,
    /// The loop of market-by-order snapshots (`SMBO`).
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

/// One packet as it arrives on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives, nanoseconds since 1970.
    pub time_ns: u64,
    /// The feed it arrives on.
    pub feed: Feed,
    /// The line it arrives on.
    pub line: Line,
    /// The datagram.
    pub payload: Vec<u8>,
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
