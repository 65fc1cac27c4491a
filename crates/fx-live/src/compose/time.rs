//! Time of inputs: nanoseconds since 1970 by the wall clock at the start, continued by the boot clock. It never goes
//! back and has no steps, so that ages, timeouts and deadlines measure real durations.

use touchline_transport::boot_ns;
use touchline_transport::clock::{Clock, WallWatch, ticks};

/// Time of inputs, of a boot clock that the caller reads.
#[derive(Debug, Clone, Copy)]
pub struct InputTime {
    /// Time of inputs less the boot clock, nanoseconds.
    offset_ns: i64,
    watch: WallWatch,
}

impl InputTime {
    /// Begins with the wall clock, and not before `not_before_ns`, which a run before may have reached by a clock that was ahead.
    pub fn start(watch: WallWatch, boot_ns: u64, not_before_ns: u64) -> InputTime {
        let behind_ns = not_before_ns as i64 - (boot_ns as i64 + watch.offset_ns());
        InputTime {
            offset_ns: watch.offset_ns() + behind_ns.max(0),
            watch,
        }
    }

    /// Nanoseconds since 1970 at a time of the boot clock.
    pub fn at_ns(&self, boot_ns: u64) -> u64 {
        // mutant: simulation: ages run on the wall clock
        boot_ns.wrapping_add_signed(self.offset_ns)
    }

    /// The step if the wall clock was set since the last look, nanoseconds; `offset_ns` is its present offset from the boot clock.
    pub fn judge(&mut self, offset_ns: i64) -> Option<i64> {
        self.watch.judge(offset_ns)
    }

    /// The wall clock less this time, nanoseconds, as of the last look.
    pub fn wall_ahead_ns(&self) -> i64 {
        self.watch.offset_ns() - self.offset_ns
    }
}

/// Clock of a process that composes or trades, at the cost of reading the tick counter.
#[derive(Debug)]
pub struct HostClock {
    clock: Clock,
    time: InputTime,
    set_ticks: u64,
    set_ns: u64,
    last_ns: u64,
}

impl HostClock {
    /// Begins with the wall clock, and not before `not_before_ns`, which a run before may have reached by a clock that was ahead.
    pub fn start(clock: Clock, not_before_ns: u64) -> HostClock {
        let mut host = HostClock {
            clock,
            time: InputTime::start(WallWatch::start(), boot_ns(), not_before_ns),
            set_ticks: 0,
            set_ns: 0,
            last_ns: not_before_ns,
        };
        host.set();
        host
    }

    /// Takes the boot clock again: the rate of the tick counter is known to some parts in a million.
    pub fn set(&mut self) {
        self.set_ticks = ticks();
        self.set_ns = self.time.at_ns(boot_ns());
    }

    /// Nanoseconds since 1970, not before the last result.
    pub fn now_ns(&mut self) -> u64 {
        let passed_ns = self.clock.between_ns(self.set_ticks, ticks());
        self.last_ns = self.last_ns.max(self.set_ns + passed_ns);
        self.last_ns
    }

    /// Whether the wall clock was set since the last look: by how much, nanoseconds.
    pub fn wall_step(&mut self) -> Option<i64> {
        self.time.watch.look()
    }

    /// The wall clock, nanoseconds since 1970, at its last check: for times that leave the process.
    pub fn wall_ns(&mut self) -> u64 {
        let ahead_ns = self.wall_ahead_ns();
        self.now_ns().saturating_add_signed(ahead_ns)
    }

    /// The wall clock less this one, nanoseconds, as of the last look.
    pub fn wall_ahead_ns(&self) -> i64 {
        self.time.wall_ahead_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_transport::clock::wall_ns;

    /// The clock begins at the wall clock, or at the time that an earlier run had reached.
    #[test]
    fn the_clock_begins_with_the_wall_clock_and_not_before_the_last_run() {
        let fine = Clock::calibrated();
        // The rates of both clocks differ by parts in a million.
        let slack_ns = 1_000_000;
        let mut clock = HostClock::start(fine, 0);
        let (before_ns, now_ns, after_ns) = (wall_ns(), clock.now_ns(), wall_ns());
        let around = before_ns - slack_ns..=after_ns + slack_ns;
        assert!(around.contains(&now_ns), "{now_ns} {around:?}");
        assert_eq!(clock.wall_ahead_ns(), 0);
        let hour_ns = 3_600_000_000_000;
        let began_ns = now_ns + hour_ns;
        let mut ahead = HostClock::start(fine, began_ns);
        let (later_ns, passed_ns) = (ahead.now_ns(), wall_ns() - before_ns);
        let until_ns = began_ns + passed_ns + slack_ns;
        assert!((began_ns..=until_ns).contains(&later_ns), "{later_ns}");
        assert!(ahead.now_ns() >= later_ns);
        let ahead_ns = ahead.wall_ahead_ns().unsigned_abs();
        assert!(
            (hour_ns - passed_ns - slack_ns..=hour_ns + slack_ns).contains(&ahead_ns),
            "{ahead_ns}"
        );
    }
}
