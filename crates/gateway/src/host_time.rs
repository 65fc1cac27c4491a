//! Two clocks as one: the fine clock of marks, set by the system's.

use std::time::{SystemTime, UNIX_EPOCH};
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

#[cfg(test)]
mod tests {
    use super::*;

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
