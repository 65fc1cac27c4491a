//! Activity of the writer: when it last stated that its published data is current.

use super::geometry::place;
use crate::atomic::{AtomicU64, Ordering};

/// Last activity of a writer with a duty cycle. Zeros if the writer states none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Time of the statement, by [`boot_ns`](crate::clock::boot_ns).
    pub at_ns: u64,
    /// Nanoseconds without another statement after which the writer counts as stalled.
    pub timeout_ns: u64,
}

impl Activity {
    /// Stores the statement. Not on the path of a message: these two words have a cache line of
    /// their own.
    pub(super) fn store(self, words: &[AtomicU64]) {
        words[place::ACTIVITY_TIMEOUT].store(self.timeout_ns, Ordering::Relaxed);
        // SYNC POINT: a reader of this time finds everything that was published before it.
        words[place::ACTIVITY].store(self.at_ns, Ordering::Release);
    }

    /// Loads the last statement.
    pub(super) fn load(words: &[AtomicU64]) -> Activity {
        Activity {
            at_ns: words[place::ACTIVITY].load(Ordering::Acquire),
            timeout_ns: words[place::ACTIVITY_TIMEOUT].load(Ordering::Relaxed),
        }
    }
}
