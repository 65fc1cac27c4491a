//! Parent orders of the desk, and the exposure of each: orders never exceed the open quantity.

mod exposure;

pub use exposure::Exposure;

use crate::positions::{self};
use crate::quotes::NEVER;
use crate::setup::Setup;
use std::collections::HashMap;
use touchline_fx_events::parents::{Lifetime, ParentTerms, WaitReason};
use touchline_fx_events::plan::Style;
use touchline_fx_events::positions::Position;
use touchline_fx_events::setup::Pair;
use touchline_fx_events::short_text::ShortText;
use touchline_types::{Id, Price, Side};

/// A parent order.
#[derive(Debug, Clone)]
pub struct Parent {
    /// Terms.
    pub terms: ParentTerms,
    deadline_ns: Option<u64>,
    /// Earliest time of the next orders.
    retry_ns: u64,
    /// The last wait reason since the last plan.
    waits: Option<WaitReason>,
    has_sent: bool,
    exposure: Exposure,
    is_working: bool,
    /// Whether the parent has ended with open orders and its settlement was not reported.
    is_unsettled: bool,
    /// Orders and cancels named after it.
    named: u64,
    /// Filled quantity and cost (1e-9 times units), net of busts.
    net: (i64, i128),
    /// Name of the original parent, if this parent stands for one adopted order.
    adopted_for: Option<Id>,
}

impl Parent {
    /// Exposure.
    pub fn exposure(&self) -> &Exposure {
        &self.exposure
    }

    /// Whether the parent sends orders.
    pub fn is_working(&self) -> bool {
        self.is_working
    }

    /// Whether orders were sent.
    pub fn has_sent(&self) -> bool {
        self.has_sent
    }

    /// Whether the parent pauses after an order that was not filled.
    pub fn is_paused(&self, now_ns: u64) -> bool {
        now_ns < self.retry_ns
    }

    /// Whether its deadline has passed while it works.
    pub fn is_over(&self, now_ns: u64) -> bool {
        self.is_working && self.deadline_ns.is_some_and(|due_ns| now_ns >= due_ns)
    }

    /// Time of the deadline, or of the end of the pause; [`NEVER`] if the parent has neither.
    fn due_ns(&self, now_ns: u64) -> u64 {
        let retry_ns = match self.is_paused(now_ns) {
            true => self.retry_ns,
            false => NEVER,
        };
        match self.is_working {
            true => self.deadline_ns.unwrap_or(NEVER).min(retry_ns),
            false => NEVER,
        }
    }

    /// Whether the parent has ended and its settlement was reported.
    pub fn is_done(&self) -> bool {
        !self.is_working && !self.is_unsettled
    }

    /// Whether a cancel by the desk changes anything: it works, or an order of it may still be filled.
    fn may_cancel(&self) -> bool {
        self.is_working || self.exposure.out() > 0
    }

    /// Whether a cancel of this name is for it.
    fn is_meant_by(&self, id: &Id) -> bool {
        self.terms.id == *id || self.adopted_for.as_ref() == Some(id)
    }

    /// Quantity for new orders, units.
    pub fn open(&self) -> i64 {
        match self.is_working {
            true => self.exposure.open(),
            false => 0,
        }
    }

    /// Filled quantity and cost (1e-9 times units), net of busts.
    pub fn net(&self) -> (i64, i128) {
        self.net
    }

    /// Quantity that may still be filled, sent or not.
    fn at_risk(&self) -> i64 {
        self.exposure.out() + self.open()
    }
}

/// Parents that a step looks at.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// All parents that are not done.
    All,
    /// Parents of these pairs that are not done.
    Of(&'a [Pair]),
}

/// Parents of a run, in order of arrival.
///
/// Invariant: the sums are those of the parents, and the lists are in order of arrival.
#[derive(Debug, Clone)]
pub struct Parents {
    parents: Vec<Parent>,
    by_id: HashMap<Id, usize>,
    /// Parents that are not done, in order of arrival.
    live: Vec<usize>,
    /// The parents of `live`, by pair.
    live_of: Vec<Vec<usize>>,
    /// Quantity that may still be filled, by pair and side.
    at_risk: Vec<[i64; 2]>,
    /// Sum of the fills by pair, net of busts.
    traded: Vec<Position>,
}

