//! Absolute schedule of a thread.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// Time before a task is due at which a spinning schedule stops to sleep.
const SPIN: Duration = Duration::from_micros(100);

/// Absolute schedule: times are distances from its start, so that one delay does not shift later tasks.
#[derive(Debug)]
pub struct Schedule {
    start: Instant,
}

impl Schedule {
    /// Starts a schedule now, on the calling thread, and sets the thread's timer slack to 1 ns: by default the kernel adds 50 µs to a
    /// sleep.
    pub fn start() -> Schedule {
        // If this is refused, sleeps end later, and the delays of the tasks show it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Schedule {
            start: Instant::now(),
        }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// A turn of a wait: sleeps until a task is due, at most `longest`, and returns the time that was left before the sleep; `None` if the
    /// task is due. A spinning wait keeps the processor busy in the last 100 µs.
    pub fn turn(&self, due: Duration, longest: Duration, spins: bool) -> Option<Duration> {
        let left = due.checked_sub(self.elapsed());
        let left = left.filter(|left| !left.is_zero())?;
        let spin = if spins { SPIN } else { Duration::ZERO };
        match left.checked_sub(spin).filter(|left| !left.is_zero()) {
            Some(sleep) => std::thread::sleep(sleep.min(longest)),
            None => std::hint::spin_loop(),
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel is asked for sleeps that end in time.
    #[test]
    fn a_schedule_has_no_timer_slack() {
        let slack = || rustix::thread::current_timer_slack().expect("Linux");
        assert!(slack() > 1);
        let schedule = Schedule::start();
        assert_eq!(slack(), 1);
        let due = Duration::from_millis(300);
        let longest = Duration::from_millis(100);
        let mut turns = 0;
        while schedule.turn(due, longest, false).is_some() {
            turns += 1;
        }
        assert!(schedule.elapsed() >= due);
        // A turn ends after its longest sleep, so that its caller can look at other work.
        assert!(turns <= 4 && turns > 0, "{turns}");
    }
}
