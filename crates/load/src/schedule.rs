//! Due times of messages: computed from their numbers, never accumulated.

use serde::{Deserialize, Serialize};

/// Shape of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Single messages at equal distances.
    Steady,
    /// Bursts of messages at equal distances: the quotes of many banks after one move of the market.
    Bursts,
}

/// Messages of a burst.
pub const BURST: u64 = 100;

/// The schedule of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Shape of the load.
    pub profile: Profile,
    /// Messages a second.
    pub rate: u64,
    /// Messages of the warm-up.
    pub warmup: u64,
    /// Measured messages.
    pub measured: u64,
}

impl Schedule {
    /// Schedule with this many seconds of warm-up and of measurement.
    pub fn new(profile: Profile, rate: u64, warmup_s: f64, measured_s: f64) -> Schedule {
        let messages = |seconds: f64| (rate as f64 * seconds).ceil() as u64;
        Schedule {
            profile,
            rate: rate.max(1),
            warmup: messages(warmup_s),
            measured: messages(measured_s).max(1),
        }
    }

    /// All messages of the step.
    pub fn total(&self) -> u64 {
        self.warmup + self.measured
    }

    /// Due time of a message, nanoseconds after the start.
    #[inline]
    pub fn due_ns(&self, number: u64) -> u64 {
        let number = match self.profile {
            Profile::Steady => number,
            Profile::Bursts => number / BURST * BURST,
        };
        (u128::from(number) * 1_000_000_000 / u128::from(self.rate)) as u64
    }

    /// Due time of the first measured message.
    pub fn measured_from_ns(&self) -> u64 {
        self.due_ns(self.warmup)
    }

    /// End of the schedule.
    pub fn end_ns(&self) -> u64 {
        self.due_ns(self.total())
    }
}

/// Iterates over a schedule without a division for each message.
#[derive(Clone, Debug)]
pub struct Walk {
    schedule: Schedule,
    begin_ns: u64,
    next: u64,
    next_due_ns: u64,
    /// Nanoseconds per message, as fixed point with 32 binary places.
    period: u128,
}

impl Walk {
    /// At the first message of a schedule that starts at this time.
    pub fn new(schedule: Schedule, begin_ns: u64) -> Walk {
        Walk {
            schedule,
            begin_ns,
            next: 0,
            next_due_ns: begin_ns,
            period: (1_000_000_000_u128 << 32) / u128::from(schedule.rate),
        }
    }

    /// Number and due time of the next message; `None` after the last.
    #[inline]
    pub fn next(&self) -> Option<(u64, u64)> {
        (self.next < self.schedule.total()).then_some((self.next, self.next_due_ns))
    }

    /// Advances to the next message.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
        let number = match self.schedule.profile {
            Profile::Steady => self.next,
            Profile::Bursts => self.next - self.next % BURST,
        };
        self.next_due_ns = self.begin_ns + ((u128::from(number) * self.period) >> 32) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_due_at_equal_distances_without_drift() {
        let schedule = Schedule::new(Profile::Steady, 3, 1.0, 2.0);
        assert_eq!((schedule.warmup, schedule.measured), (3, 6));
        assert_eq!(
            [0, 1, 2, 3].map(|i| schedule.due_ns(i)),
            [0, 333_333_333, 666_666_666, 1_000_000_000]
        );
        assert_eq!(schedule.end_ns(), 3_000_000_000);
    }

    #[test]
    fn a_burst_is_due_at_once() {
        let schedule = Schedule::new(Profile::Bursts, 10_000, 0.0, 1.0);
        assert_eq!(schedule.due_ns(99), 0);
        assert_eq!(schedule.due_ns(100), 10_000_000);
    }

    #[test]
    fn a_walk_agrees_with_the_schedule_for_hours() {
        for profile in [Profile::Steady, Profile::Bursts] {
            let schedule = Schedule::new(profile, 7_654_321, 0.0, 3_600.0);
            let mut walk = Walk::new(schedule, 5);
            for number in (0..1_000).chain(27_000_000_000..27_000_000_100) {
                walk.next = number;
                walk.advance();
                let (next, due_ns) = walk.next().expect("not the last");
                assert_eq!(next, number + 1);
                assert!(due_ns.abs_diff(5 + schedule.due_ns(next)) <= 10, "{next}");
            }
        }
        let mut walk = Walk::new(Schedule::new(Profile::Steady, 2, 0.0, 1.0), 0);
        walk.advance();
        walk.advance();
        assert_eq!(walk.next(), None);
    }
}
