//! A message as a reader finds it, in place.

use super::head::Flags;
use crate::atomic::{AtomicU64, Ordering};

/// A message in shared memory.
///
/// Its writer may be overwriting it this very moment: what is read of it is to be believed only
/// after the read was validated, which [`Reader::read`](super::Reader::read) does.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub(super) words: &'a [AtomicU64],
    pub(super) length: usize,
    /// Its number in the publication, gap-free from 1.
    pub sequence: u64,
    /// Position behind it.
    pub end: u64,
    /// The publisher's marks.
    pub flags: Flags,
}

impl Frame<'_> {
    /// Bytes of the message.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes.
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

    /// Copies the message, as far as there is room; the last word may hold bytes behind its end.
    #[inline]
    pub fn copy_to(&self, room: &mut [u64]) {
        for (to, from) in room.iter_mut().zip(self.words) {
            *to = from.load(Ordering::Relaxed);
        }
    }
}
