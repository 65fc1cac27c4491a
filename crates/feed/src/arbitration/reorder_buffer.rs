//! Reorder buffer: packets that wait behind a gap, in slots by sequence number. Memory is allocated at start.

use super::span::Span;
use crate::ReceiveTime;

/// A buffered packet, without its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferedPacket {
    /// First sequence number of the packet.
    pub sequence: u64,
    /// Sending time, nanoseconds since the Unix epoch.
    pub sending_ns: u64,
    /// Receive time.
    pub time: ReceiveTime,
    count: u64,
    len: usize,
    filled: bool,
}

impl BufferedPacket {
    /// Sequence numbers of the packet.
    pub fn span(&self) -> Span {
        Span {
            first: self.sequence,
            count: self.count,
        }
    }

    /// Length, bytes.
    pub fn bytes(&self) -> usize {
        self.len
    }
}

/// Reorder buffer: packets received ahead of a gap, in a window of `capacity` consecutive sequence numbers.
#[derive(Debug)]
pub struct ReorderBuffer {
    slots: Vec<BufferedPacket>,
    bytes: Vec<u8>,
    stride: usize,
    count: usize,
    highest: u64,
    /// Largest span of a packet since the buffer was last empty.
    longest: u64,
}

impl ReorderBuffer {
    /// Allocates slots for `packets_max` (rounded up to a power of two) packets of at most `packet_bytes_max` bytes.
    pub fn new(packets_max: usize, packet_bytes_max: usize) -> ReorderBuffer {
        let capacity = packets_max.max(2).next_power_of_two();
        ReorderBuffer {
            slots: vec![BufferedPacket::default(); capacity],
            bytes: vec![0; capacity * packet_bytes_max],
            stride: packet_bytes_max,
            count: 0,
            highest: 0,
            longest: 0,
        }
    }

    /// Number of sequence numbers in the window.
    pub fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Whether the buffer is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Highest buffered sequence number; meaningless when empty.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Buffers a packet whose first number is in the caller's window; `false` if the packet, or one with the same first
    /// number and at least as many numbers, is buffered already.
    pub fn keep(&mut self, span: Span, sending_ns: u64, time: ReceiveTime, payload: &[u8]) -> bool {
        let (sequence, index) = (span.first, self.index(span.first));
        if self.slots[index].filled && self.slots[index].count >= span.count {
            return false;
        }
        self.take(sequence);
        let start = index * self.stride;
        self.bytes[start..start + payload.len()].copy_from_slice(payload);
        self.slots[index] = BufferedPacket {
            sequence,
            sending_ns,
            time,
            count: span.count,
            len: payload.len(),
            filled: true,
        };
        (self.highest, self.longest) = match self.count {
            0 => (sequence, span.count),
            _ => (self.highest.max(sequence), self.longest.max(span.count)),
        };
        self.count += 1;
        true
    }

    /// Whether a packet that starts with this number is buffered. The number must be in the caller's window.
    pub fn has(&self, sequence: u64) -> bool {
        self.slots[self.index(sequence)].filled
    }

    /// First number of the buffered packet that contains this number; the nearest if there are several.
    fn covering(&self, number: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let mut firsts = (number.saturating_sub(self.longest.saturating_sub(1))..=number).rev();
        firsts.find(|first| {
            let buffered = self.peek(*first);
            buffered.filled && buffered.sequence == *first && buffered.span().contains(number)
        })
    }

    /// Whether a buffered packet contains a number.
    pub fn covers(&self, number: u64) -> bool {
        self.covering(number).is_some()
    }

    /// Removes the packet that contains a number.
    pub fn take_covering(&mut self, number: u64) -> Option<BufferedPacket> {
        self.covering(number).and_then(|first| self.take(first))
    }

    /// Drops packets whose numbers were all processed: the first one is in `from..next`, and the last one is below
    /// `next`.
    pub fn forget_passed(&mut self, from: u64, next: u64) {
        let from = from.saturating_sub(self.longest.saturating_sub(1));
        let lowest = from.max(next.saturating_sub(self.capacity()));
        for first in lowest..next.min(self.highest + 1) {
            let buffered = self.peek(first);
            if buffered.filled && buffered.sequence == first && buffered.span().end() <= next {
                self.take(first);
            }
        }
    }

    /// The entry of a buffered packet. The number must be in the caller's window.
    pub fn peek(&self, sequence: u64) -> &BufferedPacket {
        &self.slots[self.index(sequence)]
    }

    /// Removes a packet. Its bytes stay readable through [`ReorderBuffer::payload`] until the next packet is buffered.
    pub fn take(&mut self, sequence: u64) -> Option<BufferedPacket> {
        let index = self.index(sequence);
        let buffered = self.slots[index];
        if self.count == 0 || !buffered.filled {
            return None;
        }
        self.slots[index].filled = false;
        self.count -= 1;
        Some(buffered)
    }

