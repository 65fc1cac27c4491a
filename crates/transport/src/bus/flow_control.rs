//! Flow control: bounded waiting for registered readers.

use super::Lossless;
use super::damage::Damage;
use std::time::{Duration, Instant};
use touchline_shm::segment::SlotLocks;

/// Interval of liveness checks of a reader that is waited for; each is a system call.
const LIVENESS_EVERY: Duration = Duration::from_millis(1);

/// Slow-reader policy: maximum wait for the slowest reader.
#[derive(Debug)]
pub struct SlowReaderPolicy {
    locks: SlotLocks,
    wait_max: Duration,
    waiting: Option<Waiting>,
}

/// Counts of waits for slow readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Number of waits of the writer.
    pub waits: u64,
    /// Registered readers that died.
    pub readers_dead: u64,
    /// Registered readers that were too slow for longer than the limit.
    pub readers_left_behind: u64,
    /// Slot of the last one that died, from 1; 0: none.
    pub dead_place: u64,
    /// Slot of the last one that was too slow, from 1; 0: none.
    pub left_behind_place: u64,
    /// Times that another process changed the length of the cursors, which were made again.
    pub cursors_renewed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    slot: usize,
    since: Instant,
    asked: Instant,
}

/// Decision about a reader that blocks the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Wait and try again.
    Wait,
    /// The reader is dead.
    Dead,
    /// The reader lives, and the maximum wait is over.
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

    /// Decides about the reader in `slot`, which blocks the writer.
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

    /// Checks that readers still find the file with their slots.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_name(self.locks.lost_name())
    }

    /// Ends a wait.
    pub fn relax(&mut self) {
        self.waiting = None;
    }
}
