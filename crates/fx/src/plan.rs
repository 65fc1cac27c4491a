//! Plan for a size: the offers to use, and the quantity of each.
//!
//! A *sweep* uses offers that add up, best first. A *ticket* uses one offer for the whole size. A *combination* is a
//! ticket of a band's size and a sweep of the rest. The cheapest complete candidate wins. Costs are ticks times units;
//! *effective* prices are in tenths of a tick and include the banks' penalties.
//!
//! Without minimum quantities the plan is optimal; where minima apply, offers that cannot be used in their turn are
//! skipped. Source: `docs/venues/fx-banks.md`, "Cost of a size".

mod again;
mod draft;
mod sweep;

use std::cmp::{Ordering, Reverse};
use sweep::Sweep;

pub use again::{Again, is_of_record, may_part, plan_again, taken_side};
pub use draft::Draft;
pub(crate) use draft::add_leg;
pub(crate) use sweep::whole_lots;
use touchline_fx_events::plan::{PlanKind, Style};
use touchline_fx_events::setup::Bank;
use touchline_types::Side;

/// Legs of a plan for which [`Planner::reserve`] takes memory.
const LEGS_ROOM: usize = 1_024;

/// An available entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Price, ticks.
    pub price: i64,
    /// Size in whole lots, units.
    pub size: i64,
    /// Minimum quantity of an order on it, units.
    pub minimum: i64,
    /// Age: number of its setting among all of the bank.
    pub age: u64,
    /// Weighted penalty of the bank, tenths of a tick.
    pub penalty: i64,
    /// Index in the bank's book.
    pub entry: u32,
    /// Bank.
    pub bank: u16,
    /// Whether the entry is a band, used as one ticket and never added up.
    pub is_full: bool,
}

/// Request for a plan.
#[derive(Debug, Clone, Copy)]
pub struct Want<'a> {
    /// The side of the offers: asks for a buyer.
    pub takes: Side,
    /// Units. Without whole lots (fills left a part of one) only a partial plan is made, for the whole lots in it.
    pub quantity: i64,
    /// Worst allowed price, ticks.
    pub limit: Option<i64>,
    /// The pair's lot.
    pub lot: i64,
    /// Maximum quantity from each bank, by rank.
    pub caps: &'a [i64],
    /// Whether a bank's orders name a quote, by rank: its minimum then applies to each entry instead of the sum.
    pub is_quoted: &'a [bool],
    /// Allowed candidates.
    pub style: Style,
    /// Whether a partial plan is allowed.
    pub parts: bool,
    /// Whether a ticket and a sweep may be combined.
    pub combine: bool,
}

/// A plan. Its legs are [`Planner::legs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Kind.
    pub kind: PlanKind,
    /// Units.
    pub quantity: i64,
    /// Ticks times units.
    pub cost: i128,
}

/// A part of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// The offer.
    pub offer: Offer,
    /// Quantity used, units.
    pub quantity: i64,
}

/// Planner with reusable memory.
#[derive(Debug, Clone, Default)]
pub struct Planner {
    sweep: Sweep,
    /// Legs of the best candidate.
    legs: Vec<Leg>,
    /// Bands by rank and age.
    bands: Vec<u32>,
}

/// Whether an offer is at the limit or better.
pub(crate) fn is_within(takes: Side, price: i64, limit: Option<i64>) -> bool {
    limit.is_none_or(|limit| match takes {
        Side::Ask => price <= limit,
        Side::Bid => price >= limit,
    })
}

/// A value for which lower is better on either side.
pub(crate) fn low<T: std::ops::Neg<Output = T>>(takes: Side, value: T) -> T {
    match takes {
        Side::Ask => value,
        Side::Bid => -value,
    }
}

impl Offer {
    /// Whether this is the other one, of the same bank and pair: an entry has a new age each time that it is set.
    #[inline]
    pub(crate) fn is(&self, other: &Offer) -> bool {
        self.age == other.age && self.entry == other.entry
    }

    /// Effective price in tenths of a tick, lower is better.
    fn effective(&self, takes: Side) -> i64 {
        10 * low(takes, self.price) + self.penalty
    }
}

/// Order of a sweep: effective price, price, larger size, rank, age.
#[inline]
pub fn sweep_order(takes: Side, a: &Offer, b: &Offer) -> Ordering {
    // Most offers differ in the first: the others are computed where they are needed.
    let later = || {
        let key = |offer: &Offer| {
            let size = Reverse(offer.size);
            (low(takes, offer.price), size, offer.bank, offer.age)
        };
        key(a).cmp(&key(b))
    };
    a.effective(takes).cmp(&b.effective(takes)).then_with(later)
}

impl Planner {
    /// A planner for this many banks.
    pub fn new(banks: usize) -> Planner {
        Planner {
            sweep: Sweep::new(banks),
            ..Planner::default()
        }
    }

    /// Reserves memory, so that a plan needs none.
    pub fn reserve(&mut self) {
        self.sweep.legs.reserve(LEGS_ROOM);
        self.legs.reserve(LEGS_ROOM);
        self.bands.reserve(LEGS_ROOM);
    }

