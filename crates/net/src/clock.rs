//! The host's fine clock: time stamp counter ticks, turned into nanoseconds at the edge.
//!
//! Reading it costs about 10 ns and makes no system call; where there is no such counter the
//! operating system's monotonic clock takes its place.

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
        let (start, first) = (Instant::now(), ticks());
        while start.elapsed() < Self::CALIBRATION {
            std::hint::spin_loop();
        }
        let (elapsed, last) = (start.elapsed(), ticks());
        let counted = last.saturating_sub(first).max(1);
        Clock {
            ns_per_tick: elapsed.as_nanos() as f64 / counted as f64,
        }
    }

    /// Length of a tick in nanoseconds.
    pub const fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }

    /// Nanoseconds between two marks; 0 if they are the wrong way round.
    #[inline]
    pub fn between_ns(&self, from: u64, to: u64) -> u64 {
        (to.saturating_sub(from) as f64 * self.ns_per_tick) as u64
    }
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
