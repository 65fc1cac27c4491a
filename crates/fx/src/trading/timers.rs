//! Timers.

use super::{Step, Trading};
use crate::quotes::NEVER;
use touchline_fx_events::parents::EndReason;

impl Trading {
    /// Runs the timers of one time.
    pub(crate) fn run_timers(&mut self, step: &mut Step<'_>) {
        if self.wake_ns <= step.now_ns {
            self.look_at_all();
        }
        self.conduct
            .take_markouts(step.pricing.composites(), step.now_ns);
        self.order_timers(step);
        self.inquiry_timers(step);
        self.deadlines(step);
    }

    /// Earliest time of a timer; [`NEVER`](crate::quotes::NEVER) if no timer is set.
    pub(crate) fn next_timeout_ns(&self) -> u64 {
        self.wake_ns
    }

    /// Computes the time of the next wake-up.
    pub(crate) fn sleep(&mut self, now_ns: u64) {
        self.wake_ns = self.earliest_ns(now_ns);
    }

    /// Lowers the time of the next wake-up.
    pub(super) fn wake_at(&mut self, due_ns: u64) {
        self.wake_ns = self.wake_ns.min(due_ns);
    }

    /// Checks that no timer is missed.
    pub(crate) fn check_wake(&self, now_ns: u64) {
        debug_assert!(
            self.wake_ns <= self.earliest_ns(now_ns),
            "no timer is due before the next wake-up"
        );
    }

    fn deadlines(&mut self, step: &mut Step<'_>) {
        let live = self.parents.live().iter().copied();
        let is_over = |at: &usize| self.parents.get(*at).is_over(step.now_ns);
        let over: Vec<usize> = live.filter(is_over).collect();
        for at in over {
            self.end_parent(at, EndReason::Deadline, step);
        }
    }

    /// Earliest time of a timer; in the past if overdue.
    fn earliest_ns(&self, now_ns: u64) -> u64 {
        let due_ns = [
            self.parents.due_ns(now_ns),
            self.orders.due_ns(),
            self.sessions.due_ns(&self.setup, now_ns),
            self.conduct.due_ns(now_ns),
        ];
        due_ns.into_iter().fold(NEVER, u64::min)
    }
}
