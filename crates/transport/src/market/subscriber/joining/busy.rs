//! Maximum time that joining retries slots with a change in progress. The reader does not wait meanwhile: this is time between
//! polls.

use std::time::{Duration, Instant};

/// Maximum time at such slots together. A publisher preempted during a change mostly continues within this time.
pub const MAX: Duration = Duration::from_millis(10);

/// Time spent at slots with a change in progress.
#[derive(Debug, Default)]
pub struct Busy {
    /// First and last attempt at the present slot.
    attempts: Option<(Instant, Instant)>,
    /// Time at earlier slots.
    spent: Duration,
}

impl Busy {
    /// Records a failed attempt; returns whether the time is over.
    pub fn is_over(&mut self, now: Instant) -> bool {
        let (first, last) = self.attempts.get_or_insert((now, now));
        *last = now;
        self.spent + now.duration_since(*first) >= MAX
    }

    /// Joining continues with the next slot.
    pub fn end(&mut self) {
        if let Some((first, last)) = self.attempts.take() {
            self.spent += last.duration_since(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_slots_share_one_time_limit() {
        let (mut busy, start) = (Busy::default(), Instant::now());
        let at = |tenths: u32| start + MAX * tenths / 10;
        assert!(!busy.is_over(at(0)) && !busy.is_over(at(6)));
        busy.end();
        busy.end();
        // The time between the two does not count.
        assert!(!busy.is_over(at(1_000)) && !busy.is_over(at(1_003)) && busy.is_over(at(1_004)));
        busy.end();
        assert!(busy.is_over(at(2_000)), "nothing is left for any other");
        let mut late = Busy::default();
        assert!(!late.is_over(at(0)), "there are two attempts");
        assert!(late.is_over(at(70_000)), "and the second may be the last");
    }
}
