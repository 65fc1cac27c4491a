//! Looks at parents: ends them, or makes orders from their open quantity and sends these.

use super::router::{Allowance, Judged};
use super::{Step, Trading, number};
use crate::orders::Order;
use crate::parents::Which;
use crate::plan::Draft;
use crate::risk;
use crate::setup::ns;
use touchline_fx_events::event::{Event, Message, Numbered, OrderEvent, PlanLeg};
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::{EndReason, Lifetime, ParentTerms, WaitReason};
use touchline_fx_events::short_text::ShortText;
use touchline_fx_events::stages::Stage;
use touchline_fx_events::ticks::average;
use touchline_types::{Id, Side};

/// Most parents whose next order is prepared.
const WARM_MAX: usize = 4;

impl Trading {
    /// State that parents of all pairs depend on may have changed: orders, limits of banks, commands. An order takes credit and
    /// rate from the later parents of the same step, too.
    pub(crate) fn look_at_all(&mut self) {
        self.looks_at_all = true;
    }

    /// Routes the parents that are not done, in order of arrival: those of the pairs whose prices moved, or all if limits, orders or
    /// commands may have changed since the last step.
    pub(crate) fn route(&mut self, step: &mut Step<'_>) {
        let looks_at_all = std::mem::take(&mut self.looks_at_all);
        let mut last = None;
        loop {
            let which = match looks_at_all || self.looks_at_all {
                true => Which::All,
                false => Which::Of(step.pricing.moved()),
            };
            let Some(at) = self.parents.next(which, last) else {
                return;
            };
            self.route_parent(at, step);
            last = Some(at);
        }
    }

    fn route_parent(&mut self, at: usize, step: &mut Step<'_>) {
        let parent = self.parents.get(at);
        if !parent.is_working() {
            if parent.exposure().out() == 0 {
                let end = self.parent_end(at, None);
                self.parents.settle(at);
                step.push(Event::Settled(end));
            }
            return;
        }
        if let Some(reason) = self.end_reason(at) {
            self.end_parent(at, reason, step);
            return;
        }
        // A parent of one attempt trades at once or never, and does not wait until the banks have listed their orders. A journal has the
        // ends: by the rules of another configuration a bank may have listed its orders later, or never.
        let parent = self.parents.get(at);
        let attempt = attempt(parent.terms.lifetime).filter(|_| !parent.has_sent());
        let is_asking = self.sessions.is_asking() && !self.is_restoring;
        if let Some(reason) = attempt.filter(|_| is_asking) {
            self.end_parent(at, reason, step);
            return;
        }
        while self.may_send(at, step.now_ns) {
            match self.look(at, step) {
                Ok(judged) => self.carry_out(at, &judged, step),
                Err(reason) => {
                    self.wait(at, reason, step);
                    return;
                }
            }
        }
    }

    /// Reason for which a parent ends without a command, if there is one.
    fn end_reason(&self, at: usize) -> Option<EndReason> {
        let parent = self.parents.get(at);
        let exposure = parent.exposure();
        if exposure.done() >= exposure.quantity() {
            return Some(EndReason::Filled);
        }
        let lot = self.setup.pairs[parent.terms.pair].config.lot;
        let is_rest = exposure.out() == 0 && 0 < parent.open() && parent.open() < lot;
        // A journal has the ends: by another lot other parents had a rest.
        // mutant: fx: a restart ends a parent by a lot that it did not have
        let rest = (is_rest && !self.is_restoring).then_some(EndReason::Rest);
        let Some(reason) = attempt(parent.terms.lifetime) else {
            return rest;
        };
        let has_ended = parent.has_sent() && !self.orders.is_working(at);
        has_ended.then_some(reason).or(rest)
    }

    fn may_send(&self, at: usize, now_ns: u64) -> bool {
        let parent = self.parents.get(at);
        let has_had_its_attempt = parent.has_sent() && attempt(parent.terms.lifetime).is_some();
        parent.open() > 0
            && !parent.is_paused(now_ns)
            && self.gate.is_open()
            // mutant: fx: orders leave before all banks were asked for lost ones
            && !self.sessions.is_asking()
            && !has_had_its_attempt
    }

    /// A plan for the open quantity, or the reason why no plan exists.
    fn look(&mut self, at: usize, step: &mut Step<'_>) -> Result<Judged, WaitReason> {
        let parent = self.parents.get(at);
        let terms = &parent.terms;
        if self.gate.is_stopped(terms.pair) {
            return Err(WaitReason::ValueDate);
        }
        let (setup, now_ns) = (&*self.setup, step.now_ns);
        let allowed = |bank| {
            let slot = setup.slot(bank, terms.pair);
            let may_deal = self.sessions.may_take(setup, bank, now_ns)
                && self.conduct.may_deal(slot, now_ns)
                && !self.orders.is_in_doubt(bank, terms.pair);
            may_deal.then(|| Allowance {
                cap: risk::cap(setup, &self.orders, bank, (terms.pair, terms.side)),
                penalty: self.conduct.penalty(setup, slot),
            })
        };
        let prices = (setup, &*step.pricing);
        let open = parent.open();
        self.router.plan(prices, (terms, open), allowed, step.out)
    }

