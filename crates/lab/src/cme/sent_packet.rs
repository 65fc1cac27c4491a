//! A packet before it is sent over two lines.

use crate::capture::Feed;

/// One packet, before it is sent over two lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Time of arrival on a line without faults, nanoseconds since 1970.
    pub time_ns: u64,
    /// The feed it belongs to.
    pub feed: Feed,
    /// Its sequence in that feed.
    pub sequence: u32,
    /// Faults do not affect this packet: a heartbeat or complete cycle at the end of a session, in which all books
    /// recover, or, with [`Options::spare_resets`](super::Options::spare_resets), a packet that shows a reset.
    pub spared: bool,
    /// The datagram.
    pub payload: Vec<u8>,
}
