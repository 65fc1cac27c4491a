//! Faults between an exchange and us: an ordered list of operators over the packet streams of both lines.
//!
//! The same session, plan and seed give the same arrivals. The report says what was done, so that the counters of the
//! system under test can be added up against it.

pub mod command;
mod damage;
pub mod forger;
mod lines;
pub mod stream;

use crate::capture::{Arrival, Feed, Line};
use crate::cme::{SentPacket, Session};
use crate::random::Random;
use std::collections::BTreeMap;

/// What goes wrong, in order: each rule works on what the one before left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// The rules.
    pub rules: Vec<Rule>,
    /// What the exchange sent in a session before, for the faults that bring it again.
    pub earlier: Vec<SentPacket>,
}

/// One fault, and where it strikes.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What goes wrong.
    pub fault: Fault,
    /// The feeds that it strikes.
    pub feeds: Vec<Feed>,
    /// The lines that it strikes, each on its own.
    pub lines: Vec<Line>,
}

/// What can go wrong. A `share` is the probability, 0 to 1, that a packet is struck.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Packets are lost one by one.
    Drop {
        /// Share of packets.
        share: f64,
    },
    /// Packets are lost in bursts, on each line for itself.
    DropBurst {
        /// Share of packets at which a burst begins.
        share: f64,
        /// The most packets that one burst takes.
        packets_max: u64,
    },
    /// The same packets are lost on every line, in bursts.
    DropOnAllLines {
        /// Share of packets at which a burst begins.
        share: f64,
        /// The most packets that one burst takes.
        packets_max: u64,
    },
    /// We began to listen only after this share of the packets of all feeds.
    JoinLate {
        /// Share of the session.
        share: f64,
    },
    /// A line is dead for a number of packets, once.
    Outage {
        /// How many packets.
        packets: u64,
    },
    /// Packets come twice.
    Duplicate {
        /// Share of packets.
        share: f64,
    },
    /// Packets are overtaken by later ones.
    Reorder {
        /// Share of packets.
        share: f64,
        /// The most packets that overtake one.
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
    /// Bytes change so that the packet is not valid any more: sizes, schema id, lengths, counts.
    Corrupt {
        /// Share of packets.
        share: f64,
    },
    /// Any bytes change. The packet may still be well-formed, and then nobody can notice.
    Flip {
        /// Share of packets.
        share: f64,
        /// The most bytes that change.
        bytes_max: u64,
    },
    /// The end is cut off, so that the packet is not valid any more.
    Truncate {
        /// Share of packets.
        share: f64,
    },
    /// A forged copy follows, with a sequence so much further on (it wraps).
    Forge {
        /// Share of packets.
        share: f64,
        /// How far ahead.
        ahead: u32,
    },
    /// An old packet comes again.
    Replay {
        /// Share of packets after which one comes.
        share: f64,
    },
    /// A forged heartbeat comes just before a packet. It says nothing but its number and its time.
    ForgeHeartbeat {
        /// Share of packets before which one comes.
        share: f64,
        /// What it says.
        forgery: Forgery,
    },
    /// A forged heartbeat comes before all others.
    ForgeFirst {
        /// What it says.
        forgery: Forgery,
    },
    /// A packet of the session before comes behind a packet, with the sending time of its session.
    Earlier {
        /// Share of packets after which one comes.
        share: f64,
        /// By how much the session before is moved back in time, seconds.
        seconds_ago: u32,
    },
    /// A packet of the session before comes behind a packet, as if it was sent now; each snapshot in it names a packet
    /// so much further on as the last one that it contains (it wraps).
    ForgeSnapshot {
        /// Share of packets after which one comes.
        share: f64,
        /// How far ahead.
        ahead: u32,
    },
    /// A packet of one feed comes on another one, too.
    Misroute {
        /// Share of packets.
        share: f64,
    },
    /// The exchange's clock is wrong for a run of packets, the same ones on every line, and then right again.
    WrongClock {
        /// How many packets of all feeds.
        packets: u64,
        /// How wrong, seconds.
        seconds: i64,
    },
    /// The clock of the receiving host is set, once, while packets come.
    HostClock {
        /// By how much, seconds.
        seconds: i64,
    },
}

/// What a forged packet says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgery {
    /// Its number.
    pub number: Forged,
    /// When it says that it was sent, seconds from the packet beside it.
    pub seconds: i64,
}

/// The number of a forged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forged {
    /// This one.
    At(u32),
    /// So far from the packet beside it (it wraps).
    By(i32),
}

impl Forged {
    /// The number, where the packet beside it has this one.
    pub fn beside(self, number: u32) -> u32 {
        match self {
            Self::At(forged) => forged,
            Self::By(by) => number.wrapping_add_signed(by),
        }
    }
}

/// What came of a session under a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What arrives, in order of arrival.
    pub arrivals: Vec<Arrival>,
    /// What was done to it.
    pub report: Report,
}

/// What was done to a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets that were struck, by fault.
    pub struck: BTreeMap<&'static str, u64>,
    /// Incremental packets of which no undamaged copy arrives on any line, by sequence in the order in which they were
    /// sent. Those before a late join are not among them.
    pub lost_on_both: Vec<u32>,
    /// Incremental packets that were sent before we joined late.
    pub before_join: u64,
    /// Where the clock of the receiving host was set: index of the first arrival behind that, and by how many seconds.
    pub clock_set: Vec<(usize, i64)>,
}

impl FaultPlan {
    /// A plan of the given faults, striking the incremental feed on both lines.
    pub fn incremental(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::on(&[Feed::Incremental], faults)
    }

    /// A plan of the given faults, striking all feeds on both lines.
    pub fn all_feeds(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::on(&Feed::ALL, faults)
    }

    /// Adds the rules of another plan behind these.
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
    /// Its name in the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Drop { .. } => "drop",
            Self::DropBurst { .. } => "drop burst",
            Self::DropOnAllLines { .. } => "drop on all lines",
            Self::JoinLate { .. } => "join late",
            Self::Outage { .. } => "outage",
            Self::Duplicate { .. } => "duplicate",
            Self::Reorder { .. } => "reorder",
            Self::Delay { .. } => "delay",
            Self::Corrupt { .. } => "corrupt",
            Self::Flip { .. } => "flip",
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

/// Sends a session over both lines under a plan.
pub fn deliver(session: &Session, plan: &FaultPlan, seed: u64) -> Delivery {
    let mut random = Random::from_seed(seed);
    let mut lines = lines::Lines::of(session, &plan.earlier, &mut random.split());
    let mut report = Report::default();
    for rule in &plan.rules {
        // Each rule has its own stream, so that one more rule at the end does not change the ones before.
        let struck = lines.strike(rule, &mut random.split());
        *report.struck.entry(rule.fault.name()).or_default() += struck;
    }
    let arrived = lines.undamaged();
    let incremental = |packet: &&SentPacket| packet.feed == Feed::Incremental;
    report.before_join = session.packets[..lines.joined_at]
        .iter()
        .filter(incremental)
        .count() as u64;
    let lost = (lines.joined_at..session.packets.len()).filter(|packet| !arrived.contains(packet));
    report.lost_on_both = lost
        .map(|packet| &session.packets[packet])
        .filter(incremental)
        .map(|packet| packet.sequence)
        .collect();
    let (arrivals, clock_set) = lines.arrivals();
    report.clock_set = clock_set;
    Delivery { arrivals, report }
}

#[cfg(test)]
mod tests;
