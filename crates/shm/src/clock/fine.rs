//! The host's fine clock: time stamp counter ticks, turned into nanoseconds at the edge.
//!
//! Reading it costs about 10 ns and makes no system call; without such a counter the operating system's monotonic
//! clock takes its place.

use std::time::{Duration, Instant};

/// A calibrated clock. Marks on the path are ticks of it; only differences mean anything.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    ns_per_tick: f64,
}

impl Clock {
    /// How long the calibration takes.
    const CALIBRATION: Duration = Duration::from_millis(20);

    /// Measures the counter against the monotonic clock; takes 20 ms.
    pub fn calibrated() -> Clock {
        let (start, first) = both();
        while start.elapsed() < Self::CALIBRATION {
            std::hint::spin_loop();
        }
        let (end, last) = both();
        let counted = last.saturating_sub(first).max(1);
        Clock {
            ns_per_tick: (end - start).as_nanos() as f64 / counted as f64,
        }
    }

    /// Length of a tick in nanoseconds.
    pub const fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }

    /// Ticks of a duration.
    pub fn ticks_of(&self, duration: Duration) -> u64 {
        (duration.as_nanos() as f64 / self.ns_per_tick) as u64
    }

    /// Nanoseconds between two marks; 0 if they are the wrong way round.
    #[inline]
    pub fn between_ns(&self, from: u64, to: u64) -> u64 {
        (to.saturating_sub(from) as f64 * self.ns_per_tick) as u64
    }
}

/// The two clocks at one instant, as nearly as can be had: of several readings the one in which the
/// least time passed, since a busy host may stop us in the middle of one.
fn both() -> (Instant, u64) {
    const READINGS: usize = 32;
    let reading = |_| {
        let before = ticks();
        let now = Instant::now();
        let passed = ticks().saturating_sub(before);
        (passed, now, before + passed / 2)
    };
    let best = (0..READINGS)
        .map(reading)
        .min_by_key(|(passed, ..)| *passed);
    let (_, now, ticks) = best.expect("there are some");
    (now, ticks)
}

/// The counter now.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn ticks() -> u64 {
    // SAFETY: RDTSC reads a register of the processor; it touches no memory and every x86-64 has
    // it. Where the operating system forbids it to user programs the process is stopped by a
    // signal, which is not undefined behaviour; Linux forbids it only on request (prctl).
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter now: the monotonic clock in nanoseconds.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn ticks() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_run_forward_with_the_monotonic_clock() {
        let clock = Clock::calibrated();
        let (start, first) = (Instant::now(), ticks());
        std::thread::sleep(Duration::from_millis(30));
        let (wall, counted) = (
            start.elapsed().as_nanos() as u64,
            clock.between_ns(first, ticks()),
        );
        // A loaded host may stop us between the two readings, never run the counter twice as fast.
        assert!(
            counted > wall / 2 && counted < wall * 2,
            "{counted} ns counted, {wall} ns passed"
        );
        assert_eq!(clock.between_ns(5, 3), 0);
    }
}
