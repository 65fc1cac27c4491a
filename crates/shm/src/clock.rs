//! Clocks that are the same in every process of a host: the boot clock, which is never set and runs while the host
//! sleeps, and the fine clock for short differences.

mod fine;
mod wall;

pub use fine::{Clock, ticks};
use rustix::time::{ClockId, clock_gettime};
pub use wall::{STEP_NS, WallWatch, wall_ns, wall_offset_ns};

/// Nanoseconds since the host was booted (`CLOCK_BOOTTIME`). Comparable between processes of one host that share a time
/// namespace.
#[must_use]
pub fn boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    // Neither is negative: the clock starts at 0.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_with_real_time() {
        let (start, before) = (std::time::Instant::now(), boot_ns());
        std::thread::sleep(std::time::Duration::from_millis(5));
        let passed = boot_ns() - before;
        assert!(passed >= 5_000_000, "{passed} ns");
        assert!(
            passed <= start.elapsed().as_nanos() as u64 + 1_000_000,
            "{passed} ns"
        );
    }
}
