//! Composite of a pair: the usable quotes of all banks, as one price for each size.

mod offers;
mod reference;
mod sorted;

#[cfg(test)]
pub(crate) use offers::levels_of;

use crate::config::WithoutReference;
use crate::counts::{Counting, best};
use crate::plan::{Offer, Planner, Want};
use crate::quotes::NEVER;
use crate::setup::{Setup, Slot, ns};
use offers::PairOffers;
use reference::PairReference;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::ticks::average;
use touchline_types::Side;

use touchline_fx_events::composite::{BankSet, State, Top, state};

/// Level: available quantity at a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceLevel {
    /// Ticks.
    pub price: i64,
    /// Sum of amounts, units.
    pub sum: i128,
    /// Largest band, units.
    pub largest: i64,
    /// Number of banks at the price.
    pub banks: u32,
}

impl PriceLevel {
    /// The larger of the sum of amounts and the largest band, units.
    pub fn quantity(&self) -> i64 {
        i64::try_from(self.sum)
            .unwrap_or(i64::MAX)
            .max(self.largest)
    }
}

/// Composite of one pair over all banks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Composite {
    /// Best bid and ask, by side.
    pub tops: [Option<Top>; 2],
    /// Average price for each configured size, hundredths of a tick, by the side that is taken; none if the size is not
    /// available completely.
    pub averages: Vec<[Option<i64>; 2]>,
}

impl Composite {
    /// Relation of the sides.
    pub fn state(&self) -> State {
        state(&self.tops)
    }
}

/// Composites of all pairs, and their offers.
#[derive(Debug, Clone)]
pub struct Composites {
    pairs: Vec<PairOffers>,
    /// Usable offers of each slot, by side.
    held: Vec<[Vec<Offer>; 2]>,
    /// Best usable price of each slot, by side.
    own: Vec<[Option<i64>; 2]>,
    /// Reference of each pair; empty if only prices are composed.
    references: Vec<PairReference>,
    caps: Vec<i64>,
    /// Memory of [`Composites::average`].
    traded_caps: Vec<i64>,
    is_quoted: Vec<bool>,
    planner: Planner,
}

impl Composites {
    /// Composites without usable quotes.
    pub fn new(setup: &Setup) -> Composites {
        let empty = |pair: usize| PairOffers {
            composite: Composite {
                averages: vec![[None; 2]; setup.pairs[pair].config.sizes.len()],
                ..Composite::default()
            },
            ..PairOffers::default()
        };
        Composites {
            pairs: (0..setup.pairs.len()).map(empty).collect(),
            held: vec![Default::default(); setup.slots()],
            own: vec![[None; 2]; setup.slots()],
            references: vec![PairReference::default(); setup.pairs.len()],
            caps: setup.banks.iter().map(|bank| bank.config.max_qty).collect(),
            is_quoted: setup.banks.iter().map(|bank| bank.is_quoted).collect(),
            traded_caps: Vec::with_capacity(setup.banks.len()),
            planner: Planner::new(setup.banks.len()),
        }
    }

    /// Reserves memory, so that an average needs none.
    pub fn reserve(&mut self) {
        self.planner.reserve();
    }

    /// Replaces the usable offers of a bank's pair: those counted ahead stay.
    pub fn replace(&mut self, setup: &Setup, (bank, pair): (Bank, Pair), counting: &Counting) {
        let slot = setup.slot(bank, pair);
        let entry = &mut self.pairs[pair];
        let was = self.own[slot];
        for side in Side::BOTH {
            let old = &mut self.held[slot][side.index()];
            let (ahead, new) = (counting.ahead[side.index()], &counting.offers[side.index()]);
            if entry.replace(side, old, ahead, new) {
                old.truncate(ahead);
                old.extend_from_slice(new);
                self.own[slot][side.index()] = best(side, old);
            }
        }
        let is = self.own[slot];
        if was != is
            && let Some(reference) = self.references.get_mut(pair)
        {
            reference.change(was, is);
        }
    }

