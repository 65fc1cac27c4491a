//! Join points: positions at which a reader may start.
//!
//! Two slots are written alternately; the count of join points selects the last one. A slot is rewritten only after the
//! other one was published, so one join point is valid even if the writer dies while it writes the next.

use super::geometry::place::{JOIN_POINT, JOIN_POINTS};
use crate::atomic::{AtomicU64, Ordering, fence};

/// Position in the stream between two frames, with the number of the next message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinPoint {
    /// Position of the next frame.
    pub position: u64,
    /// Sequence number of the next message.
    pub sequence: u64,
}

/// Attempts to read a join point that is rewritten during the read. For a failure the writer must publish twice within
/// a few nanoseconds this many times in a row.
const ATTEMPTS_MAX: usize = 10_000;

impl JoinPoint {
    /// Publishes the join point of number `count`, counted from 1 without gaps.
    #[inline]
    pub fn publish(self, words: &[AtomicU64], count: u64) {
        let [position, sequence] = JOIN_POINT[(count & 1) as usize];
        // The join point before this one was published before this slot, the one before that, is touched.
        // mutant: ring: a join point is counted before it is written
        fence(Ordering::Release);
        words[position].store(self.position, Ordering::Relaxed);
        words[sequence].store(self.sequence, Ordering::Relaxed);
        // SYNC POINT: the join point, and every frame before it, is visible to a reader of the count.
        words[JOIN_POINTS].store(count, Ordering::Release);
    }

    /// The last join point with its count; `None` if it cannot be read.
    pub fn read(words: &[AtomicU64]) -> Option<(JoinPoint, u64)> {
        for _ in 0..ATTEMPTS_MAX {
            // SYNC POINT: with the store of the count.
            let count = words[JOIN_POINTS].load(Ordering::Acquire);
            let [position, sequence] = JOIN_POINT[(count & 1) as usize];
            let join_point = JoinPoint {
                position: words[position].load(Ordering::Relaxed),
                sequence: words[sequence].load(Ordering::Relaxed),
            };
            // SYNC POINT: a reader that read a word of the join point after the next has seen the next.
            // mutant: ring ordering: a join point may be read after the check of its count
            fence(Ordering::Acquire);
            if words[JOIN_POINTS].load(Ordering::Relaxed) == count {
                let aligned = join_point.position.is_multiple_of(super::geometry::WORD);
                return aligned.then_some((join_point, count));
            }
            crate::atomic::spin_loop();
        }
        None
    }
}
