//! Sliding window of one second.

use std::collections::VecDeque;

/// One second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Times within (now - 1 s, now].
#[derive(Debug, Clone, Default)]
pub struct LastSecond(VecDeque<u64>);

impl LastSecond {
    /// Adds an event at the present time.
    pub fn add(&mut self, now_ns: u64) {
        self.forget(now_ns);
        self.0.push_back(now_ns);
    }

    /// Number of events in the window.
    pub fn count(&self, now_ns: u64) -> usize {
        self.0
            .iter()
            .rev()
            .take_while(|at_ns| now_ns - **at_ns < SECOND_NS)
            .count()
    }

    /// Time at which the oldest event leaves the window.
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        let ends = self.0.iter().map(|at_ns| at_ns + SECOND_NS);
        ends.into_iter()
            .find(|end_ns| *end_ns > now_ns)
            .unwrap_or(u64::MAX)
    }

    fn forget(&mut self, now_ns: u64) {
        while self
            .0
            .front()
            .is_some_and(|at_ns| now_ns - at_ns >= SECOND_NS)
        {
            self.0.pop_front();
        }
    }
}