    fn wait(&mut self, at: usize, reason: WaitReason, step: &mut Step<'_>) {
        if self.parents.wait(at, reason) {
            let parent = self.numbered(at);
            step.push(Event::Waits { parent, reason });
        }
        let lifetime = self.parents.get(at).terms.lifetime;
        if let Some(reason) = attempt(lifetime) {
            self.end_parent(at, reason, step);
        }
    }

    /// Sends the orders of a plan at the same time, each after its journal event.
    fn carry_out(&mut self, at: usize, judged: &Judged, step: &mut Step<'_>) {
        let parent = self.parents.get(at);
        let (terms, open, plan) = (parent.terms, parent.open(), &judged.plan);
        let prices = (&*self.setup, &mut *step.pricing);
        self.router.draft(prices, (terms.pair, terms.side), plan);
        let (from, next) = (step.out.legs.len(), number(self.orders.count()));
        for place in 0..self.router.drafts().len() {
            let order = Numbered {
                number: next + place as u32,
                id: self.order_id(at),
            };
            let draft = self.router.drafts()[place];
            step.out.legs.push(PlanLeg {
                order,
                bank: draft.bank,
                quantity: draft.quantity,
                price: draft.price,
                quote_id: draft.quote_id,
                penalty: draft.penalty,
            });
        }
        let legs = from..step.out.legs.len();
        step.push(Event::Plan {
            parent: self.numbered(at),
            pair: terms.pair,
            open,
            kind: plan.kind,
            quantity: plan.quantity,
            average: average(plan.cost, plan.quantity, terms.side == Side::Bid),
            mid2: judged.mid2,
            reference2: judged.reference2,
            legs: legs.clone(),
        });
        self.see(number(at), &terms, open, step);
        self.parents.plan(at);
        for (place, leg) in legs.enumerate() {
            let named = step.out.legs[leg].order;
            let draft = self.router.drafts()[place];
            let terms = self.terms(at, named.id, &draft, judged.mid2, step.now_ns);
            let order = self.send(&terms, step);
            assert!(
                number(order) == named.number,
                "an order has the number that its plan gave it"
            );
        }
        step.out.stages.lap(Stage::Orders);
    }

    fn terms(&self, parent: usize, id: Id, draft: &Draft, mid2: i64, now_ns: u64) -> Terms {
        let of = &self.parents.get(parent).terms;
        Terms {
            id,
            parent,
            bank: draft.bank,
            pair: of.pair,
            side: of.side,
            quantity: draft.quantity,
            price: draft.price,
            quote_id: draft.quote_id,
            is_fok: draft.is_fok,
            value_date: self.setup.pairs[of.pair].spot_date,
            sent_ns: now_ns,
            mid2_sent: Some(mid2),
        }
    }

    /// Sends an order, and returns its number.
    pub(super) fn send(&mut self, terms: &Terms, step: &mut Step<'_>) -> usize {
        let now_ns = step.now_ns;
        self.gate.pass();
        self.parents.send(terms.parent, terms.quantity);
        let answer_ns = ns(self.setup.banks[terms.bank].config.answer_ms);
        let due_ns = now_ns.saturating_add(answer_ns);
        let at = self.orders.add(Order::new(*terms, due_ns));
        self.sessions.note_order(terms.bank, now_ns);
        self.look_at_all();
        self.conduct
            .note_sent(self.setup.slot(terms.bank, terms.pair), terms.quantity);
        self.wake_at(due_ns);
        self.wake_at(self.sessions.rate_due_ns(&self.setup, terms.bank, now_ns));
        self.order_line(at, OrderEvent::Journal, None, None, step);
        let message = Message::Order(*terms);
        self.order_line(at, OrderEvent::Sent, None, Some(message), step);
        at
    }

    /// Prepares the memory of the next order of each of the first parents: for the time between two inputs.
    pub(crate) fn warm(&mut self) {
        for place in 0..self.parents.live().len().min(WARM_MAX) {
            let parent = self.parents.live()[place];
            let number = self.parents.named(parent) + 1;
            let next = self.id_of(parent, number);
            self.orders.warm(&next);
        }
    }

    /// The next ClOrdID of a parent.
    pub(super) fn order_id(&mut self, parent: usize) -> Id {
        let number = self.parents.next_name(parent);
        self.id_of(parent, number)
    }

    fn id_of(&self, parent: usize, number: u64) -> Id {
        let ParentTerms { id: of, pair, .. } = self.parents.get(parent).terms;
        // Prefix and parent leave room for any number.
        let mut text = ShortText::new();
        text.push(self.setup.labels.prefix.as_str());
        let trade_date = self.setup.pairs[pair].trade_date;
        if trade_date > 0 {
            // Year, month and day, of two digits each.
            text.push("d");
            text.push_unsigned(u64::from(trade_date % 1_000_000));
        }
        text.push("-");
        text.push(of.as_str());
        text.push("-");
        text.push_unsigned(number);
        text.id()
    }
}

/// End reason of a parent with one attempt; none for a parent with a deadline.
fn attempt(lifetime: Lifetime) -> Option<EndReason> {
    match lifetime {
        Lifetime::Deadline => None,
        Lifetime::Immediate => Some(EndReason::Ioc),
        Lifetime::AllOrNothing => Some(EndReason::Fok),
    }
}
