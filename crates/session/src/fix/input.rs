//! Buffer of received bytes.

use std::cell::Cell;

/// Receive buffer: filled at the end, consumed at the start.
///
/// Invariant: only received bytes are consumed.
pub struct Input {
    bytes: Box<[u8]>,
    /// A cell, because a returned message stays borrowed while the start of the next one is set.
    start: Cell<usize>,
    end: usize,
}

impl Input {
    pub fn new(size: usize) -> Input {
        Input {
            bytes: vec![0; size].into(),
            start: Cell::new(0),
            end: 0,
        }
    }

    /// Unconsumed bytes.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start.get()..self.end]
    }

    /// Consumes this many bytes.
    pub fn skip(&self, bytes: usize) {
        let start = self.start.get() + bytes;
        assert!(start <= self.end, "input: what is looked at was received");
        self.start.set(start);
    }

    /// The last consumed bytes, until the buffer is filled again.
    pub fn last(&self, bytes: usize) -> &[u8] {
        let start = self.start.get();
        assert!(bytes <= start, "input: what was looked at was received");
        &self.bytes[start - bytes..start]
    }

    /// Free space at the end.
    pub fn room(&mut self) -> &mut [u8] {
        let start = self.start.replace(0);
        if start > 0 {
            self.bytes.copy_within(start..self.end, 0);
            self.end -= start;
        }
        &mut self.bytes[self.end..]
    }

    /// Records that this many bytes of the space were filled.
    pub fn filled(&mut self, bytes: usize) {
        assert!(
            bytes <= self.bytes.len() - self.end,
            "input: no more is received than there is room"
        );
        self.end += bytes;
    }

    /// Empties and wipes the buffer: it may contain a Logon.
    pub fn clear(&mut self) {
        self.bytes[..self.end].fill(0);
        self.start.set(0);
        self.end = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumed_bytes_are_removed_from_the_buffer() {
        let mut input = Input::new(4);
        input.room().copy_from_slice(b"abcd");
        input.filled(4);
        input.skip(3);
        assert_eq!((input.rest(), input.last(2)), (&b"d"[..], &b"bc"[..]));
        assert_eq!(input.room().len(), 3);
        assert_eq!(input.rest(), b"d");
    }

    #[test]
    fn cleared_bytes_are_wiped() {
        let mut input = Input::new(8);
        input.room()[..6].copy_from_slice(b"secret");
        input.filled(6);
        input.clear();
        assert_eq!(input.room(), [0; 8]);
    }

    #[test]
    #[should_panic(expected = "what is looked at was received")]
    fn skipping_bytes_that_were_not_received_panics() {
        Input::new(8).skip(1);
    }
}
