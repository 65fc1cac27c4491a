//! The router: makes orders from the open quantity of parents.

use super::Engine;
use super::outcome::number;
use crate::composite::BankSet;
use crate::event::{Batch, Event, Message, Numbered, OrderEvent, PlanLeg};
use crate::orders::{Order, Terms};
use crate::parents::{EndReason, Lifetime, ParentTerms, WaitReason};
use crate::plan::{Offer, Plan, PlanKind, Want, bank_of, is_within, sweep_order};
use crate::risk;
use crate::setup::{Bank, Pair, Setup, ns};
use crate::short_text::ShortText;
use crate::stages::Stage;
use crate::ticks::average;
use touchline_types::{Id, Side};

/// Most parents whose next order is prepared.
const WARM_MAX: usize = 4;

/// Memory of the router, by bank where not stated otherwise.
#[derive(Debug, Clone, Default)]
pub(super) struct Routing {
    caps: Vec<i64>,
    /// Weighted penalty, tenths of a tick; none if the bank may have no order.
    penalties: Vec<Option<i64>>,
    is_quoted: Vec<bool>,
    /// Orders of a plan.
    drafts: Vec<Draft>,
    /// This step looks at parents of all pairs.
    is_all: bool,
    /// The next one does.
    is_all_next: bool,
}

impl Routing {
    pub fn new(setup: &Setup) -> Routing {
        let banks = setup.banks.len();
        Routing {
            caps: vec![0; banks],
            penalties: vec![None; banks],
            is_quoted: setup.banks.iter().map(|bank| bank.is_quoted).collect(),
            drafts: Vec::with_capacity(64),
            is_all: false,
            is_all_next: true,
        }
    }

    /// State that parents of all pairs depend on may have changed: orders, limits of banks, commands. An order takes credit and
    /// rate from the later parents of the same step, too.
    pub fn look_at_all(&mut self) {
        self.is_all = true;
        self.is_all_next = true;
    }
}

/// An order of a plan.
#[derive(Debug, Clone, Copy)]
struct Draft {
    bank: Bank,
    quantity: i64,
    price: i64,
    quote_id: Option<Id>,
    is_fok: bool,
    penalty: i64,
}

/// What a plan was judged by, twice in ticks.
#[derive(Debug, Clone, Copy)]
struct Judged {
    mid2: i64,
    reference2: i64,
}

impl Engine {
    /// Routes the parents that are not done, in order of arrival: those of the pairs whose prices moved, or all if limits, orders or
    /// commands may have changed since the last step.
    pub(super) fn route(&mut self, out: &mut Batch) {
        self.routing.is_all = std::mem::take(&mut self.routing.is_all_next);
        let mut next = 0;
        while let Some(at) = self.parents.live().get(next).copied() {
            if !self.routing.is_all && !self.pricing.is_moved(self.parents.get(at).terms.pair) {
                next += 1;
                continue;
            }
            self.route_parent(at, out);
            // A parent that is done leaves the list.
            if self.parents.live().get(next) == Some(&at) {
                next += 1;
            }
        }
    }

    fn route_parent(&mut self, at: usize, out: &mut Batch) {
        let parent = self.parents.get(at);
        if !parent.is_working() {
            if parent.exposure().out() == 0 {
                let end = self.parent_end(at, None);
                self.parents.settle(at);
                self.push(Event::Settled(end), out);
            }
            return;
        }
        if let Some(reason) = self.end_reason(at) {
            self.end_parent(at, reason, out);
            return;
        }
        // One attempt is of now, and does not wait until the banks have said which orders they have.
        let parent = self.parents.get(at);
        let attempt = attempt(parent.terms.lifetime).filter(|_| !parent.has_sent);
        if let Some(reason) = attempt.filter(|_| self.lost.is_asking) {
            self.end_parent(at, reason, out);
            return;
        }
        while self.may_send(at) {
            match self.look(at, out) {
                Ok((plan, judged)) => self.carry_out(at, &plan, &judged, out),
                Err(reason) => {
                    self.wait(at, reason, out);
                    return;
                }
            }
        }
    }

