//! A packet that came, until it is judged.

use super::settings::{FeedType, Line};
use crate::ReceiveTime;

/// Where and when a packet came.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The feed that brought it.
    pub feed: FeedType,
    /// The line that brought it.
    pub line: Line,
    /// When it came, by the clock of waiting.
    pub time: ReceiveTime,
}

/// Arrived packet: a copy of one that waits until what is due before it is processed.
#[derive(Debug)]
pub struct ArrivedPacket {
    arrival: Option<Arrival>,
    bytes: Vec<u8>,
    len: usize,
}

impl ArrivedPacket {
    /// Room for a packet of `packet_bytes_max` bytes, taken now. One byte more shows that a longer one is not valid.
    pub fn new(packet_bytes_max: usize) -> ArrivedPacket {
        ArrivedPacket {
            arrival: None,
            bytes: vec![0; packet_bytes_max + 1],
            len: 0,
        }
    }

    /// No packet, and no room for one.
    pub const NONE: ArrivedPacket = ArrivedPacket {
        arrival: None,
        bytes: Vec::new(),
        len: 0,
    };

    /// Whether nothing waits.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.arrival.is_none()
    }

    /// Keeps a packet. Of one that is longer than the limit the beginning is kept: it stays too long.
    pub fn keep(&mut self, arrival: Arrival, payload: &[u8]) {
        self.len = payload.len().min(self.bytes.len());
        self.bytes[..self.len].copy_from_slice(&payload[..self.len]);
        self.arrival = Some(arrival);
    }

    /// Takes the packet that waits; its bytes stay at [`ArrivedPacket::payload`].
    pub fn take(&mut self) -> Option<Arrival> {
        self.arrival.take()
    }

    /// The bytes of the packet taken last.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_over_the_limit_stays_over_it() {
        let arrival = Arrival {
            feed: FeedType::Incremental,
            line: Line::B,
            time: ReceiveTime::at(7),
        };
        let mut arrived = ArrivedPacket::new(4);
        assert!(arrived.take().is_none());
        arrived.keep(arrival, b"abcdefgh");
        assert!(!arrived.is_none());
        assert_eq!(arrived.take().map(|arrival| arrival.line), Some(Line::B));
        assert_eq!(arrived.payload(), b"abcde");
        assert!(arrived.take().is_none(), "it was taken");
        arrived.keep(arrival, b"ab");
        assert_eq!(arrived.payload(), b"ab");
    }
}
