//! Waits for a limited time.

use super::step::Step;
use super::{Bus, Next, STEPS_MAX};
use std::time::{Duration, Instant};

impl Bus {
    /// The next event; waits for it up to `time`. On a tape only its end is waited at: what it has is read first, however long that takes.
    pub fn next_within(&mut self, time: Duration) -> Next {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(next) = self.try_next_within(left) {
                return next;
            }
        }
    }

    /// One part of [`next_within`](Bus::next_within), for a program that waits in its own way, such as one that looks at signals
    /// meanwhile. `None`: the time has passed, and the tape has more to read: the program should call it again.
    pub fn try_next_within(&mut self, time: Duration) -> Option<Next> {
        let until = Instant::now() + time;
        let mut steps = 0_u32;
        loop {
            if self.stopper.is_stopped() {
                return Some(Next::Stopped);
            }
            match self.step() {
                Step::Event(event) => {
                    self.idler.idle(1);
                    return Some(Next::Event(event));
                }
                Step::Progress => {
                    self.idler.idle(1);
                    steps = steps.wrapping_add(1);
                    // A message that makes no event does not extend the wait. Of a tape it says that the end is not reached.
                    if steps.is_multiple_of(STEPS_MAX) && Instant::now() >= until {
                        // mutant: client: a wait on a tape ends before the tape
                        return (!self.source.is_tape()).then_some(Next::TimedOut);
                    }
                }
                Step::Nothing if Instant::now() >= until => return Some(Next::TimedOut),
                Step::Nothing => self.idler.idle(0),
            }
        }
    }
}
