//! Composite of a pair: the usable quotes of all banks, as one price for each size.

use crate::counts::{Counting, best};
use crate::plan::{Offer, Planner, Style, Want, sweep_order};
use crate::setup::{BANKS_MAX, Bank, Pair, Setup};
use crate::ticks::average;
use std::cmp::Ordering;
use touchline_types::Side;

/// Set of banks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BankSet([u64; BANKS_MAX / 64]);

impl BankSet {
    /// Adds a bank.
    pub fn add(&mut self, bank: Bank) {
        self.0[bank / 64] |= 1 << (bank % 64);
    }

    /// Whether a bank is in the set.
    pub fn has(&self, bank: Bank) -> bool {
        self.0[bank / 64] >> (bank % 64) & 1 == 1
    }

    /// Number of banks.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Banks by rank.
    pub fn iter(&self) -> impl Iterator<Item = Bank> + '_ {
        (0..BANKS_MAX).filter(|bank| self.has(*bank))
    }
}

/// Best price of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Top {
    /// Ticks.
    pub price: i64,
    /// Quantity at the price, units.
    pub quantity: i64,
    /// Banks at the price.
    pub banks: BankSet,
}

/// Relation of the best bid to the best ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// No usable quotes.
    #[default]
    Empty,
    /// One side is missing.
    OneSided,
    /// The bid is below the ask.
    Normal,
    /// They are equal.
    Locked,
    /// The bid is above the ask.
    Crossed,
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

    /// Twice the mid, ticks: best bid plus best ask.
    pub fn mid2(&self) -> Option<i64> {
        let [bid, ask] = &self.tops;
        Some(bid.as_ref()?.price + ask.as_ref()?.price)
    }
}

/// Relation of the best bid to the best ask.
pub fn state(tops: &[Option<Top>; 2]) -> State {
    let [Some(bid), Some(ask)] = tops else {
        return match tops.iter().any(Option::is_some) {
            true => State::OneSided,
            false => State::Empty,
        };
    };
    match bid.price.cmp(&ask.price) {
        Ordering::Less => State::Normal,
        Ordering::Equal => State::Locked,
        Ordering::Greater => State::Crossed,
    }
}

/// Composites of all pairs, and their offers.
#[derive(Debug, Clone)]
pub struct Composites {
    pairs: Vec<PairOffers>,
    /// Best usable price of each slot, by side.
    own: Vec<[Option<i64>; 2]>,
    caps: Vec<i64>,
    is_quoted: Vec<bool>,
    planner: Planner,
}

/// Usable offers of a pair, over all banks.
#[derive(Debug, Clone, Default)]
struct PairOffers {
    /// Sorted in the order of a sweep, by side.
    offers: [Vec<Offer>; 2],
    composite: Composite,
    is_dirty: bool,
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
            own: vec![[None; 2]; setup.slots()],
            caps: setup.banks.iter().map(|bank| bank.config.max_qty).collect(),
            is_quoted: setup.banks.iter().map(|bank| bank.is_quoted).collect(),
            planner: Planner::new(setup.banks.len()),
        }
    }

    /// Replaces the usable offers of a bank's pair.
    pub fn replace(&mut self, setup: &Setup, (bank, pair): (Bank, Pair), counting: &Counting) {
        let entry = &mut self.pairs[pair];
        for side in Side::BOTH {
            let (offers, new) = (
                &mut entry.offers[side.index()],
                &counting.offers[side.index()],
            );
            offers.retain(|offer| usize::from(offer.bank) != bank);
            for offer in new {
                let at = offers.partition_point(|other| sweep_order(side, other, offer).is_lt());
                offers.insert(at, *offer);
            }
            self.own[setup.slot(bank, pair)][side.index()] = best(side, new);
        }
        entry.is_dirty = true;
    }

    /// Computes the composite of a pair again if its offers changed. True if they did.
    pub fn refresh(&mut self, setup: &Setup, pair: Pair) -> bool {
        let config = &setup.pairs[pair].config;
        let entry = &mut self.pairs[pair];
        if !std::mem::take(&mut entry.is_dirty) {
            return false;
        }
        for side in Side::BOTH {
            let offers = &entry.offers[side.index()];
            entry.composite.tops[side.index()] = top(offers);
            for (quantity, averages) in config.sizes.iter().zip(&mut entry.composite.averages) {
                let want = Want {
                    takes: side,
                    quantity: *quantity,
                    limit: None,
                    lot: config.lot,
                    caps: &self.caps,
                    is_quoted: &self.is_quoted,
                    style: Style::Best,
                    parts: false,
                    combine: setup.router.combine,
                };
                let plan = self.planner.plan(offers, &want);
                averages[side.index()] =
                    plan.map(|plan| average(plan.cost, plan.quantity, side == Side::Ask));
            }
        }
        true
    }

    /// Composite of a pair as of its last refresh.
    pub fn of(&self, pair: Pair) -> &Composite {
        &self.pairs[pair].composite
    }

    /// Usable offers of a pair's side, in the order of a sweep.
    pub fn offers(&self, pair: Pair, side: Side) -> &[Offer] {
        &self.pairs[pair].offers[side.index()]
    }

    /// A bank's own best usable bid and ask.
    pub fn own(&self, setup: &Setup, bank: Bank, pair: Pair) -> [Option<i64>; 2] {
        self.own[setup.slot(bank, pair)]
    }
}

/// Best price of offers in the order of a sweep.
fn top(offers: &[Offer]) -> Option<Top> {
    let price = offers.first()?.price;
    let (mut sum, mut largest, mut banks) = (0, 0, BankSet::default());
    for offer in offers.iter().take_while(|offer| offer.price == price) {
        match offer.is_full {
            // mutant: fx: bands at the best are added up
            true => largest = i64::max(largest, offer.size),
            false => sum = i64::saturating_add(sum, offer.size),
        }
        banks.add(usize::from(offer.bank));
    }
    Some(Top {
        price,
        quantity: i64::max(sum, largest),
        banks,
    })
}