impl Parents {
    /// Makes an empty set of parents.
    pub fn new(setup: &Setup) -> Parents {
        Parents {
            parents: Vec::new(),
            by_id: HashMap::new(),
            live: Vec::new(),
            live_of: vec![Vec::new(); setup.pairs.len()],
            at_risk: vec![[0; 2]; setup.pairs.len()],
            traded: vec![Position::default(); setup.pairs.len()],
        }
    }

    /// Whether a parent of this name was accepted.
    pub fn has(&self, id: &Id) -> bool {
        self.by_id.contains_key(id)
    }

    /// A parent by its name, or by the name that its order was adopted for.
    pub fn find(&self, id: &Id) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Parents that a cancel of this name cancels, in order of arrival: the parent of the name if it works or has orders that may
    /// still be filled, and likewise the parents of the orders that were adopted for it.
    pub fn to_cancel(&self, id: &Id) -> impl Iterator<Item = usize> {
        let live = self.live.iter().copied();
        live.filter(move |at| {
            let parent = &self.parents[*at];
            parent.is_meant_by(id) && parent.may_cancel()
        })
    }

    /// Number of parents, which is that of the next one.
    pub fn count(&self) -> usize {
        self.parents.len()
    }

    /// A parent by its number.
    pub fn get(&self, at: usize) -> &Parent {
        &self.parents[at]
    }

    /// Parents that are not done, in order of arrival.
    pub fn live(&self) -> &[usize] {
        &self.live
    }

    /// The first parent that is not done, in order of arrival, behind another one.
    pub fn next(&self, which: Which<'_>, behind: Option<usize>) -> Option<usize> {
        let next_of = |live: &[usize]| {
            let from = behind.map_or(0, |behind| live.partition_point(|at| *at <= behind));
            live.get(from).copied()
        };
        match which {
            Which::All => next_of(&self.live),
            Which::Of(pairs) => {
                let heads = pairs.iter().map(|pair| next_of(&self.live_of[*pair]));
                heads.flatten().min()
            }
        }
    }

