//! Clock of a connection.

use touchline_types::ReceiveTime;

/// Wall clock of a connection: the host's clock while it agrees with the monotonic one. When the host's clock is set,
/// this clock continues unchanged, because the counterparty's clock was not set.
///
/// Invariant: the monotonic time never decreases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// Both clocks at one moment.
    anchor: ReceiveTime,
    now: ReceiveTime,
    is_off: bool,
}

/// Largest step of the host's clock that is followed.
const STEP_NS: u64 = 10_000_000_000;

impl Clock {
    /// Starts a connection with the host's clock.
    pub fn begin(&mut self, time: ReceiveTime) {
        *self = Clock {
            anchor: time,
            now: time,
            is_off: false,
        };
    }

    /// Advances the time. `true`: the host's clock was set since the last call.
    pub fn tick(&mut self, time: ReceiveTime) -> bool {
        let now_ns = time.mono_ns.max(self.now.mono_ns);
        assert!(now_ns >= self.anchor.mono_ns, "steady-time-never-goes-back");
        let passed = now_ns - self.anchor.mono_ns;
        let steady = self.anchor.wall_ns.saturating_add(passed);
        let is_off = time.wall_ns.abs_diff(steady) > STEP_NS;
        // mutant: fix session: steps of the host's clock are followed
        let wall = if is_off { steady } else { time.wall_ns };
        let was_set = is_off && !self.is_off;
        self.is_off = is_off;
        self.now = ReceiveTime {
            wall_ns: wall,
            mono_ns: now_ns,
        };
        self.anchor = self.now;
        was_set
    }

    /// Nanoseconds since the Unix epoch.
    pub fn wall_ns(&self) -> u64 {
        self.now.wall_ns
    }

    /// Monotonic clock, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now.mono_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn time(wall_s: u64, mono_s: u64) -> ReceiveTime {
        ReceiveTime {
            wall_ns: wall_s * S,
            mono_ns: mono_s * S,
        }
    }

    #[test]
    fn the_clock_follows_small_steps_and_ignores_large_ones() {
        let mut clock = Clock::default();
        clock.begin(time(1_000, 5));
        assert!(!clock.tick(time(1_009, 6)));
        assert_eq!((clock.wall_ns(), clock.now_ns()), (1_009 * S, 6 * S));
        assert!(clock.tick(time(5_000, 7)), "it was set");
        assert!(!clock.tick(time(5_001, 8)), "that is known already");
        assert_eq!(clock.wall_ns(), 1_011 * S);
        assert!(!clock.tick(time(1_013, 9)), "it is right again");
        assert_eq!(clock.wall_ns(), 1_013 * S);
    }

    #[test]
    fn the_monotonic_time_never_decreases() {
        let mut clock = Clock::default();
        clock.begin(time(1_000, 5));
        clock.tick(time(1_001, 6));
        clock.tick(time(1_001, 4));
        assert_eq!(clock.now_ns(), 6 * S);
    }
}
