//! Timers.

use super::Engine;
use crate::event::Batch;
use crate::parents::EndReason;
use crate::quotes::NEVER;
use crate::setup::Bank;

impl Engine {
    /// Runs all timers up to a time, instant by instant.
    pub fn handle_timeout(&mut self, at_ns: u64, out: &mut Batch) {
        let now_ns = self.now_ns().unwrap_or(at_ns);
        assert!(now_ns <= at_ns, "time-never-falls");
        while self.next_timeout_ns() <= at_ns {
            self.sleep();
            let due_ns = self.next_timeout_ns();
            if due_ns > at_ns {
                break;
            }
            let now_ns = due_ns.max(self.now());
            if self.wake_ns <= now_ns {
                self.routing.look_at_all();
            }
            self.instant(now_ns, out);
            assert!(
                self.next_timeout_ns() > now_ns,
                "what-is-due-is-done: a timer that stays due would run for ever"
            );
        }
    }

    /// Runs the timers of one time.
    fn instant(&mut self, now_ns: u64, out: &mut Batch) {
        self.pricing.set_now(now_ns);
        self.scorecard
            .take_markouts(self.pricing.composites(), now_ns);
        self.order_timers(out);
        self.inquiry_timers(out);
        self.deadlines(out);
        self.pricing.mark_due();
        self.step(out);
        self.pricing.publish_conflated(out);
        self.sleep();
    }

    /// Computes the times of the next wake-ups.
    fn sleep(&mut self) {
        self.pricing.sleep();
        self.wake_ns = self.earliest_ns();
    }

    fn deadlines(&mut self, out: &mut Batch) {
        let now_ns = self.now();
        let is_over = |at: &usize| {
            let parent = self.parents.get(*at);
            parent.is_working()
                && parent
                    .deadline_ns
                    .is_some_and(|deadline_ns| now_ns >= deadline_ns)
        };
        let over: Vec<usize> = self
            .parents
            .live()
            .iter()
            .copied()
            .filter(is_over)
            .collect();
        for at in over {
            self.end_parent(at, EndReason::Deadline, out);
        }
    }

    /// Earliest time of a timer of trading; in the past if overdue.
    pub(super) fn earliest_ns(&self) -> u64 {
        let now_ns = self.now();
        let parents = self.parents.live().iter().map(|at| {
            let parent = self.parents.get(*at);
            let retry_ns = Some(parent.retry_ns).filter(|retry_ns| *retry_ns > now_ns);
            match parent.is_working() {
                true => parent
                    .deadline_ns
                    .unwrap_or(NEVER)
                    .min(retry_ns.unwrap_or(NEVER)),
                false => NEVER,
            }
        });
        let rates = (0..self.order_sessions.len()).map(|bank| self.rate_due_ns(bank));
        let others = [
            self.orders.due_ns(),
            self.cooldowns.due_ns(now_ns),
            self.scorecard.due_ns(),
            self.inquiry_due_ns(),
        ];
        let all = parents.chain(rates).chain(others);
        all.min().unwrap_or(NEVER)
    }

    /// Time at which a bank at its rate limit may have an order again.
    pub(super) fn rate_due_ns(&self, bank: Bank) -> u64 {
        let (rate, now_ns) = (&self.order_sessions[bank].rate, self.now());
        let is_at_limit = rate.count(now_ns) >= self.setup.banks[bank].config.max_orders_per_s;
        match is_at_limit {
            true => rate.due_ns(now_ns),
            false => NEVER,
        }
    }
}
