//! Batches: a header and complete native messages, sent as one datagram or as one frame of a stream.
//!
//! On a stream each batch is preceded by its length, 4 bytes little-endian, so that a batch is one write.

use crate::head::{BadHead, HEAD_BYTES, Head};

/// Bytes of the length field of a batch on a stream.
pub const LENGTH_BYTES: usize = 4;
/// Bytes of the length field of each message.
pub const MESSAGE_LENGTH_BYTES: usize = 2;
/// Longest native message.
pub const MESSAGE_BYTES_MAX: usize = touchline_types::native::PART_BYTES_MAX;
/// Longest batch: a longest message in a batch that was nearly full.
pub const BATCH_BYTES_MAX: usize = 128 * 1024;

/// A batch while it is filled, and until every receiver has received it.
#[derive(Debug)]
pub struct Batch {
    /// Length, header, messages.
    bytes: Box<[u8]>,
    /// Bytes in use, including the length field.
    used: usize,
    count: u16,
    head: Option<Head>,
}

impl Batch {
    /// An empty batch; allocates its memory.
    pub fn new() -> Batch {
        Batch {
            bytes: vec![0; LENGTH_BYTES + BATCH_BYTES_MAX].into(),
            used: LENGTH_BYTES + HEAD_BYTES,
            count: 0,
            head: None,
        }
    }

    /// Removes every message.
    pub fn clear(&mut self) {
        self.used = LENGTH_BYTES + HEAD_BYTES;
        self.count = 0;
        self.head = None;
    }

    /// Number of messages.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Whether a message of this length fits a batch of at most `bytes_max` bytes; a message always fits an empty one.
    pub fn has_room(&self, length: usize, bytes_max: usize) -> bool {
        let bytes = self.used - LENGTH_BYTES + MESSAGE_LENGTH_BYTES + length;
        self.count == 0 || self.count < u16::MAX && bytes <= bytes_max.min(BATCH_BYTES_MAX)
    }

    /// Appends a message of `length` bytes, which `write` writes.
    ///
    /// # Panics
    /// The message is longer than [`MESSAGE_BYTES_MAX`], or does not fit the batch.
    #[inline]
    pub fn push(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        assert!(
            length <= MESSAGE_BYTES_MAX,
            "a native message has at most {MESSAGE_BYTES_MAX} bytes"
        );
        let from = self.used + MESSAGE_LENGTH_BYTES;
        self.bytes[self.used..from].copy_from_slice(&(length as u16).to_le_bytes());
        write(&mut self.bytes[from..from + length]);
        self.used = from + length;
        self.count += 1;
    }

    /// Writes the header. If the messages are numbered, its count must be [`Batch::count`].
    pub fn close(&mut self, head: &Head) {
        self.head = Some(*head);
        let length = (self.used - LENGTH_BYTES) as u32;
        self.bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        if let Some(place) = self.bytes[LENGTH_BYTES..].first_chunk_mut::<HEAD_BYTES>() {
            head.write(place);
        }
    }

    /// Header of a closed batch.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Header and messages: a datagram.
    pub fn datagram(&self) -> &[u8] {
        &self.bytes[LENGTH_BYTES..self.used]
    }

    /// The datagram behind its length: a frame of a stream.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl Default for Batch {
    fn default() -> Batch {
        Batch::new()
    }
}

/// Reason why bytes are not a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBatch {
    /// Invalid header.
    #[error(transparent)]
    Head(#[from] BadHead),
    /// A message ends after the end of the batch, or bytes follow the last message.
    #[error("the lengths of its messages do not add up to that of the batch")]
    Lengths,
}

/// A received batch, verified completely.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Header.
    pub head: Head,
    messages: &'a [u8],
}

impl<'a> Received<'a> {
    /// Verifies header and lengths of the batch in `bytes`.
    ///
    /// # Errors
    /// `bytes` is not a batch, and no part of it may be used.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<Received<'a>, BadBatch> {
        let head = Head::read(bytes)?;
        let messages = &bytes[HEAD_BYTES..];
        let mut rest = messages;
        for _ in 0..head.count {
            rest = split(rest).ok_or(BadBatch::Lengths)?.1;
        }
        match rest.is_empty() {
            true => Ok(Received { head, messages }),
            false => Err(BadBatch::Lengths),
        }
    }

    /// The messages, in order.
    #[inline]
    pub fn messages(&self) -> Messages<'a> {
        Messages(self.messages)
    }
}

/// Messages of a batch.
#[derive(Clone, Debug)]
pub struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (message, rest) = split(self.0)?;
        self.0 = rest;
        Some(message)
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<MESSAGE_LENGTH_BYTES>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::{Epoch, HeadFlags, Source};

    fn head(count: u16) -> Head {
        Head {
            source: Source::named("a").expect("a name"),
            epoch: Epoch(1),
            first_sequence: 7,
            count,
            hops: 0,
            flags: HeadFlags::NONE,
            sent_ns: 0,
        }
    }

    #[test]
    fn messages_come_back_byte_for_byte() {
        let mut batch = Batch::new();
        for message in [&b"abc"[..], b"", b"defgh"] {
            batch.push(message.len(), |place| place.copy_from_slice(message));
        }
        batch.close(&head(batch.count()));
        let read = Received::read(batch.datagram()).expect("a batch");
        assert_eq!(read.head, head(3));
        assert!(read.messages().eq([&b"abc"[..], b"", b"defgh"]));
        assert_eq!(&batch.frame()[4..], batch.datagram());
        assert_eq!(batch.frame()[..4], [54, 0, 0, 0]);
    }

    #[test]
    fn a_truncated_or_extended_batch_is_invalid() {
        let mut batch = Batch::new();
        batch.push(3, |place| place.copy_from_slice(b"abc"));
        batch.close(&head(1));
        let bytes = batch.datagram();
        for length in HEAD_BYTES..bytes.len() {
            let cut = Received::read(&bytes[..length]).map(|read| read.head);
            assert_eq!(cut, Err(BadBatch::Lengths), "{length} bytes");
        }
        let longer = [bytes, &[0]].concat();
        assert_eq!(
            Received::read(&longer).map(|read| read.head),
            Err(BadBatch::Lengths)
        );
    }

    #[test]
    fn a_batch_is_full_at_its_limit_and_accepts_any_single_message() {
        let mut batch = Batch::new();
        assert!(batch.has_room(MESSAGE_BYTES_MAX, 100));
        batch.push(10, |_| ());
        assert!(batch.has_room(46, 100) && !batch.has_room(47, 100));
    }
}
