//! Bytes that were received and not yet looked at.

use std::cell::Cell;

/// A buffer that is filled behind and emptied in front.
pub struct Input {
    bytes: Box<[u8]>,
    /// A cell, because a message that was lent stays lent while the next one's beginning is noted.
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

    /// What is there.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start.get()..self.end]
    }

    /// So much of it was looked at.
    pub fn skip(&self, bytes: usize) {
        self.start.set((self.start.get() + bytes).min(self.end));
    }

    /// Free room behind what is there.
    pub fn room(&mut self) -> &mut [u8] {
        let start = self.start.replace(0);
        if start > 0 {
            self.bytes.copy_within(start..self.end, 0);
            self.end -= start;
        }
        &mut self.bytes[self.end..]
    }

    /// So much of the room was filled.
    pub fn filled(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.bytes.len());
    }

    /// Forgets everything, and wipes it: a Logon may be in it.
    pub fn clear(&mut self) {
        self.bytes[..self.end].fill(0);
        self.start.set(0);
        self.end = 0;
    }
}
