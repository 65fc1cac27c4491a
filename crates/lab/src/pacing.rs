//! Doing things when they are due: sleeping to a moment of an absolute schedule, and how late it became.

use hdrhistogram::Histogram;
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The clock of a schedule, and a histogram of how late what was due was done.
#[derive(Debug)]
pub struct Pacer {
    start: Instant,
    late_ns: Histogram<u64>,
}

/// The longest sleep: so often a waiting loop looks at signals and commands.
const TURN: Duration = Duration::from_millis(5);
/// Longer than this is counted as this.
const LATE_NS_MAX: u64 = 3_600_000_000_000;

impl Pacer {
    /// A schedule that starts now, of the calling thread, whose sleeps end on time from now on: without that the kernel
    /// adds 50 µs.
    pub fn start() -> Self {
        // Where it is refused, sleeps end a little later, and the histogram says so.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Self {
            start: Instant::now(),
            late_ns: Histogram::new_with_bounds(1, LATE_NS_MAX, 3).expect("bounds of a histogram"),
        }
    }

    /// Since the start, nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Since 1970, nanoseconds.
    pub fn wall_ns(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_nanos() as u64)
    }

    /// Sleeps until a moment, or until it is time to look at other things again.
    pub fn sleep_until(&self, due_ns: u64) {
        let rest = Duration::from_nanos(due_ns.saturating_sub(self.elapsed_ns()));
        if !rest.is_zero() {
            thread::sleep(rest.min(TURN));
        }
    }

    /// Notes that what was due then is done now.
    pub fn note(&mut self, due_ns: u64, now_ns: u64) {
        self.late_ns
            .saturating_record(now_ns.saturating_sub(due_ns));
    }

    /// How late things were, nanoseconds.
    pub fn late_ns(&self) -> &Histogram<u64> {
        &self.late_ns
    }
}
