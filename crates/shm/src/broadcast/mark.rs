//! Marks: where a reader may begin.
//!
//! Two slots are written by turns, and the count of marks says which one is the last. A slot is
//! rewritten only after the other one was published, so a mark is whole even when its writer died in
//! the middle of the next.

use super::geometry::place::{MARK, MARKS};
use crate::atomic::{AtomicU64, Ordering, fence};

/// A place in the stream: between two frames, with the number of the message that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Position of the next frame.
    pub position: u64,
    /// Sequence number of the next message.
    pub sequence: u64,
}

/// Attempts to read a mark that is rewritten meanwhile. A writer would have to publish twice within
/// a few nanoseconds, this many times in a row.
const ATTEMPTS_MAX: usize = 10_000;

impl Mark {
    /// Publishes the mark of number `count`, counted from 1 without gaps.
    #[inline]
    pub fn publish(self, words: &[AtomicU64], count: u64) {
        let [position, sequence] = MARK[(count & 1) as usize];
        // The mark before this one was published before this slot, the one before that, is touched.
        fence(Ordering::Release);
        words[position].store(self.position, Ordering::Relaxed);
        words[sequence].store(self.sequence, Ordering::Relaxed);
        // SYNC POINT: the mark, and every frame before it, is visible to who reads the count.
        words[MARKS].store(count, Ordering::Release);
    }

    /// The last mark with its count; `None` where none can be had.
    pub fn read(words: &[AtomicU64]) -> Option<(Mark, u64)> {
        for _ in 0..ATTEMPTS_MAX {
            // SYNC POINT: with the store of the count.
            let count = words[MARKS].load(Ordering::Acquire);
            let [position, sequence] = MARK[(count & 1) as usize];
            let mark = Mark {
                position: words[position].load(Ordering::Relaxed),
                sequence: words[sequence].load(Ordering::Relaxed),
            };
            // SYNC POINT: who read a word of the mark after the next has seen the next.
            fence(Ordering::Acquire);
            if words[MARKS].load(Ordering::Relaxed) == count {
                let aligned = mark.position.is_multiple_of(super::geometry::WORD);
                return aligned.then_some((mark, count));
            }
            crate::atomic::spin_loop();
        }
        None
    }
}
