//! Conduct of the banks: the treatment of our orders by each bank, and its effects: cool-downs, penalties, scorecard.

use super::Step;
use super::cooldown::{Cooldowns, Measure, pairs_of};
use super::penalty::{Outcome, Penalties};
use crate::composite::Composites;
use crate::orders::{Booking, Order};
use crate::quotes::NEVER;
use crate::scorecard::Scorecard;
use crate::setup::{Setup, Slot, ns};
use touchline_fx_events::event::Event;
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::scorecard::Score;
use touchline_fx_events::setup::{Bank, Pair};

/// Conduct of all banks, by slot. Orders that were adopted are not scored: when they were sent is not known.
///
/// Invariant: of a slot no more orders have ended than were sent.
#[derive(Debug, Clone)]
pub struct Conduct {
    cooldowns: Cooldowns,
    penalties: Penalties,
    scorecard: Scorecard,
}

impl Conduct {
    /// Makes the state before the first order.
    pub fn new(setup: &Setup) -> Conduct {
        Conduct {
            cooldowns: Cooldowns::new(setup),
            penalties: Penalties::new(setup),
            scorecard: Scorecard::new(setup),
        }
    }

    /// Reserves memory for this many further orders.
    pub fn reserve(&mut self, orders: usize) {
        self.scorecard.reserve(orders);
    }

    /// Whether a slot may receive orders.
    pub fn may_deal(&self, slot: Slot, now_ns: u64) -> bool {
        self.cooldowns.may_deal(slot, now_ns)
    }

    /// Whether a slot is disabled until the desk enables it.
    pub fn is_disabled(&self, slot: Slot) -> bool {
        self.cooldowns.is_disabled(slot)
    }

    /// Penalty in tenths of a tick, without the weight of an urgency.
    pub fn penalty(&self, setup: &Setup, slot: Slot) -> i64 {
        self.penalties.of(setup, slot)
    }

    /// Orders of a slot so far, scored, with its penalty.
    pub fn score(&self, setup: &Setup, slot: Slot) -> Score {
        let mut score = self.scorecard.of(slot);
        score.penalty = self.penalties.of(setup, slot);
        score
    }

    /// Orders of a slot so far, scored; without hold times.
    pub fn score_so_far(&self, slot: Slot) -> &Score {
        self.scorecard.so_far(slot)
    }

    /// Earliest end of a cool-down, or time of a mark-out.
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        self.cooldowns.due_ns(now_ns).min(self.scorecard.due_ns())
    }

    /// Records the due mark-outs.
    pub fn take_markouts(&mut self, composites: &Composites, now_ns: u64) {
        self.scorecard.take_markouts(composites, now_ns);
    }

    /// The desk enables a slot.
    pub fn enable(&mut self, slot: Slot) {
        self.cooldowns.enable(slot);
    }

    /// An order was sent.
    pub fn note_sent(&mut self, slot: Slot, quantity: i64) {
        self.scorecard.note_sent(slot, quantity);
    }

    /// An order became unknown.
    pub fn note_unknown(&mut self, setup: &Setup, order: &Order) {
        if !order.is_adopted() {
            let slot = setup.slot(order.terms.bank, order.terms.pair);
            self.scorecard.note_unknown(slot);
        }
    }

    /// An order was filled, with this improvement. Returns the time of the next mark-out.
    pub fn note_fill(
        &mut self,
        setup: &Setup,
        order: &Order,
        booking: &Booking,
        improve: i64,
        now_ns: u64,
    ) -> u64 {
        if !order.is_adopted() {
            let slot = setup.slot(order.terms.bank, order.terms.pair);
            let fill = (booking.quantity, booking.price);
            self.scorecard
                .note_fill(setup, slot, order, fill, improve, now_ns);
        }
        self.scorecard.due_ns()
    }

    /// An order has ended, with the mid at its end. A fill ends a row of failures.
    pub fn note_end(
        &mut self,
        setup: &Setup,
        order: &Order,
        code: Option<RejectCode>,
        mid2: Option<i64>,
        now_ns: u64,
    ) {
        let slot = setup.slot(order.terms.bank, order.terms.pair);
        if !order.is_adopted() {
            self.scorecard
                .note_end(setup, slot, order, code, mid2, now_ns);
            assert!(
                self.scorecard.ended(slot) <= self.scorecard.so_far(slot).orders,
                "an order of a slot has ended that was not sent"
            );
        }
        if order.cum() > 0 {
            self.cooldowns.succeed(slot);
        }
    }

    /// Counts the outcome of an order in the penalty.
    pub fn count_outcome(&mut self, setup: &Setup, slot: Slot, outcome: Outcome) {
        self.penalties.add(setup, slot, outcome);
    }

    /// Takes the measure for an order that was not filled. Returns the time at which it ends.
    pub fn fail(
        &mut self,
        setup: &Setup,
        (bank, pair): (Bank, Pair),
        code: Option<RejectCode>,
        step: &mut Step<'_>,
    ) -> u64 {
        let slot = setup.slot(bank, pair);
        match Cooldowns::measure(code) {
            Measure::Disable(code) => {
                self.cooldowns.disable(slot);
                step.push(Event::Disabled { bank, pair, code });
                NEVER
            }
            Measure::PauseBank => {
                let until_ns = step.now_ns.saturating_add(ns(setup.router.credit_pause_ms));
                let ends = pairs_of(setup, bank).map(|pair| {
                    let until_ns = self.cooldowns.pause(setup.slot(bank, pair), until_ns);
                    step.push(cooldown((bank, pair), code, until_ns));
                    until_ns
                });
                ends.min().unwrap_or(NEVER)
            }
            Measure::CoolDown => {
                let until_ns = self.cooldowns.fail(setup, slot, step.now_ns);
                step.push(cooldown((bank, pair), code, until_ns));
                until_ns
            }
        }
    }
}

fn cooldown((bank, pair): (Bank, Pair), code: Option<RejectCode>, until_ns: u64) -> Event {
    Event::Cooldown {
        bank,
        pair,
        code,
        until_ns,
    }
}