    /// Whether a parent ends by itself, and why.
    fn end_reason(&self, at: usize) -> Option<EndReason> {
        let parent = self.parents.get(at);
        let exposure = parent.exposure();
        if exposure.done() >= exposure.quantity() {
            return Some(EndReason::Filled);
        }
        let lot = self.setup.pairs[parent.terms.pair].config.lot;
        let is_rest = exposure.out() == 0 && 0 < parent.open() && parent.open() < lot;
        let rest = is_rest.then_some(EndReason::Rest);
        let Some(reason) = attempt(parent.terms.lifetime) else {
            return rest;
        };
        let mut own = self
            .orders
            .live()
            .iter()
            .map(|order| self.orders.get(*order));
        // mutant: fx: an unknown order keeps its parent working
        let is_open = own.any(|order| order.terms.parent == at && !order.state().is_doubtful());
        (parent.has_sent && !is_open).then_some(reason).or(rest)
    }

    fn may_send(&self, at: usize) -> bool {
        let parent = self.parents.get(at);
        let has_had_its_attempt = parent.has_sent && attempt(parent.terms.lifetime).is_some();
        parent.open() > 0
            && self.now() >= parent.retry_ns
            && !self.kill.is_killed()
            && !self.is_held
            // mutant: fx: orders leave before all banks were asked for lost ones
            && !self.lost.is_asking
            && !has_had_its_attempt
    }

    /// A plan for the open quantity, or the reason why there is none.
    fn look(&mut self, at: usize, out: &mut Batch) -> Result<(Plan, Judged), WaitReason> {
        let parent = self.parents.get(at);
        let (terms, open) = (parent.terms, parent.open());
        if self.stopped[terms.pair] {
            return Err(WaitReason::ValueDate);
        }
        let pair = &self.setup.pairs[terms.pair].config;
        let takes = opposite(terms.side);
        let offers = self.pricing.composites().offers(terms.pair, takes);
        let is_off = |offer: &Offer| {
            self.pricing
                .composites()
                .is_off(usize::from(offer.bank), terms.pair)
        };
        let near = offers.iter().filter(|offer| !is_off(offer));
        if !has_banks(near, self.setup.risk.min_banks) {
            return Err(WaitReason::Thin);
        }
        let [Some(bid), Some(ask)] = self.pricing.composites().traded(terms.pair) else {
            return Err(WaitReason::NoMid);
        };
        let reference2 = self
            .pricing
            .composites()
            .reference2(&self.setup, terms.pair);
        let reference2 = reference2.ok_or(WaitReason::NoReference)?;
        if bid - ask > pair.crossed_max_ticks {
            return Err(WaitReason::Crossed);
        }
        let judged = Judged {
            mid2: bid + ask,
            reference2,
        };
        self.offers_for(&terms, takes, reference2);
        out.stages.lap(Stage::Limits);
        let want = Want {
            takes,
            quantity: open,
            limit: terms.limit,
            lot: self.setup.pairs[terms.pair].config.lot,
            caps: &self.routing.caps,
            is_quoted: &self.routing.is_quoted,
            style: terms.style,
            parts: terms.partial && terms.lifetime != Lifetime::AllOrNothing,
            combine: self.setup.router.combine,
        };
        let plan = self.planner.plan(&self.offers, &want);
        out.stages.lap(Stage::Plan);
        plan.map(|plan| (plan, judged)).ok_or(WaitReason::NoPrice)
    }

