//! Parent orders of the desk, and the exposure of each: never more is sent than is open.

mod exposure;

pub use exposure::Exposure;

use crate::plan::Style;
use crate::setup::{Pair, Setup};
use std::collections::HashMap;
use touchline_types::{Id, Side};

/// How long a parent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// Until its deadline.
    #[default]
    Deadline,
    /// One attempt; what is not had is left.
    Immediate,
    /// One attempt, for all of it.
    AllOrNothing,
}

/// What the desk wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentTerms {
    /// Its name.
    pub id: Id,
    /// What is traded.
    pub pair: Pair,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Worst price, ticks.
    pub limit: Option<i64>,
    /// How long it works.
    pub lifetime: Lifetime,
    /// Time that it works, milliseconds, of a parent with a deadline.
    pub deadline_ms: u64,
    /// 0 to 2.
    pub urgency: usize,
    /// Which plans it takes.
    pub style: Style,
    /// Whether plans for a part of it will do.
    pub partial: bool,
}

/// Why a parent has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// All of it is filled.
    Filled,
    /// Its one attempt is over.
    Ioc,
    /// Its one attempt is over.
    Fok,
    /// Its time is over.
    Deadline,
    /// The desk's wish.
    Cancel,
    /// The kill switch.
    Kill,
    /// The process started again.
    Restart,
}

/// Why nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// Too few banks quote the side.
    Thin,
    /// One side is missing.
    NoMid,
    /// The composite is too far crossed.
    Crossed,
    /// Nothing can be had.
    NoPrice,
}

/// A parent order.
#[derive(Debug, Clone)]
pub struct Parent {
    /// What the desk wants.
    pub terms: ParentTerms,
    /// When it ends by itself.
    pub deadline_ns: Option<u64>,
    /// Nothing is sent before.
    pub retry_ns: u64,
    /// The last reason that was printed since the last plan.
    pub waits: Option<WaitReason>,
    /// Whether a plan was carried out.
    pub has_sent: bool,
    exposure: Exposure,
    is_working: bool,
    /// Whether it has ended with something out, and nobody was told yet that nothing is.
    is_unsettled: bool,
    /// Orders and cancels that were named after it.
    named: u64,
    /// Filled quantity and cost, net of busts.
    net: (i64, i128),
}

impl Parent {
    /// What it may still come to.
    pub fn exposure(&self) -> &Exposure {
        &self.exposure
    }

    /// Whether it sends orders.
    pub fn is_working(&self) -> bool {
        self.is_working
    }

    /// Whether it is over, and everybody was told.
    pub fn is_done(&self) -> bool {
        !self.is_working && !self.is_unsettled
    }

    /// What may still be sent, units.
    pub fn open(&self) -> i64 {
        match self.is_working {
            true => self.exposure.open(),
            false => 0,
        }
    }

    /// Filled quantity and cost, net of busts.
    pub fn net(&self) -> (i64, i128) {
        self.net
    }

    /// What may still be filled, sent or not.
    fn at_risk(&self) -> i64 {
        self.exposure.out() + self.open()
    }
}

/// All parents of a run, in the order of their arrival.
///
/// Invariant: the sums are those of the parents.
#[derive(Debug, Clone)]
pub struct Parents {
    parents: Vec<Parent>,
    by_id: HashMap<Id, usize>,
    /// Those that are not done, in the order of their arrival.
    live: Vec<usize>,
    /// What may still be filled, by pair and side.
    at_risk: Vec<[i64; 2]>,
}

impl Parents {
    /// None.
    pub fn new(setup: &Setup) -> Parents {
        Parents {
            parents: Vec::new(),
            by_id: HashMap::new(),
            live: Vec::new(),
            at_risk: vec![[0; 2]; setup.pairs.len()],
        }
    }

    /// Whether a parent of that name was accepted.
    pub fn has(&self, id: &Id) -> bool {
        self.by_id.contains_key(id)
    }

    /// A parent by its name.
    pub fn find(&self, id: &Id) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// A parent by its number.
    pub fn get(&self, at: usize) -> &Parent {
        &self.parents[at]
    }

    /// Those that are not done, in the order of their arrival.
    pub fn live(&self) -> &[usize] {
        &self.live
    }

    /// What may still be filled of a pair, by side.
    pub fn at_risk(&self, pair: Pair) -> [i64; 2] {
        self.at_risk[pair]
    }

    /// Adds a parent that was accepted, and gives its number.
    pub fn add(&mut self, terms: ParentTerms, deadline_ns: Option<u64>) -> usize {
        let at = self.parents.len();
        self.at_risk[terms.pair][terms.side.index()] += terms.quantity;
        self.by_id.insert(terms.id, at);
        self.live.push(at);
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
        });
        at
    }

    /// Changes what is no exposure.
    pub fn note(&mut self, at: usize) -> &mut Parent {
        &mut self.parents[at]
    }

    /// The number of the next order or cancel that is named after it, from 1.
    pub fn next_name(&mut self, at: usize) -> u64 {
        self.parents[at].named += 1;
        self.parents[at].named
    }

    /// An order is made of what is open.
    pub fn send(&mut self, at: usize, quantity: i64) {
        self.change(at, |parent| {
            assert!(parent.is_working, "orders-of-working-parents");
            parent.exposure.send(quantity);
            parent.has_sent = true;
        });
    }

    /// An order is filled; `is_late` after it had ended.
    pub fn fill(&mut self, at: usize, quantity: i64, price: i64, is_late: bool) {
        self.change(at, |parent| {
            parent.exposure.fill(quantity, is_late);
            parent.net.0 += quantity;
            parent.net.1 += i128::from(price) * i128::from(quantity);
        });
    }

    /// A fill is reversed. What was filled stays done: it is never traded again by itself.
    pub fn reverse(&mut self, at: usize, quantity: i64, price: i64) {
        let net = &mut self.parents[at].net;
        net.0 -= quantity;
        net.1 -= i128::from(price) * i128::from(quantity);
    }

    /// A reversed fill is booked again, corrected.
    pub fn correct(&mut self, at: usize, quantity: i64, price: i64) {
        self.reverse(at, -quantity, price);
    }

    /// An order has ended with this much of it unfilled.
    pub fn release(&mut self, at: usize, quantity: i64) {
        self.change(at, |parent| parent.exposure.release(quantity));
    }

    /// A parent works no more.
    pub fn end(&mut self, at: usize) {
        self.change(at, |parent| {
            assert!(parent.is_working, "a-parent-ends-once");
            parent.is_working = false;
            parent.is_unsettled = parent.exposure.out() > 0;
        });
        self.forget_done(at);
    }

    /// Nothing of an ended parent is out any more, and somebody is told.
    pub fn settle(&mut self, at: usize) {
        self.parents[at].is_unsettled = false;
        self.forget_done(at);
    }

    fn forget_done(&mut self, at: usize) {
        if self.parents[at].is_done() {
            self.live.retain(|other| *other != at);
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
