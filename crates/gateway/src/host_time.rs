//! Clocks combined: the fine clock, set by the boot clock, and the wall clock's offset from that.

use std::time::Duration;
use touchline_feed::ReceiveTime;
use touchline_transport::boot_ns;
use touchline_transport::clock::{Clock, WallWatch, ticks};

/// Both times of a moment.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Monotonic time, nanoseconds: for timeouts outside the path.
    pub steady_ns: u64,
    /// Receive time of data polled now.
    pub time: ReceiveTime,
}

/// Clocks of a gateway.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    time: HostTime,
    polled: PolledTime,
    /// Ticks at the start of monotonic time.
    started: u64,
}

impl Clocks {
    /// Starts the clocks. `idle_max` is the maximum duration of an idle round.
    pub fn new(clock: Clock, idle_max: Duration) -> Clocks {
        Clocks {
            time: HostTime::new(clock),
            polled: PolledTime::new(&clock, idle_max),
            started: ticks(),
        }
    }

    /// The fine clock.
    pub fn clock(&self) -> &Clock {
        self.time.clock()
    }

    /// Ends a round at this tick.
    #[inline]
    pub fn pass(&mut self, now: u64, is_busy: bool) {
        self.polled.pass(now, is_busy);
    }

    /// Sets the wall clock from the system's clock; `now` is the present tick. The step since the last call, nanoseconds: times
    /// before the call have none of it.
    pub fn set(&mut self, now: u64) -> Option<i64> {
        self.time.set(now)
    }

    /// As if the wall clock had been set by this much since the last call of [`Clocks::set`].
    #[cfg(test)]
    pub fn step(&mut self, step_ns: i64) {
        let offset_ns = self.time.watch.offset_ns() - step_ns;
        self.time.watch = WallWatch::of(offset_ns);
        self.time.anchor(ticks());
    }

    /// Nanoseconds since the Unix epoch at a tick after the clock was set.
    #[inline]
    pub fn wall_ns(&self, tick: u64) -> u64 {
        self.time.wall_ns(tick)
    }

    /// Receive time of data with this timestamp that is polled now.
    #[inline]
    pub fn receive_time(&self, receive_ns: u64) -> ReceiveTime {
        ReceiveTime {
            wall_ns: receive_ns,
            mono_ns: self.polled.ns(self.time.clock()),
        }
    }

    /// Receive time of data received at this tick.
    #[inline]
    pub fn now(&self, tick: u64) -> Now {
        Now {
            steady_ns: self.time.clock().between_ns(self.started, tick),
            time: self.receive_time(self.wall_ns(tick)),
        }
    }
}

/// Wall clock at any tick. The system's clock is read periodically, so that a reading makes no
/// call.
#[derive(Clone, Copy, Debug)]
pub struct HostTime {
    clock: Clock,
    watch: WallWatch,
    anchor_ticks: u64,
    anchor_ns: u64,
}

impl HostTime {
    /// Sets the clock from the system's.
    pub fn new(clock: Clock) -> HostTime {
        let mut time = HostTime {
            clock,
            watch: WallWatch::start(),
            anchor_ticks: 0,
            anchor_ns: 0,
        };
        time.anchor(ticks());
        time
    }

    /// Sets the clock from the system's again; `now` is the present tick. The step if the system's clock was set.
    pub fn set(&mut self, now: u64) -> Option<i64> {
        let step_ns = self.watch.look();
        self.anchor(now);
        step_ns
    }

    /// Both from the same reading: a step is never in a time before it is reported.
    fn anchor(&mut self, now: u64) {
        self.anchor_ticks = now;
        self.anchor_ns = self.watch.wall_ns(boot_ns());
    }

    /// Nanoseconds since the Unix epoch at a tick after the clock was set.
    #[inline]
    pub fn wall_ns(&self, tick: u64) -> u64 {
        self.anchor_ns + self.clock.between_ns(self.anchor_ticks, tick)
    }

