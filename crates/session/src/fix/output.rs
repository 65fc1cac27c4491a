//! Output buffer of a connection.

/// Output buffer: filled at the end, consumed at the start. Sent bytes are wiped: they may be a
/// Logon.
pub struct Output {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Output {
    pub fn new(size: usize) -> Output {
        Output {
            bytes: vec![0; size].into(),
            start: 0,
            end: 0,
        }
    }

    /// Unsent bytes.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Records that this many bytes were sent.
    pub fn sent(&mut self, bytes: usize) {
        let start = (self.start + bytes).min(self.end);
        self.bytes[self.start..start].fill(0);
        self.start = start;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Free space, in one piece.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            let end = self.end - self.start;
            self.bytes[end..self.end].fill(0);
            (self.start, self.end) = (0, end);
        }
        &mut self.bytes[self.end..]
    }

    /// Number of free bytes.
    pub fn free(&self) -> usize {
        self.bytes.len() - (self.end - self.start)
    }

    /// Records that this many bytes of the space were filled.
    pub fn filled(&mut self, bytes: usize) {
        assert!(
            bytes <= self.bytes.len() - self.end,
            "output: no more is written than there is room"
        );
        self.end += bytes;
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// The bytes do not fit.
    pub fn put(&mut self, bytes: &[u8]) {
        let room = self.room();
        assert!(
            bytes.len() <= room.len(),
            "output: no more is written than there is room"
        );
        room[..bytes.len()].copy_from_slice(bytes);
        self.filled(bytes.len());
    }

    /// Empties the buffer.
    pub fn clear(&mut self) {
        self.sent(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_bytes_are_wiped_and_their_space_is_reused() {
        let mut output = Output::new(8);
        output.put(b"password");
        output.sent(6);
        assert_eq!((output.rest(), output.free()), (&b"rd"[..], 6));
        assert_eq!(output.room(), [0; 6]);
        output.put(b"and so");
        assert_eq!(output.rest(), b"rdand so");
        output.clear();
        assert_eq!(output.rest(), b"");
        assert_eq!(output.room(), [0; 8]);
    }

    #[test]
    #[should_panic(expected = "no more is written than there is room")]
    fn bytes_beyond_the_room_panic() {
        Output::new(4).put(b"12345");
    }
}
