//! Consequences of an order's outcome: cool-down, penalty, kill switch.

use super::penalty::Outcome;
use super::{Step, Trading, number};
use crate::setup::ns;
use touchline_fx_events::event::{
    Asked, Benchmark, BenchmarkOf, Event, Message, Numbered, OrderEvent, OrderLine, OrderStatus,
    ParentEnd,
};
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::parents::EndReason;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::ticks::average_of_trades;
use touchline_types::{Id, Side};

impl Trading {
    /// Handles the end of an order, after its event.
    pub(super) fn order_ended(&mut self, at: usize, code: Option<RejectCode>, step: &mut Step<'_>) {
        let now_ns = step.now_ns;
        let order = self.orders.get(at);
        let (terms, cum) = (order.terms, order.cum());
        let is_free = order.was_unknown() || order.is_end_asked_for();
        let mid2 = step.pricing.composites().mid2(terms.pair);
        self.conduct
            .note_end(&self.setup, order, code, mid2, now_ns);
        step.push(Event::Benchmark(Benchmark {
            of: BenchmarkOf::Order(number(at)),
            pair: terms.pair,
            mid2,
            average: None,
        }));
        let unfilled = terms.quantity - cum;
        self.parents.release(terms.parent, unfilled);
        if unfilled > 0 {
            let urgency = self.parents.get(terms.parent).terms.urgency;
            let pause_ns = ns(self.setup.router.retry_ms[urgency]);
            let until_ns = now_ns.saturating_add(pause_ns);
            let retry_ns = self.parents.pause(terms.parent, until_ns);
            self.wake_at(retry_ns);
        }
        self.count_outcome(at, cum == 0, now_ns);
        if cum == 0 && !is_free {
            self.fail(terms.bank, terms.pair, code, step);
            if self.gate.count_reject(&self.setup, now_ns) {
                self.kill_by_rule(b"auto:rejects", step);
            }
        }
    }

    /// Code of an order that has ended, by which every scorecard counts it: none with a fill, or as we asked for.
    pub(super) fn code_of_end(&self, at: usize, code: RejectCode) -> Option<RejectCode> {
        let order = self.orders.get(at);
        // mutant: fx: an end that we asked for counts as a reject of the bank
        let is_of_bank = order.cum() == 0 && !order.is_end_asked_for();
        is_of_bank.then_some(code)
    }

    /// Counts an order in the penalty, once.
    pub(super) fn count_outcome(&mut self, at: usize, is_bad: bool, now_ns: u64) {
        if !self.orders.change(at, |order| order.count_once()) {
            return;
        }
        let terms = &self.orders.get(at).terms;
        let outcome = Outcome {
            is_bad,
            hold_ns: now_ns - terms.sent_ns,
        };
        let slot = self.setup.slot(terms.bank, terms.pair);
        self.conduct.count_outcome(&self.setup, slot, outcome);
    }

    /// Handles an order that was not filled: cool-down of the bank.
    pub(super) fn fail(
        &mut self,
        bank: Bank,
        pair: Pair,
        code: Option<RejectCode>,
        step: &mut Step<'_>,
    ) {
        let due_ns = self.conduct.fail(&self.setup, (bank, pair), code, step);
        self.wake_at(due_ns);
    }

    /// Sets the kill switch by a rule. A journal has its kills: by the limits of another configuration there were others, or none.
    pub(super) fn kill_by_rule(&mut self, by: &[u8], step: &mut Step<'_>) {
        // mutant: fx: a restart sets a kill that never was
        if !self.is_restoring {
            self.kill_by(Id::new(by), step);
        }
    }

    /// Sets the kill switch: every parent ends, every order is canceled. While the switch is set, a person's kill
    /// repeats unanswered cancels; an automatic kill does nothing.
    pub(super) fn kill_by(&mut self, by: Option<Id>, step: &mut Step<'_>) {
        if !self.gate.kill(by) {
            return;
        }
        step.push(Event::Kill { by });
        // mutant: fx: parent orders continue after a kill
        self.end_all(EndReason::Kill, step);
        let live = self.orders.live().to_vec();
        for at in live {
            self.want_cancel(at, step);
        }
    }

    /// Ends every working parent.
    pub(super) fn end_all(&mut self, reason: EndReason, step: &mut Step<'_>) {
        let live = self.parents.live().to_vec();
        for at in live {
            if self.parents.get(at).is_working() {
                self.end_parent(at, reason, step);
            }
        }
    }

    /// Wants an order canceled until it ends, and asks its bank.
    pub(super) fn want_cancel(&mut self, at: usize, step: &mut Step<'_>) {
        self.orders.change(at, |order| order.want_cancel());
        self.ask_cancel(at, step);
    }

    /// Asks the bank to cancel an order whose cancel is wanted, in any state, if the bank's session is up and no
    /// request is outstanding.
    pub(super) fn ask_cancel(&mut self, at: usize, step: &mut Step<'_>) {
        let (order, now_ns) = (self.orders.get(at), step.now_ns);
        let terms = order.terms;
        let is_up = self.sessions.is_up(terms.bank);
        // mutant: fx: an unknown order is not canceled
        if !order.is_cancel_wanted() || !is_up || order.is_cancel_out(now_ns) {
            return;
        }
        let id = self.order_id(terms.parent);
        let until_ns = now_ns.saturating_add(ns(self.setup.banks[terms.bank].config.answer_ms));
        self.orders.change(at, |order| order.ask_cancel(until_ns));
        let message = Message::Cancel {
            id,
            order: Asked::from(&terms),
            at_ns: now_ns,
        };
        self.order_line(at, OrderEvent::Sent, None, Some(message), step);
    }

    /// Ends a parent.
    pub(super) fn end_parent(&mut self, at: usize, reason: EndReason, step: &mut Step<'_>) {
        self.parents.end(at);
        let end = self.parent_end(at, Some(reason));
        step.push(Event::Ended(end));
    }

    /// State of a parent, for its end event.
    pub(super) fn parent_end(&self, at: usize, reason: Option<EndReason>) -> ParentEnd {
        let parent = self.parents.get(at);
        let (filled, cost) = parent.net();
        let is_buy = parent.terms.side == Side::Bid;
        let precision = self.setup.pairs[parent.terms.pair].config.precision;
        ParentEnd {
            parent: self.numbered(at),
            pair: parent.terms.pair,
            reason,
            filled,
            average: (filled > 0).then(|| average_of_trades(cost, filled, precision, is_buy)),
            out: parent.exposure().out(),
        }
    }

    /// A parent as events name it.
    pub(super) fn numbered(&self, parent: usize) -> Numbered {
        Numbered {
            number: number(parent),
            id: self.parents.get(parent).terms.id,
        }
    }

    /// Writes an event about an order.
    pub(super) fn order_line(
        &self,
        at: usize,
        what: OrderEvent,
        code: Option<RejectCode>,
        message: Option<Message>,
        step: &mut Step<'_>,
    ) {
        let order = self.orders.get(at);
        let status = OrderStatus {
            state: order.state(),
            cum: order.cum(),
            leaves: order.leaves(),
        };
        let line = OrderLine {
            id: Some(order.terms.id),
            number: Some(number(at)),
            bank: order.terms.bank,
            what,
            status: Some(status),
            code,
            message,
        };
        step.push(Event::Order(line));
    }
}