    /// The plan for a request, from offers in [`sweep_order`]; none if no offer can be used.
    pub fn plan(&mut self, offers: &[Offer], want: &Want<'_>) -> Option<Plan> {
        self.legs.clear();
        // mutant: fx: a ticket is not in whole lots
        let quantity = whole_lots(want.quantity, want.lot);
        let is_cut = quantity < want.quantity;
        if quantity == 0 || (is_cut && !want.parts) {
            self.sweep.end = None;
            return None;
        }
        let want = &Want { quantity, ..*want };
        let mut best = None;
        if want.style != Style::Sweep {
            self.ticket(offers, want, &mut best);
        }
        if want.style != Style::Full {
            let rest = self.sweep(offers, want, &mut best);
            if want.style == Style::Best && want.combine {
                self.combinations(offers, want, &mut best);
            }
            if best.is_none() && want.parts {
                best = self.part(offers, want, rest);
            }
        }
        best.map(|(plan, _)| plan)
    }

    /// The legs of the last plan.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Price of the last offer that the last plan's sweep came to; `None` if it came to all and was not complete, or there was none.
    pub fn sweep_end(&self) -> Option<i64> {
        self.sweep.end
    }

    /// One offer for the whole size.
    fn ticket(&mut self, offers: &[Offer], want: &Want<'_>, best: &mut Option<Candidate>) {
        let takes = want.takes;
        let may_take = |offer: &&Offer| {
            (offer.is_full || want.style == Style::Full)
                && is_within(takes, offer.price, want.limit)
                && offer.size >= want.quantity
                && want.quantity >= offer.minimum
                && want.caps[usize::from(offer.bank)] >= want.quantity
        };
        let key = |offer: &&Offer| {
            let size = offer.size;
            (
                offer.effective(takes),
                low(takes, offer.price),
                size,
                offer.bank,
                offer.age,
            )
        };
        // The first offer in sweep order is the cheapest; others of the same cost may be smaller.
        let mut of_price = offers.iter().skip_while(|offer| !may_take(offer));
        let first = of_price.next();
        let cost = |offer: &Offer| (offer.effective(takes), offer.price);
        let as_cheap =
            of_price.take_while(|offer| first.is_some_and(|first| cost(first) == cost(offer)));
        let others = as_cheap.filter(may_take);
        if let Some(offer) = first.into_iter().chain(others).min_by_key(key) {
            let leg = Leg {
                offer: *offer,
                quantity: want.quantity,
            };
            self.offer(want, PlanKind::Full, &[leg], best);
        }
    }

    /// Amounts that add up, best first. Returns the unfilled rest.
    fn sweep(&mut self, offers: &[Offer], want: &Want<'_>, best: &mut Option<Candidate>) -> i64 {
        let left = self.sweep.walk(offers, want, want.quantity, None);
        if left == 0 {
            let legs = std::mem::take(&mut self.sweep.legs);
            self.offer(want, PlanKind::Sweep, &legs, best);
            self.sweep.legs = legs;
        }
        left
    }

    /// A band and a sweep of the rest without its bank.
    fn combinations(&mut self, offers: &[Offer], want: &Want<'_>, best: &mut Option<Candidate>) {
        let mut bands = std::mem::take(&mut self.bands);
        bands.clear();
        bands.extend((0..offers.len() as u32).filter(|at| offers[*at as usize].is_full));
        bands.sort_unstable_by_key(|at| {
            let offer = &offers[*at as usize];
            (offer.bank, offer.age)
        });
        for at in &bands {
            let band = &offers[*at as usize];
            let quantity = band.size;
            let may_take = quantity > 0
                && quantity >= band.minimum
                && quantity < want.quantity
                && quantity <= want.caps[usize::from(band.bank)]
                // mutant: fx: a combination beyond the limit
                && is_within(want.takes, band.price, want.limit);
            if !may_take {
                continue;
            }
            let rest = want.quantity - quantity;
            let without = Some(usize::from(band.bank));
            if self.sweep.walk(offers, want, rest, without) == 0 {
                let mut legs = std::mem::take(&mut self.sweep.legs);
                let ticket = Leg {
                    offer: *band,
                    quantity,
                };
                legs.insert(0, ticket);
                self.offer(want, PlanKind::Both, &legs, best);
                self.sweep.legs = legs;
            }
        }
        self.bands = bands;
    }

    /// The largest partial sweep.
    fn part(&mut self, offers: &[Offer], want: &Want<'_>, left: i64) -> Option<Candidate> {
        if left == want.quantity {
            return None;
        }
        let mut best = None;
        let _ = self.sweep.walk(offers, want, want.quantity, None);
        let legs = std::mem::take(&mut self.sweep.legs);
        self.offer(want, PlanKind::Sweep, &legs, &mut best);
        self.sweep.legs = legs;
        best
    }

    /// Keeps a candidate if it is better than the best so far.
    fn offer(
        &mut self,
        want: &Want<'_>,
        kind: PlanKind,
        legs: &[Leg],
        best: &mut Option<Candidate>,
    ) {
        let (mut quantity, mut cost, mut effective) = (0, 0, 0);
        for leg in legs {
            let units = i128::from(leg.quantity);
            quantity += leg.quantity;
            cost += i128::from(leg.offer.price) * units;
            effective += i128::from(leg.offer.effective(want.takes)) * units;
        }
        assert!(
            quantity <= want.quantity,
            "a plan has at most what is wanted"
        );
        let rank = (effective, low(want.takes, cost));
        if best.is_none_or(|(_, other)| rank < other) {
            *best = Some((
                Plan {
                    kind,
                    quantity,
                    cost,
                },
                rank,
            ));
            self.legs.clear();
            self.legs.extend_from_slice(legs);
        }
    }
}

/// A plan with effective cost and cost, lower is better.
type Candidate = (Plan, (i128, i128));

/// The bank of a leg.
pub(crate) fn bank_of(leg: &Leg) -> Bank {
    usize::from(leg.offer.bank)
}
