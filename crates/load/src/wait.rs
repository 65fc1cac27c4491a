//! Idle strategies.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Idle strategy of a process; the same for all subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Polls again at once.
    Spin,
    /// Sleeps for 20 µs.
    Sleep,
    /// Yields: for processes that share a processor.
    Yield,
}

impl Wait {
    /// Waits once.
    #[inline]
    pub fn idle(self) {
        match self {
            Wait::Spin => std::hint::spin_loop(),
            Wait::Sleep => std::thread::sleep(Duration::from_micros(20)),
            Wait::Yield => std::thread::yield_now(),
        }
    }
}
