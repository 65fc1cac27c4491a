//! Waiting for named readers: bounded, and never for the dead.

use super::Lossless;
use super::damage::Damage;
use std::time::{Duration, Instant};
use touchline_shm::segment::SlotLocks;

/// How often a reader that is waited for is asked whether it lives; each time is a system call.
const LIVENESS_EVERY: Duration = Duration::from_millis(1);

/// Slow-reader policy: how long the writer waits for the slowest reader.
#[derive(Debug)]
pub struct SlowReaderPolicy {
    locks: SlotLocks,
    wait_max: Duration,
    waiting: Option<Waiting>,
}

/// What waiting for slow readers came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Times that the writer waited.
    pub waits: u64,
    /// Registered readers that died and are not waited for any more.
    pub readers_dead: u64,
    /// Registered readers that were too slow for too long.
    pub readers_left_behind: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    slot: usize,
    since: Instant,
    asked: Instant,
}

/// What to do about a reader that has not read what would be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try again.
    Wait,
    /// It is dead.
    Dead,
    /// It lives, and was waited for long enough.
    TooSlow,
}

impl SlowReaderPolicy {
    pub fn new(locks: SlotLocks, settings: Lossless) -> SlowReaderPolicy {
        SlowReaderPolicy {
            locks,
            wait_max: settings.wait_max,
            waiting: None,
        }
    }

    /// Judges the reader in `slot`, which keeps the writer waiting at this moment.
    pub fn judge(&mut self, slot: usize) -> Verdict {
        let now = Instant::now();
        let begun = Waiting {
            slot,
            since: now,
            asked: now - LIVENESS_EVERY,
        };
        let waiting = self.waiting.get_or_insert(begun);
        if waiting.slot != slot {
            *waiting = begun;
        }
        if now.duration_since(waiting.asked) >= LIVENESS_EVERY {
            waiting.asked = now;
            let alive =
                u32::try_from(slot).is_ok_and(|slot| self.locks.is_held(slot).unwrap_or(true));
            if !alive {
                return Verdict::Dead;
            }
        }
        if now.duration_since(waiting.since) >= self.wait_max {
            return Verdict::TooSlow;
        }
        Verdict::Wait
    }

    /// Whether the file in which readers take their places is still found by them.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_name(self.locks.lost_name())
    }

    /// The writer does not wait any more.
    pub fn relax(&mut self) {
        self.waiting = None;
    }
}
