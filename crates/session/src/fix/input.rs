//! Buffer of received bytes.

use std::cell::Cell;

/// Kept bytes of a consumed message: more than a log shows.
const KEPT_BYTES_MAX: usize = 512;

/// Receive buffer: filled at the end, consumed at the start.
///
/// Invariant: only received bytes are consumed.
pub struct Input {
    bytes: Box<[u8]>,
    /// A cell, because a returned message stays borrowed while the start of the next one is set.
    start: Cell<usize>,
    end: usize,
    /// Start and end of the last message, until the buffer is filled again.
    message: Cell<(usize, usize)>,
    /// The start of a message that was the last one when the buffer was filled again.
    kept: Vec<u8>,
}

impl Input {
    pub fn new(size: usize) -> Input {
        Input {
            bytes: vec![0; size].into(),
            start: Cell::new(0),
            end: 0,
            message: Cell::new((0, 0)),
            kept: Vec::with_capacity(KEPT_BYTES_MAX),
        }
    }

    /// Unconsumed bytes.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start.get()..self.end]
    }

    /// Consumes this many bytes.
    #[inline]
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

    /// The last consumed bytes are a message.
    #[inline]
    pub fn is_message(&self, bytes: usize) {
        let end = self.start.get();
        self.message.set((end - bytes, end));
    }

    /// The last message since the buffer was cleared, or its start; empty if there was none.
    pub fn last_message(&self) -> &[u8] {
        match self.message.get() {
            (_, 0) => &self.kept,
            (start, end) => &self.bytes[start..end],
        }
    }

    /// Free space at the end.
    pub fn room(&mut self) -> &mut [u8] {
        let (from, to) = self.message.replace((0, 0));
        if to > 0 {
            self.kept.clear();
            let to = to.min(from + KEPT_BYTES_MAX);
            self.kept.extend_from_slice(&self.bytes[from..to]);
        }
        let start = self.start.replace(0);
        if start == self.end {
            self.end = 0;
        } else if start > 0 {
            self.bytes.copy_within(start..self.end, 0);
            self.end -= start;
        }
        &mut self.bytes[self.end..]
    }

    /// Records that this many bytes of the space were filled.
    #[inline]
    pub fn filled(&mut self, bytes: usize) {
        assert!(
            bytes <= self.bytes.len() - self.end,
            "input: no more is received than there is room"
        );
        self.end += bytes;
    }

    /// Empties and wipes the buffer: it may contain a Logon.
    pub fn clear(&mut self) {
        // Consumed bytes are still there.
        self.bytes.fill(0);
        self.message.set((0, 0));
        self.kept.fill(0);
        self.kept.clear();
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
        input.skip(6);
        input.is_message(6);
        assert_eq!(input.room().len(), 8);
        assert_eq!(input.last_message(), b"secret");
        input.clear();
        assert_eq!(input.room(), [0; 8]);
        assert_eq!(input.last_message(), b"");
    }

    #[test]
    fn the_last_message_is_that_before_bytes_that_are_none() {
        let mut input = Input::new(8);
        input.room()[..6].copy_from_slice(b"abcdef");
        input.filled(6);
        input.skip(3);
        input.is_message(3);
        input.skip(2);
        assert_eq!(input.last_message(), b"abc");
        assert_eq!(input.room().len(), 7);
        assert_eq!(
            (input.last_message(), input.rest()),
            (&b"abc"[..], &b"f"[..])
        );
    }

    #[test]
    #[should_panic(expected = "what is looked at was received")]
    fn skipping_bytes_that_were_not_received_panics() {
        Input::new(8).skip(1);
    }
}
