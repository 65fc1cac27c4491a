//! Buffer of one received packet, until older steps are processed.

use super::settings::{FeedType, Line};
use crate::{DifferingCopy, ReceiveTime};

/// Source and receive time of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Feed of the packet.
    pub feed: FeedType,
    /// Line of the packet.
    pub line: Line,
    /// Receive time, by the monotonic clock.
    pub time: ReceiveTime,
}

impl Arrival {
    /// Its packet, of this number, has other bytes than another copy.
    #[cold]
    pub fn differing(&self, number: u32) -> DifferingCopy {
        DifferingCopy {
            number: u64::from(number),
            line: self.line.name(),
        }
    }
}

/// Received packet: a copy that waits until the steps due before it are processed.
#[derive(Debug)]
pub struct ArrivedPacket {
    arrival: Option<Arrival>,
    /// Payload; empty while it is lent.
    bytes: Vec<u8>,
    packet_bytes_max: usize,
}

impl ArrivedPacket {
    /// Allocates memory for a packet of `packet_bytes_max` bytes, and one byte more to detect longer packets, which are
    /// not valid.
    pub fn new(packet_bytes_max: usize) -> ArrivedPacket {
        ArrivedPacket {
            arrival: None,
            bytes: Vec::with_capacity(packet_bytes_max + 1),
            packet_bytes_max,
        }
    }

    /// Whether no packet is stored.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.arrival.is_none()
    }

    /// Stores a packet. A packet over the limit is cut to one byte more than the limit, so it stays invalid.
    pub fn keep(&mut self, arrival: Arrival, payload: &[u8]) {
        let room = self.packet_bytes_max + 1;
        assert!(
            self.bytes.capacity() >= room,
            "the bytes of the packet before were given back"
        );
        self.bytes.clear();
        self.bytes
            .extend_from_slice(&payload[..payload.len().min(room)]);
        self.arrival = Some(arrival);
    }

    /// Removes the stored packet, and lends its payload until [`ArrivedPacket::give_back`].
    #[inline]
    pub fn take(&mut self) -> Option<(Arrival, Vec<u8>)> {
        let arrival = self.arrival.take()?;
        Some((arrival, std::mem::take(&mut self.bytes)))
    }

    /// Returns the lent payload buffer.
    #[inline]
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_over_the_limit_is_refused_each_time() {
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
    #[should_panic(expected = "the bytes of the packet before were given back")]
    fn no_packet_is_stored_while_the_payload_is_lent() {
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
