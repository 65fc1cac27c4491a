//! Looking now and then, while nothing comes, whether anything will.

use std::time::{Duration, Instant};

/// Polls without a message before the clock is read.
const POLLS: u32 = 64;
/// Time between two looks; each is a few system calls.
const EVERY: Duration = Duration::from_millis(100);

/// When to look, and what was seen.
#[derive(Debug)]
pub struct Watch {
    polls: u32,
    looked: Option<Instant>,
    /// Nobody publishes, as of the last look.
    pub is_gone: bool,
    /// The publisher gives no sign of life, and that was told: no book is handed out as live.
    pub is_stalled: bool,
    /// That has begun, or ended, and is to be told as soon as everything that was published is read.
    pub turn_seen: bool,
    /// It was seen and is to be told as soon as everything that was published is read.
    pub gone_seen: bool,
    /// That was told since the last message.
    pub gone_notified: bool,
    /// That the files are damaged was told.
    pub damage_notified: bool,
}

impl Watch {
    /// The first poll that finds nothing looks at once.
    pub fn new(is_gone: bool, is_stalled: bool) -> Watch {
        Watch {
            polls: POLLS,
            looked: None,
            is_gone,
            is_stalled: is_stalled && !is_gone,
            turn_seen: false,
            gone_seen: false,
            gone_notified: false,
            damage_notified: false,
        }
    }

    /// Somebody publishes.
    pub fn is_back(&mut self) {
        self.is_gone = false;
        self.gone_seen = false;
        self.gone_notified = false;
        self.is_stalled = false;
        self.turn_seen = false;
    }

    /// The next poll that finds nothing looks.
    pub fn look_again(&mut self) {
        self.polls = POLLS;
        self.looked = None;
    }

    /// Whether something was seen that is to be told once everything is read.
    pub fn is_any_seen(&self) -> bool {
        self.gone_seen || self.turn_seen
    }

    /// Whether to look now, after a poll that found nothing.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.polls += 1;
        if self.polls < POLLS {
            return false;
        }
        self.polls = 0;
        let due = self.looked.is_none_or(|looked| looked.elapsed() >= EVERY);
        if due {
            self.looked = Some(Instant::now());
        }
        due
    }
}
