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
    /// Its bytes; room for nothing while they are lent.
    bytes: Vec<u8>,
    packet_bytes_max: usize,
}

impl ArrivedPacket {
    /// Room for a packet of `packet_bytes_max` bytes, taken now. One byte more shows that a longer one is not valid.
    pub fn new(packet_bytes_max: usize) -> ArrivedPacket {
        ArrivedPacket {
            arrival: None,
            bytes: Vec::with_capacity(packet_bytes_max + 1),
            packet_bytes_max,
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.arrival.is_none()
    }

    /// Keeps a packet. Of one that is longer than the limit the beginning is kept: it stays too long.
    pub fn keep(&mut self, arrival: Arrival, payload: &[u8]) {
        let room = self.packet_bytes_max + 1;
        assert!(self.bytes.capacity() >= room, "bytes-were-given-back");
        self.bytes.clear();
        self.bytes
            .extend_from_slice(&payload[..payload.len().min(room)]);
        self.arrival = Some(arrival);
    }

    /// Takes the packet that waits, and lends its bytes until [`ArrivedPacket::give_back`].
    #[inline]
    pub fn take(&mut self) -> Option<(Arrival, Vec<u8>)> {
        let arrival = self.arrival.take()?;
        Some((arrival, std::mem::take(&mut self.bytes)))
    }

    /// The bytes that were lent are needed no more.
    #[inline]
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
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
        let (taken, bytes) = arrived.take().expect("it waits");
        assert_eq!((taken.line, &bytes[..]), (Line::B, &b"abcde"[..]));
        assert!(arrived.take().is_none(), "it was taken");
        arrived.give_back(bytes);
        arrived.keep(arrival, b"ab");
        assert_eq!(arrived.take().map(|(_, bytes)| bytes), Some(b"ab".to_vec()));
    }

    #[test]
    #[should_panic(expected = "bytes-were-given-back")]
    fn nothing_is_kept_while_bytes_are_lent() {
        let arrival = Arrival {
            feed: FeedType::Incremental,
            line: Line::A,
            time: ReceiveTime::at(1),
        };
        let mut arrived = ArrivedPacket::new(4);
        arrived.keep(arrival, b"ab");
        let _lent = arrived.take();
        arrived.keep(arrival, b"cd");
    }
}
