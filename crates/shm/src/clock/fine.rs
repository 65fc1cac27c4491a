//! The host's fine clock: ticks of the time stamp counter, converted to nanoseconds by readers.
//!
//! A reading costs about 10 ns and makes no system call; without such a counter the operating system's monotonic clock
//! is used.

use std::time::{Duration, Instant};

/// A calibrated clock. Timestamps on the path are its ticks; only differences are meaningful.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    ns_per_tick: f64,
}

impl Clock {
    /// Duration of the calibration.
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

    /// Nanoseconds between two readings; 0 if they are in reverse order.
    #[inline]
    pub fn between_ns(&self, from: u64, to: u64) -> u64 {
        (to.saturating_sub(from) as f64 * self.ns_per_tick) as u64
    }
}

/// Both clocks at the same instant: of several readings the one with the shortest duration, because
/// a busy host may preempt the process between them.
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

/// Present value of the counter.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn ticks() -> u64 {
    // SAFETY: RDTSC reads a register of the processor; it touches no memory and every x86-64 has
    // it. Where the operating system forbids it to user programs the process is stopped by a
    // signal, which is not undefined behaviour; Linux forbids it only on request (prctl).
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Present value of the monotonic clock in nanoseconds.
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
        // A loaded host may preempt between the two readings, but never makes the counter run at
        // twice the rate.
        assert!(
            counted > wall / 2 && counted < wall * 2,
            "{counted} ns counted, {wall} ns passed"
        );
        assert_eq!(clock.between_ns(5, 3), 0);
    }
}