    /// Collects the available offers within the limit in the order of a sweep, and the caps of their banks. Most quotes leave
    /// nothing within the limit of a waiting parent: the cost of a look is that of the offers that may be used.
    fn offers_for(&mut self, terms: &ParentTerms, takes: Side, reference2: i64) {
        let pair = terms.pair;
        let collar2 = 2 * self.setup.pairs[pair].config.collar_ticks;
        let weight = self.setup.router.weight[terms.urgency];
        let offers = self.pricing.composites().offers(pair, takes);
        // They are in the order of their prices, and no plan uses what is beyond the limit.
        let within = offers.partition_point(|offer| is_within(takes, offer.price, terms.limit));
        let mut banks = BankSet::default();
        for offer in &offers[..within] {
            banks.add(usize::from(offer.bank));
        }
        for bank in banks.iter() {
            let (mut cap, mut penalty) = (0, None);
            // mutant: fx: a bank off the market is traded
            if self.is_routable(bank, pair) && !self.pricing.composites().is_off(bank, pair) {
                let slot = self.setup.slot(bank, pair);
                cap = risk::cap(&self.setup, &self.orders, bank, pair);
                penalty = Some(weight * self.penalties.of(&self.setup, slot));
            }
            self.routing.caps[bank] = cap;
            self.routing.penalties[bank] = penalty;
        }
        self.offers.clear();
        for offer in &self.pricing.composites().offers(pair, takes)[..within] {
            let bank = usize::from(offer.bank);
            let Some(penalty) = self.routing.penalties[bank] else {
                continue;
            };
            let slot = self.setup.slot(bank, pair);
            let entry = &self.pricing.quotes().book(slot).entries()[offer.entry as usize];
            if entry.is_used || (2 * offer.price - reference2).abs() > collar2 {
                continue;
            }
            self.offers.push(Offer { penalty, ..*offer });
        }
        self.offers
            .sort_unstable_by(|a, b| sweep_order(takes, a, b));
    }

    /// Whether a bank may receive orders of a pair.
    fn is_routable(&self, bank: Bank, pair: Pair) -> bool {
        let (now_ns, session) = (self.now(), &self.order_sessions[bank]);
        let is_in_doubt = self.orders.is_in_doubt(bank, pair);
        let sent = session.rate.count(now_ns);
        // mutant: fx: a bank receives more orders than its rate limit
        let is_within_rate = sent < self.setup.banks[bank].config.max_orders_per_s;
        let may_deal = self.cooldowns.may_deal(self.setup.slot(bank, pair), now_ns);
        session.is_up && may_deal && !is_in_doubt && is_within_rate
    }

    fn wait(&mut self, at: usize, reason: WaitReason, out: &mut Batch) {
        let parent = self.parents.note(at);
        let terms = parent.terms;
        if parent.waits.replace(reason) != Some(reason) {
            let parent = self.numbered(at);
            self.push(Event::Waits { parent, reason }, out);
        }
        if let Some(reason) = attempt(terms.lifetime) {
            self.end_parent(at, reason, out);
        }
    }

    /// Sends the orders of a plan at the same time, each after its journal event.
    fn carry_out(&mut self, at: usize, plan: &Plan, judged: &Judged, out: &mut Batch) {
        let parent = self.parents.get(at);
        let (terms, open) = (parent.terms, parent.open());
        let mut drafts = std::mem::take(&mut self.routing.drafts);
        self.drafts(terms.pair, terms.side, plan.kind, &mut drafts);
        let (from, next) = (out.legs.len(), number(self.orders.count()));
        for draft in &drafts {
            let order = Numbered {
                number: next + (out.legs.len() - from) as u32,
                id: self.order_id(at),
            };
            out.legs.push(PlanLeg {
                order,
                bank: draft.bank,
                quantity: draft.quantity,
                price: draft.price,
                quote_id: draft.quote_id,
                penalty: draft.penalty,
            });
        }
        let legs = from..out.legs.len();
        let event = Event::Plan {
            parent: self.numbered(at),
            pair: terms.pair,
            open,
            kind: plan.kind,
            quantity: plan.quantity,
            average: average(plan.cost, plan.quantity, terms.side == Side::Bid),
            mid2: judged.mid2,
            reference2: judged.reference2,
            legs: legs.clone(),
        };
        self.push(event, out);
        self.parents.note(at).waits = None;
        for (draft, leg) in drafts.iter().zip(legs) {
            let id = out.legs[leg].order.id;
            let terms = self.terms(at, id, draft, Some(judged.mid2));
            self.send(&terms, out);
        }
        self.routing.drafts = drafts;
        out.stages.lap(Stage::Orders);
    }

