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
    /// Messages for which the writer waited.
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
    /// After the end of the wait.
    tried_again: bool,
}

impl Waiting {
    fn begun(slot: usize, now: Instant) -> Waiting {
        Waiting {
            slot,
            since: now,
            asked: now - LIVENESS_EVERY,
            tried_again: false,
        }
    }
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

    /// Decides about the reader in `slot`, which blocks the writer. `lives` says whether its process lives if the writer holds the slot
    /// for it.
    pub fn judge(&mut self, slot: usize, lives: impl FnOnce() -> Option<bool>) -> Verdict {
        let now = Instant::now();
        let waiting = self.waiting.get_or_insert(Waiting::begun(slot, now));
        if waiting.slot != slot {
            // All readers that block a message have done so since its wait began: two that take turns end no wait.
            // mutant: places: readers that take turns are waited for without end
            *waiting = Waiting {
                since: waiting.since,
                tried_again: waiting.tried_again,
                ..Waiting::begun(slot, now)
            };
        }
        if now.duration_since(waiting.asked) >= LIVENESS_EVERY {
            waiting.asked = now;
            let is_held = |slot| self.locks.is_held(slot).unwrap_or(true);
            let alive = lives().unwrap_or_else(|| u32::try_from(slot).is_ok_and(is_held));
            if !alive {
                return Verdict::Dead;
            }
        }
        // The publisher may have been stopped longer than the wait, behind its last look at the slot: it looks once more.
        // mutant: bus: a reader that moved while the publisher was stopped is too slow
        let is_over = now.duration_since(waiting.since) >= self.wait_max;
        match is_over && std::mem::replace(&mut waiting.tried_again, true) {
            true => Verdict::TooSlow,
            false => Verdict::Wait,
        }
    }

    /// Whether the wait for one message is over also for a reader in `slot` that moves; begins it otherwise. After its end one more
    /// try finds those that moved far enough just now.
    pub fn is_over(&mut self, slot: usize) -> bool {
        let now = Instant::now();
        let Some(waiting) = &mut self.waiting else {
            self.waiting = Some(Waiting::begun(slot, now));
            return false;
        };
        let is_over = now.duration_since(waiting.since) >= self.wait_max;
        is_over && std::mem::replace(&mut waiting.tried_again, true)
    }

    /// Checks that readers still find the file with their slots.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_name(self.locks.lost_name())
    }

    /// Whether a message waits for a reader.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Ends a wait.
    pub fn relax(&mut self) {
        self.waiting = None;
    }
}
