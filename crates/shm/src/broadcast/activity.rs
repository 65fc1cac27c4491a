//! Activity: when the writer last stated that what it publishes is current.

use super::geometry::place;
use crate::atomic::{AtomicU64, Ordering};

/// The last sign of life of a writer with a duty cycle. Zeros where the writer states none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// When, by [`boot_ns`](crate::clock::boot_ns).
    pub at_ns: u64,
    /// Nanoseconds without another statement after which the writer is stalled.
    pub timeout_ns: u64,
}

impl Activity {
    /// States it. Not on the path of a message: its line is of these two words alone.
    pub(super) fn store(self, words: &[AtomicU64]) {
        words[place::ACTIVITY_TIMEOUT].store(self.timeout_ns, Ordering::Relaxed);
        // SYNC POINT: a reader of this time finds everything that was published before it.
        words[place::ACTIVITY].store(self.at_ns, Ordering::Release);
    }

    /// What was stated last.
    pub(super) fn load(words: &[AtomicU64]) -> Activity {
        Activity {
            at_ns: words[place::ACTIVITY].load(Ordering::Acquire),
            timeout_ns: words[place::ACTIVITY_TIMEOUT].load(Ordering::Relaxed),
        }
    }
}
