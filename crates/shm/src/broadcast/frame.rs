//! A message read in place.

use super::head::Flags;
use crate::atomic::{AtomicU64, Ordering};
use crate::words::load;

/// A message in shared memory.
///
/// The writer may be overwriting it: data read from it is valid only after the read was validated,
/// which [`Reader::read`](super::Reader::read) does.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub(super) words: &'a [AtomicU64],
    pub(super) length: usize,
    /// Sequence number of the message, gap-free from 1.
    pub sequence: u64,
    /// Position after the message.
    pub end: u64,
    /// Flags of the publisher.
    pub flags: Flags,
}

impl Frame<'_> {
    /// Bytes of the message.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the frame has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Word `index` of the message, in the byte order of the host; 0 behind its end.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.words
            .get(index)
            .map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Copies as much of the message as fits; the last word may contain bytes beyond its end.
    #[inline]
    pub fn copy_to(&self, room: &mut [u64]) {
        load(self.words, room);
    }
}
