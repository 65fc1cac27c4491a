//! Clocks that are the same in every process of a host: the boot clock, which is never set and runs while the host
//! sleeps, and the fine clock for short differences.

mod fine;
mod schedule;
mod wall;

pub use fine::{Clock, ticks};
use rustix::time::{ClockId, clock_gettime};
pub use schedule::Schedule;
use std::sync::OnceLock;
pub use wall::{STEP_NS, WallWatch, wall_error_ns_max, wall_ns, wall_offset_ns};

/// Nanoseconds since the host was booted (`CLOCK_BOOTTIME`). Comparable between all processes of one host: the offset of
/// a time namespace is subtracted.
#[must_use]
pub fn boot_ns() -> u64 {
    static ADDED_NS: OnceLock<i64> = OnceLock::new();
    let added_ns = *ADDED_NS.get_or_init(|| {
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets");
        // Without the file there is no time namespace.
        offsets.map_or(0, |offsets| added_ns(&offsets))
    });
    let now = clock_gettime(ClockId::Boottime);
    // Neither is negative: the clock starts at 0.
    let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    now_ns.wrapping_sub_signed(added_ns)
}

/// Offset that a time namespace adds to the boot clock, from lines such as `boottime  3600  0` (seconds, nanoseconds).
fn added_ns(offsets: &str) -> i64 {
    let of_boot = offsets
        .lines()
        .find_map(|line| line.strip_prefix("boottime"));
    let mut numbers = of_boot.unwrap_or_default().split_whitespace();
    let mut next = || numbers.next().and_then(|number| number.parse::<i64>().ok());
    match (next(), next()) {
        (Some(seconds), Some(rest)) => seconds * 1_000_000_000 + rest,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_a_time_namespace_is_read() {
        let lines = |boot: &str| format!("monotonic           7         8\nboottime   {boot}\n");
        assert_eq!(added_ns(&lines("3600        5")), 3_600_000_000_005);
        assert_eq!(added_ns(&lines("-2 500000000")), -1_500_000_000);
        for none in [
            "",
            "boottime",
            "boottime 1",
            "boottime x 1",
            "monotonic 1 1",
        ] {
            assert_eq!(added_ns(none), 0, "{none:?}");
        }
    }

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
