//! Packets that a candidate rejected. A packet from both lines was sent by the venue, so it outranks a candidate that
//! it does not agree with: a sequence reset may follow one that is not accepted yet.

use super::sent::Sent;
use crate::cme::settings::Line;

/// Number of stored packets: the copies of one packet, or of the next number, arrive within this many.
const KEPT: usize = 16;

/// The packets rejected last.
#[derive(Debug, Default)]
pub struct Refused {
    packets: [Brought; KEPT],
    oldest: usize,
}

/// A packet, and the line that brought it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Brought {
    /// 0 for none.
    sequence: u64,
    sent: Sent,
    line: usize,
}

impl Refused {
    /// Whether the other line brought this packet as well and it was rejected; stores the packet.
    pub fn is_shown(&mut self, sequence: u64, sent: Sent, line: Line) -> bool {
        let line = line as usize;
        let brought = Brought {
            sequence,
            sent,
            line,
        };
        let other = Brought {
            line: 1 - line,
            ..brought
        };
        if self.packets.contains(&other) {
            return true;
        }
        self.packets[self.oldest] = brought;
        self.oldest = (self.oldest + 1) % KEPT;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sending_ns: u64, bytes: u32) -> Sent {
        Sent {
            sending_ns,
            bytes,
            hash: 0,
        }
    }

    #[test]
    fn a_packet_is_confirmed_by_both_lines_and_only_for_a_while() {
        let mut refused = Refused::default();
        assert!(!refused.is_shown(1, packet(10, 22), Line::A));
        assert!(
            !refused.is_shown(1, packet(10, 22), Line::A),
            "the same line"
        );
        assert!(
            !refused.is_shown(1, packet(11, 22), Line::B),
            "of another time"
        );
        assert!(
            !refused.is_shown(1, packet(10, 23), Line::B),
            "of another length"
        );
        let other = Sent {
            hash: 1,
            ..packet(10, 22)
        };
        assert!(!refused.is_shown(1, other, Line::B), "of other bytes");
        assert!(refused.is_shown(1, packet(10, 22), Line::B));
        for sequence in 2..18 {
            assert!(!refused.is_shown(sequence, packet(10, 22), Line::A));
        }
        assert!(!refused.is_shown(1, packet(10, 22), Line::B), "long ago");
    }
}
