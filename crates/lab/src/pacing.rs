//! Pacing: sleeping to a time of an absolute schedule, and a histogram of the delays.

use hdrhistogram::Histogram;
use std::thread;
use std::time::Duration;
use touchline_transport::clock::{Schedule, wall_ns};
use touchline_types::ReceiveTime;

/// Clock of a schedule, and a histogram of the delays of due tasks.
#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    /// Wall clock at the start, nanoseconds.
    started_ns: u64,
    late_ns: Histogram<u64>,
}

/// Sleeps of a loop that polls its sockets: short behind work, then longer, so that an idle simulator costs
/// little.
#[derive(Debug)]
pub struct IdleSleep {
    next: Duration,
}

/// Sleep behind work, and the longest one: the delay of a client's next message.
const SLEEP_MIN: Duration = Duration::from_micros(200);
const SLEEP_MAX: Duration = Duration::from_millis(2);
/// Longest sleep without connections: the delay of the first connection, of commands and signals.
const SLEEP_MAX_UNCONNECTED: Duration = Duration::from_millis(10);

/// Longest sleep: the interval at which a waiting loop checks signals and commands.
const TURN: Duration = Duration::from_millis(5);
/// Largest recorded delay; longer ones are recorded as this.
const LATE_NS_MAX: u64 = 3_600_000_000_000;

impl Pacer {
    /// Starts a schedule now, on the calling thread.
    pub fn start() -> Self {
        Self {
            schedule: Schedule::start(),
            started_ns: wall_ns(),
            late_ns: Histogram::new_with_bounds(1, LATE_NS_MAX, 3).expect("bounds of a histogram"),
        }
    }

    /// The present time.
    pub fn time(&self) -> ReceiveTime {
        ReceiveTime {
            wall_ns: self.wall_ns(),
            mono_ns: self.elapsed_ns(),
        }
    }

    /// Whether a run of this many seconds is over; one without an end never is.
    pub fn is_over(&self, seconds: Option<u64>) -> bool {
        seconds.is_some_and(|seconds| self.schedule.elapsed() >= Duration::from_secs(seconds))
    }

    /// Time since the start, nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        self.schedule.elapsed().as_nanos() as u64
    }

    /// Time since 1970, nanoseconds. A simulated venue is another host: its clock does not step when that of this host is set.
    pub fn wall_ns(&self) -> u64 {
        self.started_ns + self.elapsed_ns()
    }

    /// Sleeps until the due time, at most one turn.
    pub fn sleep_until(&self, due_ns: u64) {
        self.schedule
            .turn(Duration::from_nanos(due_ns), TURN, false);
    }

    /// Records the delay of a task.
    pub fn note(&mut self, due_ns: u64, now_ns: u64) {
        self.late_ns
            .saturating_record(now_ns.saturating_sub(due_ns));
    }

    /// Delays, nanoseconds.
    pub fn late_ns(&self) -> &Histogram<u64> {
        &self.late_ns
    }
}
impl Default for IdleSleep {
    fn default() -> Self {
        Self { next: SLEEP_MIN }
    }
}

impl IdleSleep {
    /// Behind a turn of the loop: returns at once if it was busy, else sleeps, but not beyond a due time.
    pub fn turn(&mut self, is_busy: bool, due_in_ns: u64) {
        self.sleep(is_busy, Duration::from_nanos(due_in_ns), SLEEP_MAX);
    }

    /// Behind a turn of a loop that has no connection: returns at once if it was busy, else sleeps up to 10 ms. Due times
    /// do not end the sleep, because no client waits for them.
    pub fn turn_unconnected(&mut self, is_busy: bool) {
        self.sleep(is_busy, Duration::MAX, SLEEP_MAX_UNCONNECTED);
    }

    fn sleep(&mut self, is_busy: bool, due_in: Duration, longest: Duration) {
        if is_busy {
            self.next = SLEEP_MIN;
            return;
        }
        thread::sleep(self.next.min(longest).min(due_in));
        self.next = (self.next + self.next / 16).min(longest);
    }
}
