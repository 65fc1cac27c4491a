//! Pauses between attempts to connect.

/// Pauses between attempts: the first one, doubled by each further failure up to the longest. Times are of one monotonic clock.
#[derive(Debug, Clone)]
pub struct Backoff {
    first_ns: u64,
    longest_ns: u64,
    /// Failures since the last success.
    failures: u32,
    /// When the pause is over.
    until_ns: u64,
}

impl Backoff {
    /// No failure yet: the first attempt is due.
    pub const fn new(first_ns: u64, longest_ns: u64) -> Backoff {
        Backoff {
            first_ns,
            longest_ns,
            failures: 0,
            until_ns: 0,
        }
    }

    /// Whether the pause is over.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.until_ns
    }

    /// Rest of the pause, nanoseconds.
    pub fn left_ns(&self, now_ns: u64) -> u64 {
        self.until_ns.saturating_sub(now_ns)
    }

    /// Failures since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// An attempt failed, or is being made: the pause until the next one begins, and is returned in nanoseconds.
    pub fn failed(&mut self, now_ns: u64) -> u64 {
        let pause_ns = self.pause_ns();
        self.pause(now_ns, pause_ns)
    }

    /// As [`Backoff::failed`], with a random half, so that the clients of a server that was away do not come back together.
    /// `chance` is any number.
    pub fn failed_with(&mut self, now_ns: u64, chance: u64) -> u64 {
        let half_ns = self.pause_ns() / 2;
        self.pause(now_ns, half_ns + chance % half_ns.max(1))
    }

    /// A success: the pause after the next failure is the first one.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Continues as behind this number of failures.
    pub fn set_failures(&mut self, failures: u32) {
        self.failures = failures;
    }

    /// The longest pause from now on.
    pub fn set_longest_ns(&mut self, longest_ns: u64) {
        self.longest_ns = longest_ns;
    }

    /// The longest pause.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    fn pause_ns(&self) -> u64 {
        let factor = 1_u64.checked_shl(self.failures).unwrap_or(u64::MAX);
        self.first_ns.saturating_mul(factor).min(self.longest_ns)
    }

    fn pause(&mut self, now_ns: u64, pause_ns: u64) -> u64 {
        self.failures = self.failures.saturating_add(1);
        self.until_ns = now_ns.saturating_add(pause_ns);
        pause_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_short_after_a_success() {
        let mut backoff = Backoff::new(3, 40);
        assert!(backoff.is_due(0), "the first attempt waits for nothing");
        let pauses: Vec<u64> = (0..6).map(|now_ns| backoff.failed(now_ns)).collect();
        assert_eq!(pauses, [3, 6, 12, 24, 40, 40]);
        assert_eq!(backoff.failures(), 6);
        // From the last failure on.
        assert!(!backoff.is_due(44) && backoff.is_due(45));
        assert_eq!((backoff.left_ns(41), backoff.left_ns(46)), (4, 0));
        // A success does not end a pause: a server that accepts and closes is not flooded.
        backoff.succeeded();
        assert!(!backoff.is_due(44));
        assert_eq!(backoff.failed(50), 3);
        backoff.set_longest_ns(5);
        assert_eq!(backoff.failed(50), 5);
        backoff.set_failures(u32::MAX);
        backoff.set_longest_ns(u64::MAX);
        assert_eq!(backoff.failed(u64::MAX), u64::MAX, "nothing overflows");
    }

    #[test]
    fn half_of_a_pause_is_random() {
        for chance in 0..1_000 {
            let mut backoff = Backoff::new(100, 1_000);
            let pauses = [0; 5].map(|now_ns| backoff.failed_with(now_ns, chance));
            for (pause_ns, whole_ns) in pauses.into_iter().zip([100, 200, 400, 800, 1_000]) {
                assert_eq!(pause_ns, whole_ns / 2 + chance % (whole_ns / 2));
            }
        }
        assert_eq!(Backoff::new(1, 1).failed_with(0, 7), 0);
    }
}