    /// Orders of the last plan, in the order of their first use; marks its entries as used.
    fn drafts(&mut self, pair: Pair, side: Side, kind: PlanKind, drafts: &mut Vec<Draft>) {
        drafts.clear();
        for leg in self.planner.legs() {
            let bank = bank_of(leg);
            let slot = self.setup.slot(bank, pair);
            let place = leg.offer.entry as usize;
            let entry = self.pricing.quotes().book(slot).entries()[place];
            self.pricing.quotes_mut().set_used(slot, place);
            let is_quoted = self.setup.banks[bank].is_quoted;
            let same = drafts
                .iter_mut()
                .find(|draft| draft.bank == bank && !is_quoted);
            if let Some(draft) = same {
                draft.quantity += leg.quantity;
                if is_within(side, leg.offer.price, Some(draft.price)) {
                    draft.price = leg.offer.price;
                }
                continue;
            }
            drafts.push(Draft {
                bank,
                quantity: leg.quantity,
                price: leg.offer.price,
                quote_id: Some(entry.quote_id).filter(|id| is_quoted && !id.is_empty()),
                is_fok: kind == PlanKind::Full || leg.offer.is_full,
                penalty: leg.offer.penalty,
            });
        }
    }

    fn terms(&self, parent: usize, id: Id, draft: &Draft, mid2_sent: Option<i64>) -> Terms {
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
            sent_ns: self.now(),
            mid2_sent,
        }
    }

    pub(super) fn send(&mut self, terms: &Terms, out: &mut Batch) {
        let now_ns = self.now();
        assert!(!self.kill.is_killed(), "nothing-is-sent-while-killed");
        self.parents.send(terms.parent, terms.quantity);
        let answer_ns = ns(self.setup.banks[terms.bank].config.answer_ms);
        let due_ns = now_ns.saturating_add(answer_ns);
        let at = self.orders.add(Order::new(*terms, due_ns));
        self.order_sessions[terms.bank].rate.add(now_ns);
        self.routing.look_at_all();
        self.scorecard
            .note_sent(self.setup.slot(terms.bank, terms.pair), terms.quantity);
        self.wake_at(due_ns);
        self.wake_at(self.rate_due_ns(terms.bank));
        self.order_line(at, OrderEvent::Journal, None, None, out);
        let message = Message::Order(*terms);
        self.order_line(at, OrderEvent::Sent, None, Some(message), out);
    }

    /// Prepares the memory of the next order of each of the first parents: for the time between two inputs.
    pub fn warm(&mut self) {
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
        let of = self.parents.get(parent).terms.id;
        // Prefix and parent leave room for any number.
        let mut text = ShortText::new();
        text.push(self.setup.labels.prefix.as_str());
        text.push("-");
        text.push(of.as_str());
        text.push("-");
        text.push_unsigned(number);
        text.id()
    }
}

/// Whether offers are of this many banks or more.
fn has_banks<'a>(mut offers: impl Iterator<Item = &'a Offer>, least: usize) -> bool {
    let mut banks = BankSet::default();
    while banks.len() < least {
        match offers.next() {
            Some(offer) => banks.add(usize::from(offer.bank)),
            None => return false,
        }
    }
    true
}

/// End reason of a parent with one attempt; none for a parent with a deadline.
fn attempt(lifetime: Lifetime) -> Option<EndReason> {
    match lifetime {
        Lifetime::Deadline => None,
        Lifetime::Immediate => Some(EndReason::Ioc),
        Lifetime::AllOrNothing => Some(EndReason::Fok),
    }
}

/// The side of the offers that a parent takes.
fn opposite(side: Side) -> Side {
    match side {
        Side::Bid => Side::Ask,
        Side::Ask => Side::Bid,
    }
}
