//! Sliding window of one second.

use std::collections::VecDeque;

/// One second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Times within (now - 1 s, now].
#[derive(Debug, Clone, Default)]
pub struct LastSecond(VecDeque<u64>);

impl LastSecond {
    /// Reserves memory for this many events.
    pub fn reserve(&mut self, events: usize) {
        self.0.reserve(events);
    }

    /// Adds an event at the present time.
    pub fn add(&mut self, now_ns: u64) {
        self.forget(now_ns);
        self.0.push_back(now_ns);
    }

    /// Number of events in the window.
    pub fn count(&self, now_ns: u64) -> usize {
        self.0.len() - self.ended(now_ns)
    }

    /// Time at which the oldest event leaves the window.
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        let oldest = self.0.get(self.ended(now_ns));
        oldest.map_or(u64::MAX, |at_ns| at_ns + SECOND_NS)
    }

    fn forget(&mut self, now_ns: u64) {
        self.0.drain(..self.ended(now_ns));
    }

    /// Number of events before the window. Times ascend.
    fn ended(&self, now_ns: u64) -> usize {
        self.0.partition_point(|at_ns| now_ns - at_ns >= SECOND_NS)
    }
}
