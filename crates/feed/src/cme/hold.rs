//! Packets that wait behind a hole: a window of slots by sequence number, memory taken at start.

use crate::When;

/// What is kept of a packet beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Sequence number.
    pub sequence: u64,
    /// When it was sent, nanoseconds since the Unix epoch.
    pub sending_ns: u64,
    /// When it came.
    pub when: When,
    len: usize,
    filled: bool,
}

impl Held {
    /// Its length, bytes.
    pub fn len(&self) -> usize {
        self.len
    }
}

/// A window of `capacity` consecutive sequence numbers.
#[derive(Debug)]
pub struct Hold {
    slots: Vec<Held>,
    bytes: Vec<u8>,
    stride: usize,
    count: usize,
    highest: u64,
}

impl Hold {
    /// Room for `packets_max` (rounded up to a power of two) packets of `packet_bytes_max` bytes.
    pub fn new(packets_max: usize, packet_bytes_max: usize) -> Hold {
        let capacity = packets_max.max(2).next_power_of_two();
        Hold {
            slots: vec![Held::default(); capacity],
            bytes: vec![0; capacity * packet_bytes_max],
            stride: packet_bytes_max,
            count: 0,
            highest: 0,
        }
    }

    /// How many sequence numbers the window spans.
    pub fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The highest sequence number that waits; meaningless when empty.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Keeps a packet whose number lies in the caller's window; `false` if it is already there.
    pub fn keep(&mut self, sequence: u64, sending_ns: u64, when: When, payload: &[u8]) -> bool {
        let index = self.index(sequence);
        if self.slots[index].filled {
            return false;
        }
        let start = index * self.stride;
        self.bytes[start..start + payload.len()].copy_from_slice(payload);
        self.slots[index] = Held {
            sequence,
            sending_ns,
            when,
            len: payload.len(),
            filled: true,
        };
        self.highest = if self.count == 0 {
            sequence
        } else {
            self.highest.max(sequence)
        };
        self.count += 1;
        true
    }

    /// Whether a packet waits. The number must lie in the caller's window.
    pub fn has(&self, sequence: u64) -> bool {
        self.slots[self.index(sequence)].filled
    }

    /// What is kept of a packet that waits. The number must lie in the caller's window.
    pub fn peek(&self, sequence: u64) -> &Held {
        &self.slots[self.index(sequence)]
    }

    /// Takes a packet out. Its bytes stay readable through [`Hold::payload`] until another packet
    /// is kept.
    pub fn take(&mut self, sequence: u64) -> Option<Held> {
        let index = self.index(sequence);
        let held = self.slots[index];
        if self.count == 0 || !held.filled {
            return None;
        }
        self.slots[index].filled = false;
        self.count -= 1;
        Some(held)
    }

    /// Whether another packet waits under this number than this one: of the two at least one is not the venue's.
    pub fn disputes(&self, sequence: u64, sending_ns: u64, bytes: usize) -> bool {
        let held = self.peek(sequence);
        held.filled && (held.sending_ns, held.len) != (sending_ns, bytes)
    }

    /// Throws a packet away that lies at `lowest` or above.
    pub fn discard(&mut self, lowest: u64, sequence: u64) {
        self.take(sequence);
        if sequence == self.highest && self.count > 0 {
            let filled = |sequence: &u64| self.slots[self.index(*sequence)].filled;
            let highest = (lowest..sequence).rev().find(filled);
            self.highest = highest.expect("some packet waits");
        }
    }

    /// Throws away all that waits from `lowest` on.
    pub fn clear(&mut self, lowest: u64) {
        if self.count > 0 {
            for sequence in lowest..=self.highest {
                self.take(sequence);
            }
        }
    }

    /// The bytes of a packet taken out just now.
    pub fn payload(&self, held: &Held) -> &[u8] {
        let start = self.index(held.sequence) * self.stride;
        &self.bytes[start..start + held.len]
    }

    /// The first number from `next` on that waits.
    pub fn first(&self, next: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        (next..=self.highest).find(|&sequence| self.slots[self.index(sequence)].filled)
    }

    /// What waits, in order from `next` on.
    pub fn waiting(&self, next: u64) -> impl Iterator<Item = &Held> {
        let span = if self.count == 0 {
            0..0
        } else {
            next..self.highest + 1
        };
        span.map(|sequence| &self.slots[self.index(sequence)])
            .filter(|held| held.filled)
    }

    fn index(&self, sequence: u64) -> usize {
        sequence as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_out_once() {
        let mut hold = Hold::new(4, 8);
        assert!(hold.keep(7, 70, When::at(700), b"seven"));
        assert!(hold.keep(9, 90, When::at(900), b"nine"));
        assert!(!hold.keep(9, 90, When::at(901), b"nine"), "a duplicate");
        assert!(!hold.disputes(9, 90, 4) && !hold.disputes(8, 90, 5));
        assert!(hold.disputes(9, 91, 4) && hold.disputes(9, 90, 5));
        assert_eq!(hold.first(6), Some(7));
        assert_eq!(
            hold.waiting(6)
                .map(|held| held.sequence)
                .collect::<Vec<_>>(),
            [7, 9]
        );
        let seven = hold.take(7).unwrap();
        assert_eq!(
            (seven.when, hold.payload(&seven)),
            (When::at(700), b"seven".as_slice())
        );
        assert!(hold.keep(8, 80, When::at(800), b"eight"));
        hold.discard(8, 9);
        assert_eq!((hold.highest(), hold.first(8)), (8, Some(8)));
        assert!(hold.keep(9, 90, When::at(902), b"nine"));
        hold.discard(8, 8);
        assert_eq!((hold.highest(), hold.first(8)), (9, Some(9)));
        assert_eq!(hold.take(7), None);
        assert_eq!(hold.take(8), None);
        assert!(!hold.is_empty());
        assert!(hold.take(9).is_some());
        assert!(hold.is_empty());
    }
}
