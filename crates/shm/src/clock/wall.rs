//! Wall clock beside the boot clock: a change by an operator or a time service is detected as a step.

use super::boot_ns;
use std::time::{SystemTime, UNIX_EPOCH};

/// Difference from which a change of the wall clock is a step, nanoseconds. Slewing changes both clocks alike.
pub const STEP_NS: u64 = 100_000_000;
/// Longest time between the readings of both clocks, nanoseconds: the process may be stopped between them.
const READ_NS: u64 = 5_000_000;

/// Nanoseconds since 1970 by the wall clock (`CLOCK_REALTIME`), which may be set; 0 before 1970.
#[must_use]
pub fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Watches the offset of the wall clock from the boot clock.
#[derive(Debug, Clone, Copy)]
pub struct WallWatch {
    /// Wall clock less boot clock as of the last step or the start, nanoseconds.
    offset_ns: i64,
    /// Wall clock less boot clock as of the last look, nanoseconds: small changes are not steps, and stand only here.
    latest_ns: i64,
}

impl WallWatch {
    /// Begins with the present offset.
    #[must_use]
    pub fn start() -> WallWatch {
        loop {
            if let Some(offset_ns) = wall_offset_ns() {
                return WallWatch::of(offset_ns);
            }
        }
    }

    /// Begins with an offset, for a simulated host.
    #[must_use]
    pub const fn of(offset_ns: i64) -> WallWatch {
        WallWatch {
            offset_ns,
            latest_ns: offset_ns,
        }
    }

    /// Wall clock less boot clock, nanoseconds, as of the last step or the start.
    #[must_use]
    pub fn offset_ns(&self) -> i64 {
        self.offset_ns
    }

    /// The wall clock at a time of the boot clock, nanoseconds since 1970, as of the last look. A step is in it only once it was reported.
    #[must_use]
    pub fn wall_ns(&self, boot_ns: u64) -> u64 {
        boot_ns.saturating_add_signed(self.latest_ns)
    }

    /// Reads both clocks. The step since the last one, nanoseconds; positive: the wall clock was set forward.
    pub fn look(&mut self) -> Option<i64> {
        self.judge(wall_offset_ns()?)
    }

    /// [`WallWatch::look`] at an offset that was read.
    pub fn judge(&mut self, offset_ns: i64) -> Option<i64> {
        let step_ns = offset_ns - self.offset_ns;
        self.latest_ns = offset_ns;
        if step_ns.unsigned_abs() <= STEP_NS {
            return None;
        }
        self.offset_ns = offset_ns;
        Some(step_ns)
    }
}

/// Largest error of the wall clock that a time service of the host states, nanoseconds; `None`: none synchronizes it.
#[must_use]
pub fn wall_error_ns_max() -> Option<u64> {
    // SAFETY: zeros are a valid value of the struct, and ask for no change.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is that of the struct.
    let result = unsafe { libc::adjtimex(&raw mut state) };
    let is_synchronized =
        result >= 0 && result != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    is_synchronized.then(|| u64::try_from(state.maxerror).unwrap_or(0) * 1_000)
}

/// Wall clock less boot clock now, nanoseconds; `None`: the process was stopped between the readings, which are too far apart.
#[must_use]
pub fn wall_offset_ns() -> Option<i64> {
    let before_ns = boot_ns();
    let wall_ns = wall_ns();
    let after_ns = boot_ns();
    let is_close = after_ns - before_ns <= READ_NS;
    is_close.then(|| wall_ns as i64 - before_ns as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step is reported once, in either direction; small ones when their sum is a step.
    #[test]
    fn a_step_is_told_once_and_small_ones_by_their_sum() {
        let mut watch = WallWatch::of(1_000);
        let step = STEP_NS as i64 + 1;
        assert_eq!(watch.judge(1_000 + step), Some(step));
        assert_eq!(watch.judge(1_000 + step), None);
        assert_eq!(watch.judge(1_000), Some(-step));
        assert_eq!(watch.judge(1_000 + 60_000_000), None);
        assert_eq!(watch.judge(1_000 + 120_000_000), Some(120_000_000));
        assert_eq!(watch.offset_ns(), 120_001_000);
        assert_eq!(watch.judge(120_001_000 - 7), None);
        assert_eq!(
            watch.wall_ns(1),
            120_000_994,
            "smaller changes are followed"
        );
    }

    #[test]
    fn a_clock_that_is_not_set_has_no_step() {
        let mut watch = WallWatch::start();
        for _ in 0..1_000 {
            assert_eq!(watch.look(), None);
        }
    }
}
