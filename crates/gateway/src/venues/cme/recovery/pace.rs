//! Limits of requests: a daily budget, and an increasing backoff after failures.

use touchline_net::Backoff;

const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 86_400 * SECOND_NS;

/// Backoff after a first failure; doubled by each further one.
const BACKOFF_NS: u64 = SECOND_NS;

/// Maximum backoff.
const BACKOFF_NS_MAX: u64 = 60 * SECOND_NS;

/// Budget and backoff, which keep the load on the venue low. Times are of a monotonic clock.
#[derive(Debug)]
pub struct Pace {
    requests_per_day_max: u32,
    /// Requests since `day_ns`.
    requests: u32,
    day_ns: u64,
    backoff: Backoff,
}

impl Pace {
    /// No requests yet.
    pub fn new(requests_per_day_max: u32) -> Pace {
        Pace {
            requests_per_day_max,
            requests: 0,
            day_ns: 0,
            backoff: Backoff::new(BACKOFF_NS, BACKOFF_NS_MAX),
        }
    }

    /// Takes one request from the budget. `false`: it is used up.
    pub fn take(&mut self, now_ns: u64) -> bool {
        if now_ns.saturating_sub(self.day_ns) >= DAY_NS {
            (self.requests, self.day_ns) = (0, now_ns);
        }
        let is_left = self.requests < self.requests_per_day_max;
        self.requests += u32::from(is_left);
        is_left
    }

    /// Nanoseconds until the budget is renewed.
    pub fn until_next_day_ns(&self, now_ns: u64) -> u64 {
        (self.day_ns + DAY_NS).saturating_sub(now_ns)
    }

    /// Success: the next backoff is short again.
    pub fn succeeded(&mut self) {
        self.backoff.succeeded();
    }

    /// Failure: returns the backoff in nanoseconds, which the feed waits.
    pub fn failed(&mut self) -> u64 {
        self.backoff.failed(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_day_are_limited() {
        let mut pace = Pace::new(2);
        let start = 5 * DAY_NS;
        let taken: Vec<bool> = (0..4).map(|at| pace.take(start + at)).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert_eq!(pace.until_next_day_ns(start + 3), DAY_NS - 3);
        assert!(!pace.take(start + DAY_NS - 1));
        assert!(pace.take(start + DAY_NS));
        // A clock that is behind renews no request.
        assert!(pace.take(start) && !pace.take(start));
    }

    #[test]
    fn the_backoff_grows_until_a_success() {
        let mut pace = Pace::new(1);
        let rests: Vec<u64> = (0..8).map(|_| pace.failed() / SECOND_NS).collect();
        assert_eq!(rests, [1, 2, 4, 8, 16, 32, 60, 60]);
        pace.succeeded();
        assert_eq!(pace.failed(), BACKOFF_NS);
    }
}
