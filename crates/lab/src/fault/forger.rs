//! Injection of packets during a session: forged packets, and packets sent earlier.
//!
//! A forger receives all packets of the exchange, so it knows the newest number of each feed, and stores the latest
//! packets of this session and of the previous one.

pub use super::damage::reach_of;
use super::{Forged, damage};
use crate::capture::{Feed, Line};
use crate::cme::encode::incremental::{Body, encode};
use crate::cme::encode::{Version, packet};
use crate::cme::header;
use std::collections::VecDeque;

/// Packets to send once, with their lines and feeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The lines; each gets the same packets.
    pub lines: Vec<Line>,
    /// The feeds; each gets packets of its own.
    pub feeds: Vec<Feed>,
    /// The packets.
    pub packets: Injected,
}

/// Kinds of injected packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// A heartbeat with this number, relative to the newest one of its feed if signed.
    Heartbeat(Forgery),
    /// A snapshot packet sent earlier, with this number as LastMsgSeqNumProcessed, relative to the newest one of the
    /// incremental feed if signed.
    Snapshot(Forgery),
    /// Packets sent earlier, unchanged.
    Old {
        /// Number of packets of each feed, at most [`STORED_PACKETS_MAX`].
        count: usize,
    },
}

/// Header of a forged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgery {
    /// Number.
    pub number: Forged,
    /// Sending time: offset from the venue's clock, nanoseconds.
    pub off_ns: i64,
}

/// Stored packets of each feed and session.
pub const STORED_PACKETS_MAX: usize = 2_048;

/// Stored packets of an exchange.
#[derive(Clone, Debug, Default)]
pub struct Forger {
    feeds: [StoredPackets; Feed::ALL.len()],
}

/// Packets of one feed, oldest first.
#[derive(Clone, Debug, Default)]
struct StoredPackets {
    /// Number of the last packet of this session; 0 before the first.
    newest: u32,
    session: VecDeque<Vec<u8>>,
    session_before: VecDeque<Vec<u8>>,
}

impl Forger {
    /// The exchange sends a packet.
    pub fn note(&mut self, feed: Feed, payload: &[u8]) {
        let stored = &mut self.feeds[feed as usize];
        stored.newest = header::number(payload);
        let mut copy = match stored.session.len() {
            STORED_PACKETS_MAX => stored.session.pop_front().unwrap_or_default(),
            _ => Vec::new(),
        };
        copy.clear();
        copy.extend_from_slice(payload);
        stored.session.push_back(copy);
    }

    /// The session is over: the packets so far are of the session before.
    pub fn session_over(&mut self) {
        for stored in &mut self.feeds {
            stored.newest = 0;
            if !stored.session.is_empty() {
                stored.session_before = std::mem::take(&mut stored.session);
            }
        }
    }

    /// The packets to send on a feed when the venue's clock says `venue_ns`; none if the feed has carried no packet that
    /// they could be made of.
    pub fn packets(&self, what: Injected, feed: Feed, venue_ns: u64) -> Vec<Vec<u8>> {
        match what {
            Injected::Heartbeat(forgery) => {
                let sending_ns = header::moved_ns(venue_ns, forgery.off_ns);
                vec![heartbeat(self.number(forgery.number, feed), sending_ns)]
            }
            Injected::Snapshot(forgery) => {
                let mut packets = self.feeds[feed as usize].old(1);
                for packet in &mut packets {
                    header::set_sending_time(packet, header::moved_ns(venue_ns, forgery.off_ns));
                    damage::reach(packet, self.number(forgery.number, Feed::Incremental));
                }
                packets
            }
            Injected::Old { count } => self.feeds[feed as usize].old(count),
        }
    }

    /// A forged number, relative to the newest one of a feed.
    pub fn number(&self, number: Forged, feed: Feed) -> u32 {
        number.beside(self.feeds[feed as usize].newest)
    }
}

impl StoredPackets {
    /// The last packets of the session before, which reach furthest; without one the oldest of this session.
    fn old(&self, count: usize) -> Vec<Vec<u8>> {
        let before = &self.session_before;
        match before.is_empty() {
            false => {
                let skipped = before.len().saturating_sub(count);
                before.iter().skip(skipped).cloned().collect()
            }
            true => self.session.iter().take(count).cloned().collect(),
        }
    }
}

/// A packet with a heartbeat in it.
pub(super) fn heartbeat(number: u32, sending_ns: u64) -> Vec<u8> {
    let message = encode(Version::V9, false, &Body::Heartbeat, 0, 0);
    packet(number, sending_ns, &[message])
}

#[cfg(test)]
mod tests;
