//! Consequences of an order's outcome: cool-down, penalty, kill switch.

use super::Engine;
use crate::cooldown::{Cooldowns, Measure, pairs_of};
use crate::event::{
    Asked, Batch, Event, Message, Numbered, OrderEvent, OrderLine, OrderStatus, ParentEnd,
};
use crate::orders::RejectCode;
use crate::parents::EndReason;
use crate::penalty::Outcome;
use crate::setup::{Bank, Pair, ns};
use crate::ticks::average_of_trades;
use touchline_types::{Id, Side};

/// Names of kills that no person asked for begin with it.
const AUTO: &str = "auto:";

impl Engine {
    /// Handles the end of an order, after its event.
    pub(super) fn order_ended(&mut self, at: usize, code: Option<RejectCode>, out: &mut Batch) {
        let now_ns = self.now();
        let order = self.orders.get(at);
        let (terms, cum) = (order.terms, order.cum());
        let is_free = order.was_unknown() || order.is_cancel_asked();
        let slot = self.setup.slot(terms.bank, terms.pair);
        let mid2 = self.pricing.composites().mid2(terms.pair);
        if !order.is_adopted() {
            self.scorecard
                .note_end(&self.setup, slot, order, code, mid2, now_ns);
        }
        let unfilled = terms.quantity - cum;
        self.parents.release(terms.parent, unfilled);
        if unfilled > 0 {
            let parent = self.parents.note(terms.parent);
            let pause_ns = ns(self.setup.router.retry_ms[parent.terms.urgency]);
            parent.retry_ns = parent.retry_ns.max(now_ns.saturating_add(pause_ns));
            let retry_ns = parent.retry_ns;
            self.wake_at(retry_ns);
        }
        self.count_outcome(at, cum == 0);
        if cum > 0 {
            self.cooldowns.succeed(slot);
        } else if !is_free {
            self.fail(terms.bank, terms.pair, code, out);
            self.rejects.add(now_ns);
            if self.rejects.count(now_ns) >= self.setup.risk.kill_rejects_per_s {
                self.kill_by(Id::new(b"auto:rejects"), out);
            }
        }
    }

    /// Counts an order in the penalty, once.
    pub(super) fn count_outcome(&mut self, at: usize, is_bad: bool) {
        if !self.orders.change(at, |order| order.count_once()) {
            return;
        }
        let terms = &self.orders.get(at).terms;
        let outcome = Outcome {
            is_bad,
            hold_ns: self.now() - terms.sent_ns,
        };
        let slot = self.setup.slot(terms.bank, terms.pair);
        self.penalties.add(&self.setup, slot, outcome);
    }

    /// Handles an order that was not filled: cool-down of the bank.
    pub(super) fn fail(
        &mut self,
        bank: Bank,
        pair: Pair,
        code: Option<RejectCode>,
        out: &mut Batch,
    ) {
        let now_ns = self.now();
        let slot = self.setup.slot(bank, pair);
        match Cooldowns::measure(code) {
            Measure::Disable(code) => {
                self.cooldowns.disable(slot);
                self.push(Event::Disabled { bank, pair, code }, out);
            }
            Measure::PauseBank => {
                let until_ns = now_ns.saturating_add(ns(self.setup.router.credit_pause_ms));
                let pairs: Vec<Pair> = pairs_of(&self.setup, bank).collect();
                for pair in pairs {
                    let until_ns = self.cooldowns.pause(self.setup.slot(bank, pair), until_ns);
                    self.cooldown_line(bank, pair, code, until_ns, out);
                }
            }
            Measure::CoolDown => {
                let until_ns = self.cooldowns.fail(&self.setup, slot, now_ns);
                self.cooldown_line(bank, pair, code, until_ns, out);
            }
        }
    }

    /// Sets the kill switch: every parent ends, every order is canceled. A person's kill while killed repeats what is unanswered; one by
    /// itself does nothing then.
    pub(super) fn kill_by(&mut self, by: Option<Id>, out: &mut Batch) {
        let is_by_itself = by.is_some_and(|by| by.as_str().starts_with(AUTO));
        if self.kill.is_killed() && is_by_itself {
            return;
        }
        self.kill.kill();
        self.push(Event::Kill { by }, out);
        // mutant: fx: parent orders continue after a kill
        self.end_all(EndReason::Kill, out);
        let live = self.orders.live().to_vec();
        for at in live {
            self.want_cancel(at, out);
        }
    }

    /// Ends every working parent.
    pub(super) fn end_all(&mut self, reason: EndReason, out: &mut Batch) {
        let live = self.parents.live().to_vec();
        for at in live {
            if self.parents.get(at).is_working() {
                self.end_parent(at, reason, out);
            }
        }
    }

    /// Wants an order canceled until it ends, and asks its bank.
    pub(super) fn want_cancel(&mut self, at: usize, out: &mut Batch) {
        self.orders.change(at, |order| order.want_cancel());
        self.ask_cancel(at, out);
    }

    /// Asks the bank to cancel an order that is to be canceled, in whatever state, if its session is up and no request is out.
    pub(super) fn ask_cancel(&mut self, at: usize, out: &mut Batch) {
        let (order, now_ns) = (self.orders.get(at), self.now());
        let terms = order.terms;
        let is_up = self.order_sessions[terms.bank].is_up;
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
        self.order_line(at, OrderEvent::Sent, None, Some(message), out);
    }

    /// Ends a parent.
    pub(super) fn end_parent(&mut self, at: usize, reason: EndReason, out: &mut Batch) {
        self.parents.end(at);
        let end = self.parent_end(at, Some(reason));
        self.push(Event::Ended(end), out);
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
        out: &mut Batch,
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
        self.push(Event::Order(line), out);
    }

    fn cooldown_line(
        &mut self,
        bank: Bank,
        pair: Pair,
        code: Option<RejectCode>,
        until_ns: u64,
        out: &mut Batch,
    ) {
        self.wake_at(until_ns);
        let event = Event::Cooldown {
            bank,
            pair,
            code,
            until_ns,
        };
        self.push(event, out);
    }
}

/// The number of an order or a parent, as records have it.
pub(super) fn number(at: usize) -> u32 {
    u32::try_from(at).expect("memory ends before the numbers do")
}
