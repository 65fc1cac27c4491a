//! Looking now and then, while nothing comes, whether anything will.

use std::time::{Duration, Instant};

/// Polls without a message before the clock is read.
const POLLS: u32 = 64;
/// Time between two looks; each is a few system calls.
const EVERY: Duration = Duration::from_millis(100);

/// When to look.
#[derive(Debug)]
pub struct Watch {
    polls: u32,
    looked: Instant,
    /// The publisher was found to be gone, and that was told.
    pub is_gone: bool,
    /// The files were found to be damaged, and that was told.
    pub is_damaged: bool,
}

impl Watch {
    /// Nothing was noticed yet.
    pub fn new() -> Watch {
        Watch {
            polls: 0,
            looked: Instant::now(),
            is_gone: false,
            is_damaged: false,
        }
    }

    /// Whether to look now, after a poll that found nothing.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.polls += 1;
        if self.polls < POLLS {
            return false;
        }
        self.polls = 0;
        let due = self.looked.elapsed() >= EVERY;
        if due {
            self.looked = Instant::now();
        }
        due
    }
}
