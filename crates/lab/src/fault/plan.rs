//! Plans: which faults apply to which feeds and lines.

use crate::capture::{Feed, Line};
use crate::cme::SentPacket;

/// Faults, in order: each rule applies to the output of the one before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Packets of an earlier session, for the faults that send them again.
    pub earlier: Vec<SentPacket>,
}

/// One fault, with its feeds and lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The fault.
    pub fault: Fault,
    /// Affected feeds.
    pub feeds: Vec<Feed>,
    /// Affected lines, independent of each other.
    pub lines: Vec<Line>,
}

/// Kinds of faults. A `share` is the probability, 0 to 1, that a packet is affected.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Packets are lost one by one.
    Drop {
        /// Share of packets.
        share: f64,
    },
    /// Packets are lost in bursts, on each line separately.
    DropBurst {
        /// Share of packets at which a burst begins.
        share: f64,
        /// Largest number of packets of a burst.
        packets_max: u64,
    },
    /// The same packets are lost on every line, in bursts.
    DropOnAllLines {
        /// Share of packets at which a burst begins.
        share: f64,
        /// Largest number of packets of a burst.
        packets_max: u64,
    },
    /// The receiver starts after this share of the packets of all feeds.
    JoinLate {
        /// Share of the session.
        share: f64,
    },
    /// A line is down for a number of packets, once.
    Outage {
        /// Number of packets.
        packets: u64,
    },
    /// Nothing comes for a time, the same on every line, once.
    Silence {
        /// Duration, nanoseconds.
        duration_ns: u64,
    },
    /// Packets arrive twice.
    Duplicate {
        /// Share of packets.
        share: f64,
    },
    /// Packets arrive after later ones.
    Reorder {
        /// Share of packets.
        share: f64,
        /// Largest number of packets that overtake one.
        by_max: u64,
    },
    /// Packets are late.
    Delay {
        /// Share of packets.
        share: f64,
        /// The shortest delay, nanoseconds.
        min_ns: u64,
        /// The longest delay, nanoseconds.
        max_ns: u64,
    },
    /// Bytes change so that the packet is invalid: sizes, schema id, lengths, counts.
    Corrupt {
        /// Share of packets.
        share: f64,
    },
    /// Any bytes change. The packet may still be well-formed, and then no receiver can detect the
    /// change.
    Flip {
        /// Share of packets.
        share: f64,
        /// Largest number of changed bytes.
        bytes_max: u64,
    },
    /// A byte of the messages changes, and the packet is still valid: number, sending time and length stay.
    Tamper {
        /// Share of packets.
        share: f64,
    },
    /// The end is removed, so that the packet is invalid.
    Truncate {
        /// Share of packets.
        share: f64,
    },
    /// A forged copy follows, with a higher sequence (wrapping).
    Forge {
        /// Share of packets.
        share: f64,
        /// Amount added to the sequence.
        ahead: u32,
    },
    /// An old packet is sent again.
    Replay {
        /// Share of packets followed by one.
        share: f64,
    },
    /// A forged heartbeat precedes a packet. It has a number and a sending time only.
    ForgeHeartbeat {
        /// Share of packets preceded by one.
        share: f64,
        /// Number and sending time.
        forgery: Forgery,
    },
    /// A forged heartbeat arrives before all other packets.
    ForgeFirst {
        /// Number and sending time.
        forgery: Forgery,
    },
    /// A packet of the earlier session follows a packet, with its original sending time.
    Earlier {
        /// Share of packets followed by one.
        share: f64,
        /// Time by which the earlier session is moved back, seconds.
        seconds_ago: u32,
    },
    /// A packet of the earlier session follows a packet, with the current sending time. The last packet that its
    /// snapshots claim to contain is moved ahead (wrapping).
    ForgeSnapshot {
        /// Share of packets followed by one.
        share: f64,
        /// Amount added to the number.
        ahead: u32,
    },
    /// A packet of one feed arrives on another one, too.
    Misroute {
        /// Share of packets.
        share: f64,
    },
    /// The exchange's clock is wrong for consecutive packets, the same ones on every line.
    WrongClock {
        /// Number of packets of all feeds.
        packets: u64,
        /// Error, seconds.
        seconds: i64,
    },
    /// The clock of the receiving host is set, once, during the session.
    HostClock {
        /// Step, seconds.
        seconds: i64,
    },
}

/// Header of a forged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgery {
    /// Number.
    pub number: Forged,
    /// Sending time, seconds from the neighbouring packet.
    pub seconds: i64,
}

/// Number of a forged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forged {
    /// This number.
    At(u32),
    /// Relative to the neighbouring packet (wrapping).
    By(i32),
}

impl Forged {
    /// The number for a neighbouring packet with this one.
    pub fn beside(self, number: u32) -> u32 {
        match self {
            Self::At(forged) => forged,
            Self::By(by) => number.wrapping_add_signed(by),
        }
    }
}

impl FaultPlan {
    /// A plan of these faults on the incremental feed of both lines.
    pub fn incremental(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::on(&[Feed::Incremental], faults)
    }

    /// A plan of these faults on all feeds of both lines.
    pub fn all_feeds(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::on(&Feed::ALL, faults)
    }

    /// Appends the rules of another plan.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.rules.extend(other.rules);
        self.earlier.extend(other.earlier);
        self
    }

    fn on(feeds: &[Feed], faults: impl IntoIterator<Item = Fault>) -> Self {
        let rule = |fault| Rule {
            fault,
            feeds: feeds.to_vec(),
            lines: Line::BOTH.to_vec(),
        };
        Self {
            rules: faults.into_iter().map(rule).collect(),
            earlier: Vec::new(),
        }
    }
}

impl Fault {
    /// Name in the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Drop { .. } => "drop",
            Self::DropBurst { .. } => "drop burst",
            Self::DropOnAllLines { .. } => "drop on all lines",
            Self::JoinLate { .. } => "join late",
            Self::Outage { .. } => "outage",
            Self::Silence { .. } => "silence",
            Self::Duplicate { .. } => "duplicate",
            Self::Reorder { .. } => "reorder",
            Self::Delay { .. } => "delay",
            Self::Corrupt { .. } => "corrupt",
            Self::Flip { .. } => "flip",
            Self::Tamper { .. } => "tamper",
            Self::Truncate { .. } => "truncate",
            Self::Forge { .. } => "forge",
            Self::Replay { .. } => "replay",
            Self::ForgeHeartbeat { .. } => "forge heartbeat",
            Self::ForgeFirst { .. } => "forge first",
            Self::Earlier { .. } => "earlier session",
            Self::ForgeSnapshot { .. } => "forge snapshot",
            Self::Misroute { .. } => "misroute",
            Self::WrongClock { .. } => "wrong clock",
            Self::HostClock { .. } => "host clock",
        }
    }
}