    /// Whether a different packet is buffered under this number: at least one of the two is not the venue's.
    pub fn disputes(&self, sequence: u64, sending_ns: u64, bytes: usize) -> bool {
        let buffered = self.peek(sequence);
        buffered.filled && (buffered.sending_ns, buffered.len) != (sending_ns, bytes)
    }

    /// Whether a packet of this number, time and length is buffered that has other bytes.
    pub fn differs(&self, sequence: u64, sending_ns: u64, payload: &[u8]) -> bool {
        let buffered = self.peek(sequence);
        buffered.filled
            && !self.disputes(sequence, sending_ns, payload.len())
            && self.payload(buffered) != payload
    }

    /// Drops a packet whose number is `lowest` or higher.
    pub fn discard(&mut self, lowest: u64, sequence: u64) {
        self.take(sequence);
        if sequence == self.highest && self.count > 0 {
            let filled = |sequence: &u64| self.slots[self.index(*sequence)].filled;
            let highest = (lowest..sequence).rev().find(filled);
            self.highest = highest.expect("some packet waits");
        }
    }

    /// Drops all buffered packets from `lowest` on.
    pub fn clear(&mut self, lowest: u64) {
        if self.count > 0 {
            for sequence in lowest..=self.highest {
                self.take(sequence);
            }
        }
    }

    /// Payload of the packet removed last.
    pub fn payload(&self, buffered: &BufferedPacket) -> &[u8] {
        let start = self.index(buffered.sequence) * self.stride;
        &self.bytes[start..start + buffered.len]
    }

    /// First buffered number from `next` on.
    pub fn first(&self, next: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        (next..=self.highest).find(|&sequence| self.slots[self.index(sequence)].filled)
    }

    /// Buffered packets, in order from `next` on.
    pub fn waiting(&self, next: u64) -> impl Iterator<Item = &BufferedPacket> {
        let span = if self.count == 0 {
            0..0
        } else {
            next..self.highest + 1
        };
        span.map(|sequence| &self.slots[self.index(sequence)])
            .filter(|buffered| buffered.filled)
    }

    fn index(&self, sequence: u64) -> usize {
        sequence as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffered_packet_is_returned_once() {
        let mut buffer = ReorderBuffer::new(4, 8);
        assert!(buffer.keep(Span::one(7), 70, ReceiveTime::at(700), b"seven"));
        assert!(buffer.keep(Span::one(9), 90, ReceiveTime::at(900), b"nine"));
        assert!(
            !buffer.keep(Span::one(9), 90, ReceiveTime::at(901), b"nine"),
            "a duplicate"
        );
        assert!(!buffer.disputes(9, 90, 4) && !buffer.disputes(8, 90, 5));
        assert!(buffer.disputes(9, 91, 4) && buffer.disputes(9, 90, 5));
        assert_eq!(buffer.first(6), Some(7));
        assert_eq!(
            buffer
                .waiting(6)
                .map(|buffered| buffered.sequence)
                .collect::<Vec<_>>(),
            [7, 9]
        );
        let seven = buffer.take(7).unwrap();
        assert_eq!(
            (seven.time, buffer.payload(&seven)),
            (ReceiveTime::at(700), b"seven".as_slice())
        );
        assert!(buffer.keep(Span::one(8), 80, ReceiveTime::at(800), b"eight"));
        buffer.discard(8, 9);
        assert_eq!((buffer.highest(), buffer.first(8)), (8, Some(8)));
        assert!(buffer.keep(Span::one(9), 90, ReceiveTime::at(902), b"nine"));
        buffer.discard(8, 8);
        assert_eq!((buffer.highest(), buffer.first(8)), (9, Some(9)));
        assert_eq!(buffer.take(7), None);
        assert_eq!(buffer.take(8), None);
        assert!(!buffer.is_empty());
        assert!(buffer.take(9).is_some());
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_packet_is_found_by_each_of_its_numbers() {
        let mut buffer = ReorderBuffer::new(8, 8);
        let span = |first, count| Span { first, count };
        assert!(buffer.keep(span(10, 3), 1, ReceiveTime::at(1), b"ten"));
        assert!(!buffer.keep(span(10, 2), 1, ReceiveTime::at(1), b"less"));
        assert!(buffer.keep(span(10, 4), 1, ReceiveTime::at(1), b"more"));
        assert!(buffer.keep(span(14, 1), 1, ReceiveTime::at(1), b"last"));
        assert!(!buffer.covers(9) && buffer.covers(10) && buffer.covers(13) && buffer.covers(14));
        buffer.forget_passed(9, 12);
        let ten = buffer.take_covering(12).expect("its rest is not passed");
        assert_eq!(
            (ten.span(), buffer.payload(&ten)),
            (span(10, 4), &b"more"[..])
        );
        buffer.forget_passed(12, 15);
        assert!(buffer.is_empty());
    }
}