    /// Composes prices alone: no references are made, and no bank is off the market.
    pub fn without_references(&mut self) {
        self.references.clear();
    }

    /// Whether the reference of a pair is due to be computed.
    pub fn is_reference_due(&self, pair: Pair, now_ns: u64) -> bool {
        self.references
            .get(pair)
            .is_some_and(|reference| reference.is_due(now_ns))
    }

    /// Makes the reference of a pair again, and judges its banks by it: `each` has the banks that left the market or are near it
    /// again, by rank.
    pub fn renew_reference(
        &mut self,
        setup: &Setup,
        pair: Pair,
        now_ns: u64,
        mut each: impl FnMut(Bank, bool),
    ) {
        let reference = &mut self.references[pair];
        reference.renew(now_ns, ns(setup.risk.reference_ttl_ms));
        let off_ticks = setup.pairs[pair].config.off_market_ticks;
        for bank in 0..setup.banks.len() {
            let own = self.own[setup.slot(bank, pair)];
            if let Some(is_off) = reference.judge(bank, own, off_ticks) {
                each(bank, is_off);
            }
        }
    }

    /// Earliest end of a reference; [`NEVER`] if no reference ends without a new quote.
    pub fn reference_due_ns(&self) -> u64 {
        let due = self.references.iter().map(PairReference::due_ns);
        due.min().unwrap_or(NEVER)
    }

    /// Time at which the reference of a pair ends.
    pub fn reference_ends_ns(&self, pair: Pair) -> u64 {
        self.references[pair].due_ns()
    }

    /// Forgets all references.
    pub fn forget_reference(&mut self, pair: Pair) {
        if let Some(reference) = self.references.get_mut(pair) {
            reference.forget();
        }
    }

    /// Forgets all references.
    pub fn forget_references(&mut self) {
        self.references.iter_mut().for_each(PairReference::forget);
    }

    /// Twice the reference of a pair, ticks, with which prices are compared. Without a valid reference the traded mid
    /// takes its place, if so configured.
    pub fn reference2(&self, setup: &Setup, pair: Pair) -> Option<i64> {
        let valid2 = self.references.get(pair).and_then(PairReference::valid2);
        match setup.risk.without_reference {
            WithoutReference::Composite => valid2.or_else(|| self.mid2(pair)),
            WithoutReference::Wait => valid2,
        }
    }

    /// Whether a bank is off the market in a pair.
    pub fn is_off(&self, bank: Bank, pair: Pair) -> bool {
        self.references
            .get(pair)
            .is_some_and(|reference| reference.has_off() && reference.off().has(bank))
    }

    /// Best prices of a pair without the banks off the market, by side: these are traded.
    pub fn traded(&self, pair: Pair) -> [Option<i64>; 2] {
        let has_off = self
            .references
            .get(pair)
            .is_some_and(PairReference::has_off);
        Side::BOTH.map(|side| match has_off {
            false => self.of(pair).tops[side.index()]
                .as_ref()
                .map(|top| top.price),
            true => {
                let mut offers = self.offers(pair, side).iter();
                let best = offers.find(|offer| !self.is_off(usize::from(offer.bank), pair));
                best.map(|offer| offer.price)
            }
        })
    }

    /// Twice the mid of the traded prices, ticks.
    pub fn mid2(&self, pair: Pair) -> Option<i64> {
        let [bid, ask] = self.traded(pair);
        Some(bid? + ask?)
    }

