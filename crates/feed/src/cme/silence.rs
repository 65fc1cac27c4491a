//! Time that passes: silence on the incremental feed, and the clock that waiting is measured by.

use crate::When;

/// Whether the incremental feed is heard. A venue that has nothing to say sends heartbeats, so
/// silence means that neither line reaches us, and what books show grows old.
#[derive(Debug, Default)]
pub struct Silence {
    /// When the last packet was polled, by the clock that is never set; 0 before the first.
    pub heard_ns: u64,
    /// It is silent.
    pub is_on: bool,
}

/// A clock that never steps back, out of times that may: those of a capture whose clock was set.
#[derive(Debug, Default)]
pub struct WaitClock {
    last_ns: u64,
    passed_ns: u64,
}

impl WaitClock {
    /// The time of waiting at this moment. A step back counts for nothing.
    #[inline]
    pub fn pass(&mut self, when: When) -> When {
        let passed_ns = when.now_ns.saturating_sub(self.last_ns);
        self.passed_ns = self.passed_ns.saturating_add(passed_ns);
        self.last_ns = when.now_ns;
        When {
            now_ns: self.passed_ns,
            ..when
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on_from_there() {
        let mut clock = WaitClock::default();
        let mut pass = |now_ns| clock.pass(When::at(now_ns)).now_ns;
        assert_eq!(
            [pass(1_000), pass(1_010), pass(400), pass(420)],
            [1_000, 1_010, 1_010, 1_030]
        );
    }
}