    /// Earliest deadline of a working parent, or end of its pause; [`NEVER`] if no parent has either.
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        let live = self.live.iter();
        let due = live.map(|at| self.parents[*at].due_ns(now_ns));
        due.min().unwrap_or(NEVER)
    }

    /// Sum of the fills of a pair, net of busts.
    pub fn traded(&self, pair: Pair) -> &Position {
        &self.traded[pair]
    }

    /// Quantity of a pair that may still be filled, by side.
    pub fn at_risk(&self, pair: Pair) -> [i64; 2] {
        self.at_risk[pair]
    }

    /// Adds an accepted parent and returns its number.
    pub fn add(&mut self, terms: ParentTerms, deadline_ns: Option<u64>) -> usize {
        let at = self.parents.len();
        self.at_risk[terms.pair][terms.side.index()] += terms.quantity;
        self.by_id.insert(terms.id, at);
        self.live.push(at);
        self.live_of[terms.pair].push(at);
        self.parents.push(Parent {
            terms,
            deadline_ns,
            retry_ns: 0,
            waits: None,
            has_sent: false,
            exposure: Exposure::new(terms.quantity),
            is_working: true,
            is_unsettled: false,
            named: 0,
            net: (0, 0),
            adopted_for: None,
        });
        at
    }

    /// Adds the parent of one adopted order, all of which may be filled: it has ended, so nothing more is sent of it. Its
    /// name is its own; the name of the parent that the order was made for is not accepted again.
    pub fn adopt(
        &mut self,
        of: Id,
        (pair, side): (Pair, Side),
        quantity: i64,
        limit: i64,
    ) -> usize {
        let mut number = self.parents.len() as u64;
        let name = |number: u64| {
            let mut text = ShortText::new();
            text.push("adopted-");
            text.push_unsigned(number);
            text.id()
        };
        while self.has(&name(number)) {
            number += 1;
        }
        let terms = ParentTerms {
            id: name(number),
            pair,
            side,
            quantity,
            limit: Some(limit),
            lifetime: Lifetime::Immediate,
            deadline_ms: 0,
            urgency: 0,
            style: Style::Best,
            partial: true,
        };
        let at = self.add(terms, None);
        self.parents[at].adopted_for = Some(of);
        self.by_id.entry(of).or_insert(at);
        self.send(at, quantity);
        self.end(at);
        at
    }

    /// Notes why a parent sends nothing. True if that is not known since its last plan.
    pub fn wait(&mut self, at: usize, reason: WaitReason) -> bool {
        self.parents[at].waits.replace(reason) != Some(reason)
    }

    /// A parent has a plan.
    pub fn plan(&mut self, at: usize) {
        self.parents[at].waits = None;
    }

    /// A parent pauses until a time. Returns the end that applies.
    pub fn pause(&mut self, at: usize, until_ns: u64) -> u64 {
        let parent = &mut self.parents[at];
        parent.retry_ns = parent.retry_ns.max(until_ns);
        parent.retry_ns
    }

    /// Number of the next order or cancel of the parent, from 1.
    pub fn next_name(&mut self, at: usize) -> u64 {
        self.parents[at].named += 1;
        self.parents[at].named
    }

    /// Number of the parent's last order or request.
    pub fn named(&self, at: usize) -> u64 {
        self.parents[at].named
    }

    /// Records that an order of the parent has this number: later ones have higher numbers.
    pub fn note_name(&mut self, at: usize, number: u64) {
        let named = &mut self.parents[at].named;
        *named = (*named).max(number);
    }

    /// Moves quantity from open to out for a new order.
    pub fn send(&mut self, at: usize, quantity: i64) {
        self.change(at, |parent| {
            assert!(parent.is_working, "only a working parent sends orders");
            parent.exposure.send(quantity);
            parent.has_sent = true;
        });
    }

    /// Books a fill; `is_late`: the order had ended.
    pub fn fill(&mut self, at: usize, quantity: i64, price: Price, is_late: bool) {
        self.change(at, |parent| {
            parent.exposure.fill(quantity, is_late);
        });
        self.reverse(at, -quantity, price);
    }

    /// Reverses a fill. The filled quantity stays done: it is never traded again automatically.
    pub fn reverse(&mut self, at: usize, quantity: i64, price: Price) {
        let parent = &mut self.parents[at];
        parent.net.0 -= quantity;
        parent.net.1 -= i128::from(price.0) * i128::from(quantity);
        let (pair, side) = (parent.terms.pair, parent.terms.side);
        positions::trade(&mut self.traded[pair], side, -quantity, price);
    }

    /// Books a reversed fill again, corrected.
    pub fn correct(&mut self, at: usize, quantity: i64, price: Price) {
        self.reverse(at, -quantity, price);
    }

    /// Releases the unfilled quantity of an ended order; below zero if the desk booked beyond it.
    pub fn release(&mut self, at: usize, quantity: i64) {
        self.change(at, |parent| parent.exposure.release(quantity));
    }

    /// Ends a parent.
    pub fn end(&mut self, at: usize) {
        self.change(at, |parent| {
            assert!(parent.is_working, "a parent ends once");
            parent.is_working = false;
            parent.is_unsettled = parent.exposure.out() > 0;
        });
        self.forget_done(at);
    }

    /// Records that the settlement of an ended parent was reported.
    pub fn settle(&mut self, at: usize) {
        self.parents[at].is_unsettled = false;
        self.forget_done(at);
    }

    fn forget_done(&mut self, at: usize) {
        if self.parents[at].is_done() {
            let pair = self.parents[at].terms.pair;
            for live in [&mut self.live, &mut self.live_of[pair]] {
                live.retain(|other| *other != at);
            }
        }
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut Parent)) {
        let parent = &mut self.parents[at];
        let before = parent.at_risk();
        change(parent);
        let sum = &mut self.at_risk[parent.terms.pair][parent.terms.side.index()];
        *sum += parent.at_risk() - before;
    }
}