    /// Average price of a quantity on a side, hundredths of a tick, as the averages of the composite, without the banks off the
    /// market; none if the quantity is not available completely.
    pub fn average(
        &mut self,
        setup: &Setup,
        (pair, takes): (Pair, Side),
        quantity: i64,
    ) -> Option<i64> {
        let mut room = std::mem::take(&mut self.traded_caps);
        room.clear();
        for (bank, about) in setup.banks.iter().enumerate() {
            let is_off = self.is_off(bank, pair);
            room.push(if is_off { 0 } else { about.config.max_qty });
        }
        let entry = &self.pairs[pair];
        let want = Want {
            takes,
            quantity,
            limit: None,
            lot: setup.pairs[pair].config.lot,
            caps: &room,
            is_quoted: &self.is_quoted,
            style: entry.style(takes),
            parts: false,
            combine: setup.router.combine,
        };
        let plan = self
            .planner
            .plan(entry.offers[takes.index()].all(), &want)
            .map(|plan| average(plan.cost, plan.quantity, takes == Side::Ask));
        self.traded_caps = room;
        plan
    }

    /// Usable offers of a bank's pair, by side.
    pub fn held(&self, slot: Slot) -> &[Vec<Offer>; 2] {
        &self.held[slot]
    }

    /// Whether the composite of a pair is out of date.
    pub fn is_dirty(&self, pair: Pair) -> bool {
        self.pairs[pair].is_dirty != [false; 2]
    }

    /// Computes the composite of a pair again if offers that it depends on changed.
    pub fn refresh(&mut self, setup: &Setup, pair: Pair) {
        for side in Side::BOTH {
            if std::mem::take(&mut self.pairs[pair].is_dirty[side.index()]) {
                self.refresh_side(setup, pair, side);
            }
        }
    }

    fn refresh_side(&mut self, setup: &Setup, pair: Pair, side: Side) {
        let config = &setup.pairs[pair].config;
        let entry = &mut self.pairs[pair];
        let offers = entry.offers[side.index()].all();
        let top = top(entry.levels[side.index()].first(), offers);
        let style = entry.style(side);
        // Further offers change nothing, unless a size needs them.
        let mut reach = top.map(|top| top.price);
        entry.composite.tops[side.index()] = top;
        for (quantity, averages) in config.sizes.iter().zip(&mut entry.composite.averages) {
            let want = Want {
                takes: side,
                quantity: *quantity,
                limit: None,
                lot: config.lot,
                caps: &self.caps,
                is_quoted: &self.is_quoted,
                style,
                parts: false,
                combine: setup.router.combine,
            };
            let plan = self.planner.plan(offers, &want);
            averages[side.index()] =
                plan.map(|plan| average(plan.cost, plan.quantity, side == Side::Ask));
            let end = match want.combine {
                true => None,
                false => self.planner.sweep_end(),
            };
            reach = reach.zip(end).map(|(one, other)| match side {
                Side::Bid => one.min(other),
                Side::Ask => one.max(other),
            });
        }
        entry.reach[side.index()] = reach;
    }

    /// Composite of a pair as of its last refresh.
    pub fn of(&self, pair: Pair) -> &Composite {
        &self.pairs[pair].composite
    }

    /// Usable offers of a pair's side, in the order of a sweep.
    pub fn offers(&self, pair: Pair, side: Side) -> &[Offer] {
        self.pairs[pair].offers[side.index()].all()
    }

    /// Levels of a pair's side, best first.
    pub fn levels(&self, pair: Pair, side: Side) -> &[PriceLevel] {
        &self.pairs[pair].levels[side.index()]
    }

    /// A number that changes with the levels of a pair's side.
    pub fn revision(&self, pair: Pair, side: Side) -> u64 {
        self.pairs[pair].revisions[side.index()]
    }

    /// Best usable bid and ask of one bank.
    pub fn own(&self, setup: &Setup, bank: Bank, pair: Pair) -> [Option<i64>; 2] {
        self.own[setup.slot(bank, pair)]
    }
}

/// The best level, with its banks.
fn top(best: Option<&PriceLevel>, offers: &[Offer]) -> Option<Top> {
    let best = best?;
    let mut banks = BankSet::default();
    for offer in offers.iter().take_while(|offer| offer.price == best.price) {
        banks.add(usize::from(offer.bank));
    }
    Some(Top {
        price: best.price,
        quantity: best.quantity(),
        banks,
    })
}
