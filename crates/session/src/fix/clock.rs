//! Clock of a connection.

use touchline_types::ReceiveTime;

/// Wall clock of a connection: the host's, without its steps since the connection began, because the counterparty's clock was not
/// set. The next connection begins with the host's.
///
/// Invariant: the monotonic time never decreases (test `the_monotonic_time_never_decreases`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    now: ReceiveTime,
    /// Steps of the host's clock since the connection began, nanoseconds.
    stepped_ns: i64,
}

impl Clock {
    /// Starts a connection with the host's clock.
    pub fn begin(&mut self, time: ReceiveTime) {
        *self = Clock {
            now: time,
            stepped_ns: 0,
        };
    }

    /// Advances the time.
    #[inline]
    pub fn tick(&mut self, time: ReceiveTime) {
        self.now = ReceiveTime {
            wall_ns: time.wall_ns.saturating_add_signed(-self.stepped_ns),
            mono_ns: time.mono_ns.max(self.now.mono_ns),
        };
    }

    /// The host's clock was set by this much.
    pub fn wall_stepped(&mut self, step_ns: i64) {
        self.stepped_ns = self.stepped_ns.saturating_add(step_ns);
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

    /// Also where the monotonic clock stood still while the process was stopped.
    #[test]
    fn the_clock_has_the_steps_of_the_host_from_the_next_connection_on() {
        let mut clock = Clock::default();
        clock.begin(time(1_000, 5));
        clock.tick(time(1_100, 6));
        assert_eq!((clock.wall_ns(), clock.now_ns()), (1_100 * S, 6 * S));
        clock.wall_stepped(3_600 * S as i64);
        clock.tick(time(4_701, 7));
        assert_eq!(clock.wall_ns(), 1_101 * S);
        clock.wall_stepped(-3_700 * S as i64);
        clock.tick(time(1_002, 8));
        assert_eq!(clock.wall_ns(), 1_102 * S);
        clock.begin(time(1_003, 9));
        clock.tick(time(1_004, 10));
        assert_eq!(clock.wall_ns(), 1_004 * S);
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
