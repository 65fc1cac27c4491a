//! Two clocks as one: the fine clock of marks, set by the system's.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_net::clock::{Clock, ticks};

/// The wall clock at any tick. The system is asked now and then, so that a reading costs no call.
#[derive(Clone, Copy, Debug)]
pub struct HostTime {
    clock: Clock,
    anchor_ticks: u64,
    anchor_ns: u64,
}

impl HostTime {
    /// Set by the system's clock now.
    pub fn new(clock: Clock) -> HostTime {
        let mut time = HostTime {
            clock,
            anchor_ticks: 0,
            anchor_ns: 0,
        };
        time.set(ticks());
        time
    }

    /// Sets it by the system's clock again; `now` is the present tick. The system's clock may have
    /// been set, and it runs as its keepers let it.
    pub fn set(&mut self, now: u64) {
        self.anchor_ticks = now;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        self.anchor_ns = since.map_or(0, |since| since.as_nanos() as u64);
    }

    /// Nanoseconds since the Unix epoch at a tick since the clock was set.
    #[inline]
    pub fn wall_ns(&self, tick: u64) -> u64 {
        self.anchor_ns + self.clock.between_ns(self.anchor_ticks, tick)
    }

    /// The fine clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// The time that passes while packets are polled, which is what waiting is measured by: a process that
/// was stopped for a while finds the packets of that while in its sockets, and what they are waited for
/// in has not come too late. A round counts for no more than a limit.
#[derive(Clone, Copy, Debug)]
pub struct PolledTime {
    last: u64,
    passed: u64,
    round_max: u64,
}

impl PolledTime {
    /// From now on; a round counts for at most `round_max`.
    pub fn new(clock: &Clock, round_max: Duration) -> PolledTime {
        PolledTime {
            last: ticks(),
            passed: 0,
            round_max: (round_max.as_nanos() as f64 / clock.ns_per_tick()) as u64,
        }
    }

    /// A round ends at this tick: nanoseconds since an hour before the beginning, so that there is
    /// time before everything.
    #[inline]
    pub fn pass(&mut self, clock: &Clock, now: u64) -> u64 {
        const HOUR_NS: u64 = 3_600_000_000_000;
        self.passed += now.saturating_sub(self.last).min(self.round_max);
        self.last = now;
        HOUR_NS + clock.between_ns(0, self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_between_two_rounds_counts_for_one_round() {
        let clock = Clock::calibrated();
        let mut time = PolledTime::new(&clock, Duration::from_millis(1));
        let start = time.last;
        let ticks_of = |us: f64| (us * 1_000.0 / clock.ns_per_tick()) as u64;
        let first = time.pass(&clock, start);
        let soon = time.pass(&clock, start + ticks_of(300.0));
        assert!(
            (299_000..301_000).contains(&(soon - first)),
            "{soon} {first}"
        );
        let late = time.pass(&clock, start + ticks_of(900_000.0));
        assert!(
            (990_000..1_010_000).contains(&(late - soon)),
            "{late} {soon}"
        );
        assert_eq!(time.pass(&clock, start), late, "and it never steps back");
    }

    #[test]
    fn it_shows_what_the_system_shows() {
        let mut time = HostTime::new(Clock::calibrated());
        for _ in 0..3 {
            let before = SystemTime::now();
            let shown = time.wall_ns(ticks());
            let after = SystemTime::now();
            let ns = |time: SystemTime| {
                time.duration_since(UNIX_EPOCH)
                    .map_or(0, |ns| ns.as_nanos())
            };
            // The calibration is good to some parts in a thousand; the readings are close together.
            let slack = 1_000_000;
            assert!(u128::from(shown) + slack >= ns(before), "{shown}");
            assert!(u128::from(shown) <= ns(after) + slack, "{shown}");
            time.set(ticks());
        }
    }
}
