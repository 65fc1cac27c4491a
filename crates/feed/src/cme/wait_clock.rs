//! Monotonic clock for timeouts.

use crate::ReceiveTime;

/// Monotonic clock from times that may step back: those of a capture whose clock was set.
#[derive(Debug, Default)]
pub struct WaitClock {
    last_ns: u64,
    passed_ns: u64,
}

impl WaitClock {
    /// Current monotonic time. A step back adds nothing.
    #[inline]
    pub fn pass(&mut self, time: ReceiveTime) -> ReceiveTime {
        let passed_ns = time.mono_ns.saturating_sub(self.last_ns);
        self.passed_ns = self.passed_ns.saturating_add(passed_ns);
        self.last_ns = time.mono_ns;
        ReceiveTime {
            mono_ns: self.passed_ns,
            ..time
        }
    }

    /// Converts monotonic time `at_ns` to the clock of the input.
    #[inline]
    pub fn given_by(&self, at_ns: u64) -> u64 {
        let left_ns = at_ns.saturating_sub(self.passed_ns);
        self.last_ns.saturating_add(left_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_continues_from_there() {
        let mut clock = WaitClock::default();
        let mut pass = |now_ns| clock.pass(ReceiveTime::at(now_ns)).mono_ns;
        assert_eq!(
            [pass(1_000), pass(1_010), pass(400), pass(420)],
            [1_000, 1_010, 1_010, 1_030]
        );
        assert_eq!(clock.given_by(1_100), 490, "70 from then on");
        assert_eq!(clock.given_by(1_000), 420, "it is over");
    }
}
