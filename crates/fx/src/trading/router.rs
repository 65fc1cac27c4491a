//! The router: makes a plan for the open quantity of a parent, and the orders of the plan.

use crate::plan::{
    Draft, Leg, Offer, Plan, Planner, Want, add_leg, bank_of, is_within, may_part, sweep_order,
    taken_side,
};
use crate::pricing::Pricing;
use crate::setup::Setup;
use touchline_fx_events::composite::BankSet;
use touchline_fx_events::event::Batch;
use touchline_fx_events::parents::{ParentTerms, WaitReason};
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::stages::Stage;
use touchline_types::Side;

/// Offers of one side of a pair for which [`Router::reserve`] takes memory.
const OFFERS_ROOM: usize = 4_096;

/// Limits of the router's use of a bank.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Units at most.
    pub cap: i64,
    /// Penalty in tenths of a tick, without the weight of an urgency.
    pub penalty: i64,
}

/// A plan, with the values by which it was judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    pub plan: Plan,
    /// Twice the mid, ticks.
    pub mid2: i64,
    /// Twice the reference, ticks.
    pub reference2: i64,
}

/// Planner with its memory, by bank where not stated otherwise.
///
/// Invariant: the orders of a plan have its quantity.
#[derive(Debug, Clone)]
pub struct Router {
    planner: Planner,
    offers: Vec<Offer>,
    caps: Vec<i64>,
    /// Weighted penalty, tenths of a tick; none if the bank may have no order.
    penalties: Vec<Option<i64>>,
    is_quoted: Vec<bool>,
    /// Orders of the last plan.
    drafts: Vec<Draft>,
}

impl Router {
    /// A router without plans.
    pub fn new(setup: &Setup) -> Router {
        let banks = setup.banks.len();
        Router {
            planner: Planner::new(banks),
            offers: Vec::new(),
            caps: vec![0; banks],
            penalties: vec![None; banks],
            is_quoted: setup.banks.iter().map(|bank| bank.is_quoted).collect(),
            drafts: Vec::with_capacity(64),
        }
    }

    /// Reserves memory, so that a plan needs none.
    pub fn reserve(&mut self) {
        self.planner.reserve();
        self.offers.reserve(OFFERS_ROOM);
    }

    /// A plan for the open quantity of a parent, or the reason why no plan exists. `allowed` returns the limits of a
    /// bank; `None` if the bank may have no order.
    pub fn plan(
        &mut self,
        (setup, pricing): (&Setup, &Pricing),
        (terms, open): (&ParentTerms, i64),
        allowed: impl Fn(Bank) -> Option<Allowance>,
        out: &mut Batch,
    ) -> Result<Judged, WaitReason> {
        let pair = &setup.pairs[terms.pair].config;
        let (takes, composites) = (taken_side(terms.side), pricing.composites());
        let offers = composites.offers(terms.pair, takes);
        let is_off = |offer: &Offer| composites.is_off(usize::from(offer.bank), terms.pair);
        let near = offers.iter().filter(|offer| !is_off(offer));
        if !has_banks(near, setup.risk.min_banks) {
            return Err(WaitReason::Thin);
        }
        let [Some(bid), Some(ask)] = composites.traded(terms.pair) else {
            return Err(WaitReason::NoMid);
        };
        let reference2 = composites.reference2(setup, terms.pair);
        let reference2 = reference2.ok_or(WaitReason::NoReference)?;
        if bid - ask > pair.crossed_max_ticks {
            return Err(WaitReason::Crossed);
        }
        self.take_offers((setup, pricing), terms, reference2, allowed);
        out.stages.lap(Stage::Limits);
        let want = Want {
            takes,
            quantity: open,
            limit: terms.limit,
            lot: pair.lot,
            caps: &self.caps,
            is_quoted: &self.is_quoted,
            style: terms.style,
            parts: may_part(terms),
            combine: setup.router.combine,
        };
        let plan = self.planner.plan(&self.offers, &want);
        out.stages.lap(Stage::Plan);
        Ok(Judged {
            plan: plan.ok_or(WaitReason::NoPrice)?,
            mid2: bid + ask,
            reference2,
        })
    }

    /// Collects the available offers within the limit in the order of a sweep, and the caps of their banks. After most
    /// quotes no offer is within the limit of a waiting parent: the cost depends only on the number of usable offers.
    fn take_offers(
        &mut self,
        (setup, pricing): (&Setup, &Pricing),
        terms: &ParentTerms,
        reference2: i64,
        allowed: impl Fn(Bank) -> Option<Allowance>,
    ) {
        let (pair, takes) = (terms.pair, taken_side(terms.side));
        let collar2 = 2 * setup.pairs[pair].config.collar_ticks;
        let weight = setup.router.weight[terms.urgency];
        let offers = pricing.composites().offers(pair, takes);
        // Offers are in the order of their prices, and no plan uses offers beyond the limit.
        let within = offers.partition_point(|offer| is_within(takes, offer.price, terms.limit));
        let mut banks = BankSet::default();
        for offer in &offers[..within] {
            banks.add(usize::from(offer.bank));
        }
        for bank in banks.iter() {
            // mutant: fx: a bank off the market is traded
            let allowance = allowed(bank).filter(|_| !pricing.composites().is_off(bank, pair));
            self.caps[bank] = allowance.map_or(0, |allowance| allowance.cap);
            self.penalties[bank] = allowance.map(|allowance| weight * allowance.penalty);
        }
        self.offers.clear();
        for offer in &offers[..within] {
            let bank = usize::from(offer.bank);
            let Some(penalty) = self.penalties[bank] else {
                continue;
            };
            let slot = setup.slot(bank, pair);
            let entry = &pricing.quotes().book(slot).entries()[offer.entry as usize];
            if entry.is_used || (2 * offer.price - reference2).abs() > collar2 {
                continue;
            }
            self.offers.push(Offer { penalty, ..*offer });
        }
        self.offers
            .sort_unstable_by(|a, b| sweep_order(takes, a, b));
    }

    /// Makes the orders of the last plan, in the order of their first use, and marks their quotes as used.
    pub fn draft(
        &mut self,
        (setup, pricing): (&Setup, &mut Pricing),
        (pair, side): (Pair, Side),
        plan: &Plan,
    ) {
        self.drafts.clear();
        for leg in self.planner.legs() {
            let bank = bank_of(leg);
            let slot = setup.slot(bank, pair);
            let quote_id = pricing.use_entry(slot, leg.offer.entry as usize);
            let about = (self.is_quoted[bank], plan.kind, side);
            add_leg(&mut self.drafts, leg, quote_id, about);
        }
        let quantities = self.drafts.iter().map(|draft| draft.quantity);
        assert!(
            quantities.sum::<i64>() == plan.quantity,
            "the orders of a plan have its quantity"
        );
    }

    /// Offers that counted for the last plan, in the order of a sweep.
    pub fn counted(&self) -> &[Offer] {
        &self.offers
    }

    /// Legs of the last plan.
    pub fn legs(&self) -> &[Leg] {
        self.planner.legs()
    }

    /// Cap of a bank with a counted offer, its weighted penalty, and whether its orders name a quote.
    pub fn terms_of(&self, bank: Bank) -> (i64, i64, bool) {
        let penalty = self.penalties[bank].unwrap_or(0);
        (self.caps[bank], penalty, self.is_quoted[bank])
    }

    /// Orders of the last plan.
    pub fn drafts(&self) -> &[Draft] {
        &self.drafts
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
