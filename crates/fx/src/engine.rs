//! Engine of the core: inputs and times in, events out. One state, one thread, no clock.
//!
//! ```text
//! handle(at, input):  all timers up to `at`, instant by instant ─► the input ─► the step
//! instant:            mark-outs ─► orders' answers and questions ─► parents' deadlines ─► the step
//! step:               composites (pricing) ─► router (trading) ─► published composites (pricing)
//! ```
//!
//! Timers run before an input of the same time. Additional wake-ups change nothing.

use crate::input::Input;
use crate::pricing::Pricing;
use touchline_fx_events::desk::{Desk, DeskTrade, ParentRequest};
use touchline_fx_events::event::{Batch, OrderLine};
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::{EndReason, ParentTerms};

use crate::risk::Refused;
use crate::setup::Setup;
use crate::trading::{RestoreError, Step, Trading};
use std::sync::Arc;
use touchline_fx_events::scorecard::Score;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::stages::Stage;
use touchline_types::Id;

/// State of the core: pricing, and trading on its prices.
#[derive(Debug, Clone)]
pub struct Engine {
    pricing: Pricing,
    trading: Trading,
}

impl Engine {
    /// Initial state.
    pub fn new(setup: Setup) -> Engine {
        let setup = Arc::new(setup);
        Engine {
            pricing: Pricing::new(Arc::clone(&setup)),
            trading: Trading::new(setup),
        }
    }

    /// Reserves memory for this many further orders, so that they need none on the path.
    pub fn reserve(&mut self, orders: usize) {
        self.pricing.reserve();
        self.trading.reserve(orders);
    }

    /// The configuration.
    pub fn setup(&self) -> &Setup {
        self.trading.setup()
    }

    /// Quotes and composites.
    pub fn pricing(&self) -> &Pricing {
        &self.pricing
    }

    /// Parents, orders, positions.
    pub fn trading(&self) -> &Trading {
        &self.trading
    }

    /// Time of the last instant or input.
    pub fn now_ns(&self) -> Option<u64> {
        self.pricing.now_ns()
    }

    /// Score of a bank and a pair so far.
    pub fn score(&mut self, bank: Bank, pair: Pair) -> Score {
        self.trading.score(bank, pair, &mut self.pricing)
    }

    /// Runs all timers up to the input's time, then handles the input. Times must not decrease.
    pub fn handle(&mut self, at_ns: u64, input: &Input<'_>, out: &mut Batch) {
        self.advance_to(at_ns, out);
        match input {
            Input::Pricing(bank, session) => self.pricing.input(*bank, session),
            Input::Orders(bank, session) => {
                let step = &mut Step::new(&mut self.pricing, out);
                self.trading.order_session(*bank, session, step);
            }
            Input::Desk(Desk::Day(day)) => {
                self.pricing.begin_day(day);
                let step = &mut Step::new(&mut self.pricing, out);
                self.trading.begin_day(day, step);
            }
            Input::Desk(command) => {
                let step = &mut Step::new(&mut self.pricing, out);
                self.trading.desk(command, step);
            }
        }
        self.close(out);
    }

    /// [`Engine::handle`] of a requested parent. Returns its number in [`Trading::parents`].
    ///
    /// # Errors
    /// The parent is refused; the event of the refusal is in `out`.
    pub fn accept(
        &mut self,
        at_ns: u64,
        request: &ParentRequest,
        out: &mut Batch,
    ) -> Result<usize, Refused> {
        self.advance_to(at_ns, out);
        let step = &mut Step::new(&mut self.pricing, out);
        let accepted = self.trading.accept(request, step);
        self.close(out);
        accepted
    }

    /// Earliest time of a timer; [`NEVER`](crate::quotes::NEVER) if no timer is set. A wake-up without a due timer is
    /// harmless.
    pub fn next_timeout_ns(&self) -> u64 {
        let trading_ns = self.trading.next_timeout_ns();
        trading_ns.min(self.pricing.next_timeout_ns())
    }

    /// Runs all timers up to a time, instant by instant.
    pub fn handle_timeout(&mut self, at_ns: u64, out: &mut Batch) {
        let now_ns = self.now_ns().unwrap_or(at_ns);
        assert!(now_ns <= at_ns, "the time of an input never falls");
        while self.next_timeout_ns() <= at_ns {
            self.sleep();
            let due_ns = self.next_timeout_ns();
            if due_ns > at_ns {
                break;
            }
            let now_ns = due_ns.max(self.pricing.now());
            self.instant(now_ns, out);
            assert!(
                self.next_timeout_ns() > now_ns,
                "a timer that stays due would run for ever"
            );
        }
    }

    /// Ends the session: positions and scorecard.
    pub fn finish(&mut self, out: &mut Batch) {
        let step = &mut Step::new(&mut self.pricing, out);
        self.trading.finish(step);
    }

    /// Prepares the memory of the next orders: for the time between two inputs.
    pub fn warm(&mut self) {
        self.trading.warm();
    }

    /// Holds the router, or releases it: while held, no order is made. Cancels and questions are not held.
    pub fn hold(&mut self, is_held: bool) {
        self.trading.hold(is_held);
    }

    /// Makes no order of a pair any more: its spot date has passed. Its parents wait.
    pub fn stop(&mut self, pair: Pair) {
        self.trading.stop(pair);
    }

