//! Body of a record of messages: native messages, each behind its length.

use touchline_journal::format::u32_at;

/// Bytes of the length of a message.
pub(crate) const LENGTH_BYTES: usize = 4;

/// A body that is filled.
#[derive(Debug, Default)]
pub struct MessagesMut {
    bytes: Vec<u8>,
    count: u64,
}

impl MessagesMut {
    /// Appends a message of `length` bytes, which `write` writes.
    ///
    /// # Panics
    /// The message is longer than 4 GiB.
    pub fn push(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        let word = u32::try_from(length).expect("a native message is short");
        self.bytes.extend(word.to_le_bytes());
        let from = self.bytes.len();
        self.bytes.resize(from + length, 0);
        write(&mut self.bytes[from..]);
        self.count += 1;
    }

    /// Bytes of the body.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Messages in it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of the body with another message.
    pub fn bytes_with(&self, length: usize) -> usize {
        self.bytes.len() + LENGTH_BYTES + length
    }

    /// The body; an empty one of the same memory is left.
    pub fn take(&mut self) -> Vec<u8> {
        self.count = 0;
        let next = Vec::with_capacity(self.bytes.capacity());
        std::mem::replace(&mut self.bytes, next)
    }
}

/// Messages of a body, in order; ends before one whose length does not fit.
#[derive(Debug, Clone, Copy)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Messages of this body.
    pub fn of(body: &'a [u8]) -> Messages<'a> {
        Messages { rest: body }
    }

    /// Bytes behind the last message: none if the body is sound.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.len() < LENGTH_BYTES {
            return None;
        }
        let length = u32_at(self.rest, 0) as usize;
        let message = self
            .rest
            .get(LENGTH_BYTES..LENGTH_BYTES.checked_add(length)?)?;
        self.rest = &self.rest[LENGTH_BYTES + length..];
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_written_and_a_wrong_length_ends_them() {
        let mut body = MessagesMut::default();
        for text in ["", "a", "a longer message"] {
            body.push(text.len(), |place| place.copy_from_slice(text.as_bytes()));
        }
        let mut read = Messages::of(body.bytes());
        let texts: Vec<&[u8]> = read.by_ref().collect();
        assert_eq!(texts, [b"".as_slice(), b"a", b"a longer message"]);
        assert!(read.rest().is_empty());
        for end in 0..body.bytes().len() {
            let mut read = Messages::of(&body.bytes()[..end]);
            let count = read.by_ref().count();
            assert!(count < 3, "{end}");
            assert_eq!(read.rest().is_empty(), [0, 4, 9].contains(&end), "{end}");
        }
    }
}