    /// The fine clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Time during which sockets were found empty, the basis of gap and feed timeouts.
///
/// The packet that a gap waits for may already be in a socket: behind other packets, or because the process was
/// stopped. So a round with a packet counts for at most the time of a packet, and an idle round for at most its maximum
/// duration. The rest of a longer idle round counts once the next round finds the sockets empty as well, because then
/// no packet was waiting. Otherwise the time of a gateway that a busy host delays in each round would run slow, and
/// feed timeouts would be detected late.
#[derive(Clone, Copy, Debug)]
pub struct PolledTime {
    last: u64,
    passed: u64,
    /// Part of a long idle round that is not counted yet.
    unsure: u64,
    busy_max: u64,
    idle_max: u64,
}

impl PolledTime {
    /// Starts; an idle round counts for at most `idle_max` at once.
    pub fn new(clock: &Clock, idle_max: Duration) -> PolledTime {
        PolledTime {
            last: ticks(),
            passed: 0,
            unsure: 0,
            busy_max: clock.ticks_of(BUSY_MAX),
            idle_max: clock.ticks_of(idle_max),
        }
    }

    /// Ends a round at this tick.
    #[inline]
    pub fn pass(&mut self, now: u64, is_busy: bool) {
        let round = now.saturating_sub(self.last);
        self.last = now;
        if is_busy {
            // mutant: gateway: a pause counts as silence although packets waited
            self.unsure = 0;
            self.passed += round.min(self.busy_max);
        } else {
            // mutant: gateway: a pause counts as silence before the sockets are polled again
            let sure = round.min(self.idle_max);
            self.passed += sure + std::mem::replace(&mut self.unsure, round - sure);
        }
    }

    /// Nanoseconds since an hour before the start, so that there are earlier times.
    #[inline]
    pub fn ns(&self, clock: &Clock) -> u64 {
        const HOUR_NS: u64 = 3_600_000_000_000;
        HOUR_NS + clock.between_ns(0, self.passed)
    }
}

/// Upper bound for a packet. In 20 ms there are 4,000 such rounds, the capacity of the reorder
/// buffer.
const BUSY_MAX: Duration = Duration::from_micros(5);

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn a_pause_counts_for_one_round_and_a_packet_for_a_packet() {
        let clock = Clock::calibrated();
        let mut time = PolledTime::new(&clock, Duration::from_millis(1));
        let start = time.last;
        let ticks_of = |us: f64| (us * 1_000.0 / clock.ns_per_tick()) as u64;
        let passed_us = |time: &mut PolledTime, us: f64, is_busy| {
            let before = time.ns(&clock);
            let now = time.last + ticks_of(us);
            time.pass(now, is_busy);
            (time.ns(&clock) - before + 500) / 1_000
        };
        assert_eq!(passed_us(&mut time, 300.0, false), 300);
        assert_eq!(
            passed_us(&mut time, 900_000.0, false),
            1_000,
            "it was stopped"
        );
        assert_eq!(passed_us(&mut time, 2.0, true), 2, "a packet had waited");
        assert_eq!(passed_us(&mut time, 900.0, true), 5);
        assert_eq!(passed_us(&mut time, 900.0, false), 900, "that is over");
        let before = time.ns(&clock);
        time.pass(start, false);
        assert_eq!(time.ns(&clock), before, "and it never steps back");
    }

    /// With empty sockets a gateway that is delayed in each round detects timeouts as soon as any other.
    #[test]
    fn long_rounds_are_counted_completely_if_the_next_one_is_idle() {
        let clock = Clock::calibrated();
        let mut time = PolledTime::new(&clock, Duration::from_millis(1));
        let round = (4_000_000.0 / clock.ns_per_tick()) as u64;
        let before = time.ns(&clock);
        for _ in 0..500 {
            time.pass(time.last + round, false);
        }
        let passed_ms = (time.ns(&clock) - before) / 1_000_000;
        // Of the last round 1 of 4 ms is counted.
        assert_eq!(passed_ms, 1_996);
    }

    #[test]
    fn wall_time_equals_the_system_clock() {
        let mut time = HostTime::new(Clock::calibrated());
        for _ in 0..3 {
            let before = SystemTime::now();
            let shown = time.wall_ns(ticks());
            let after = SystemTime::now();
            let ns = |time: SystemTime| {
                time.duration_since(UNIX_EPOCH)
                    .map_or(0, |ns| ns.as_nanos())
            };
            // The calibration is exact to a few parts in a thousand; the readings are close
            // together.
            let slack = 1_000_000;
            assert!(u128::from(shown) + slack >= ns(before), "{shown}");
            assert!(u128::from(shown) <= ns(after) + slack, "{shown}");
            assert_eq!(time.set(ticks()), None);
        }
    }
}