    /// Gives each pair the spot date of a configuration without calendars, in place of the days of earlier runs.
    pub fn forget_days(&mut self, setup: &Setup) {
        self.trading.forget_days(setup);
        self.pricing.forget_days(setup);
    }

    /// Makes further identifiers with another prefix: each run has its own.
    pub fn set_prefix(&mut self, prefix: Id) {
        self.trading.set_prefix(prefix);
    }

    /// Restores a state from records from now on: no rule of the configuration ends an order or a parent or sets the kill switch, the records
    /// say which ended, and when it was set.
    /// Or has restored it.
    pub fn set_restoring(&mut self, is_restoring: bool) {
        self.trading.set_restoring(is_restoring);
    }

    /// A run begins: its banks drop open orders with a lost connection, or keep them, as configured now. The orders of the run before are
    /// lost first, by the rules of that run.
    pub fn begin_drops(&mut self) {
        self.trading.begin_drops();
    }

    /// A run is restored, in which this bank dropped open orders with a lost connection, or did not.
    pub fn set_drops(&mut self, bank: Bank, drops: bool) {
        self.trading.set_drops(bank, drops);
    }

    /// Ends an order that an earlier run ended by a rule of its bank, as the event of its end says.
    ///
    /// # Errors
    /// The order cannot have ended at this time.
    pub fn restore_order_end(
        &mut self,
        at_ns: u64,
        end: &OrderLine,
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        let (trading, step) = &mut self.restore(at_ns, out)?;
        trading.restore_order_end(end, step);
        Ok(())
    }

    /// Accepts a parent that an earlier run accepted.
    ///
    /// # Errors
    /// The parent cannot have been accepted at this time.
    pub fn restore_parent(
        &mut self,
        at_ns: u64,
        number: u32,
        terms: &ParentTerms,
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        let (trading, step) = &mut self.restore(at_ns, out)?;
        trading.restore_parent(number, terms, step)
    }

    /// Adds an order that an earlier run made, in its first state.
    ///
    /// # Errors
    /// The order cannot have been made in this state.
    pub fn restore_order(
        &mut self,
        number: u32,
        terms: &Terms,
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        let (trading, step) = &mut self.restore(terms.sent_ns, out)?;
        trading.restore_order(number, terms, step)
    }

    /// Ends a parent that an earlier run ended, if it still works here: for lack of prices, a parent that could not be
    /// sent at once; for lack of timers after the last record, a parent whose deadline passed then.
    pub fn restore_end(&mut self, parent: &Id, reason: EndReason, out: &mut Batch) {
        let step = &mut Step::new(&mut self.pricing, out);
        self.trading.restore_end(parent, reason, step);
    }

    /// Handles a proposal or a confirmation of a booking that an earlier run accepted, also if the person may not book
    /// now.
    ///
    /// # Errors
    /// The command cannot have been accepted at this time.
    pub fn restore_booking(
        &mut self,
        at_ns: u64,
        by: &Id,
        trade: &DeskTrade,
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        let (trading, step) = &mut self.restore(at_ns, out)?;
        trading.restore_booking(by, trade, step);
        Ok(())
    }

    /// Restores a request to lift the kill switch, as the event of an earlier run says: by whom, and whether the switch stayed set.
    ///
    /// # Errors
    /// The request cannot have been handled at this time.
    pub fn restore_lift(
        &mut self,
        at_ns: u64,
        (by, is_killed): (Option<Id>, bool),
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        let (trading, _) = &mut self.restore(at_ns, out)?;
        trading.restore_lift(by, is_killed);
        Ok(())
    }

    /// Runs all timers up to the time of a record.
    fn restore<'a>(
        &'a mut self,
        at_ns: u64,
        out: &'a mut Batch,
    ) -> Result<(&'a mut Trading, Step<'a>), RestoreError> {
        if self.now_ns().is_some_and(|now_ns| at_ns < now_ns) {
            return Err(RestoreError::Time);
        }
        self.advance_to(at_ns, out);
        self.trading.look_at_all();
        Ok((&mut self.trading, Step::new(&mut self.pricing, out)))
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Batch) {
        self.handle_timeout(at_ns, out);
        self.pricing.set_now(at_ns);
    }

    fn close(&mut self, out: &mut Batch) {
        out.stages.lap(Stage::Quotes);
        self.step(out);
        self.trading.check_wake(self.pricing.now());
    }

    /// Runs the timers of one time.
    fn instant(&mut self, now_ns: u64, out: &mut Batch) {
        self.pricing.set_now(now_ns);
        let step = &mut Step::new(&mut self.pricing, out);
        self.trading.run_timers(step);
        self.pricing.mark_due();
        self.step(out);
        self.pricing.publish_conflated(out);
        self.sleep();
    }

    /// Updates composites, runs the router, publishes composites.
    fn step(&mut self, out: &mut Batch) {
        self.pricing.refresh(out);
        out.stages.lap(Stage::Composite);
        self.trading.route(&mut Step::new(&mut self.pricing, out));
        self.pricing.publish_changes(out);
        out.stages.lap(Stage::Orders);
    }

    /// Computes the times of the next wake-ups.
    fn sleep(&mut self) {
        self.pricing.sleep();
        self.trading.sleep(self.pricing.now());
    }
}
