//! A plan made again from what its record has.

use super::draft::{Draft, add_leg};
use super::{Leg, Offer, Plan, Planner, Want, sweep_order};
use touchline_fx_events::event::{Event, PlanLeg};
use touchline_fx_events::parents::{Lifetime, ParentTerms};
use touchline_fx_events::seen::{Seen, SeenEntry, SeenLists};
use touchline_fx_events::setup::BANKS_MAX;
use touchline_fx_events::ticks::average;
use touchline_types::{Id, Side};

/// A plan and its orders, without the quotes that these name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// The plan.
    pub plan: Plan,
    /// Its orders.
    pub orders: Vec<Draft>,
    /// Entries that it uses, by their places among those of the record.
    pub entries: Vec<usize>,
}

/// The side whose entries a parent takes.
pub fn taken_side(side: Side) -> Side {
    match side {
        Side::Bid => Side::Ask,
        Side::Ask => Side::Bid,
    }
}

/// Whether plans of a parent may be for a part of its open quantity.
pub fn may_part(terms: &ParentTerms) -> bool {
    terms.partial && terms.lifetime != Lifetime::AllOrNothing
}

/// Plan for the open quantity of a parent from a record; `None` if no recorded entry can be used.
pub fn plan_again(terms: &ParentTerms, open: i64, seen: &Seen, lists: &SeenLists) -> Option<Again> {
    let (mut caps, mut is_quoted) = (vec![open; BANKS_MAX], vec![false; BANKS_MAX]);
    let mut penalties = vec![0; BANKS_MAX];
    for limit in &lists.limits[seen.limits.clone()] {
        caps[limit.bank] = limit.cap.unwrap_or(open);
        is_quoted[limit.bank] = limit.is_quoted;
        penalties[limit.bank] = limit.penalty;
    }
    let takes = taken_side(terms.side);
    let entries = &lists.entries[seen.entries.clone()];
    let taken = entries.iter().enumerate();
    let taken = taken.filter(|(_, entry)| entry.is_taken_side);
    let mut offers: Vec<Offer> = taken
        .map(|(place, entry)| Offer {
            price: entry.price,
            size: entry.size,
            minimum: entry.minimum,
            age: age(entries, entry),
            penalty: penalties[entry.bank],
            entry: place as u32,
            bank: entry.bank as u16,
            is_full: entry.is_full,
        })
        .collect();
    offers.sort_by(|one, other| sweep_order(takes, one, other));
    let want = Want {
        takes,
        quantity: open,
        limit: terms.limit,
        lot: seen.lot,
        caps: &caps,
        is_quoted: &is_quoted,
        style: terms.style,
        parts: may_part(terms),
        combine: seen.combine,
    };
    let mut planner = Planner::new(BANKS_MAX);
    let plan = planner.plan(&offers, &want)?;
    let mut orders = Vec::new();
    for leg in planner.legs() {
        let is_quoted = is_quoted[usize::from(leg.offer.bank)];
        add_leg(
            &mut orders,
            leg,
            Id::EMPTY,
            (is_quoted, plan.kind, terms.side),
        );
    }
    let entry = |leg: &Leg| leg.offer.entry as usize;
    Some(Again {
        plan,
        orders,
        entries: planner.legs().iter().map(entry).collect(),
    })
}

/// Whether a plan that was made again is that of a record: kind, quantity, average price, and its orders.
pub fn is_of_record(again: &Again, terms: &ParentTerms, plan: &Event, legs: &[PlanLeg]) -> bool {
    let Event::Plan {
        kind,
        quantity,
        average: recorded,
        ..
    } = plan
    else {
        return false;
    };
    let Again { plan, orders, .. } = again;
    let is_buyer = terms.side == Side::Bid;
    let made = orders.iter();
    let made = made.map(|order| (order.bank, order.quantity, order.price, order.penalty));
    let legs = legs.iter();
    let legs = legs.map(|leg| (leg.bank, leg.quantity, leg.price, leg.penalty));
    (plan.kind, plan.quantity) == (*kind, *quantity)
        && average(plan.cost, plan.quantity, is_buyer) == *recorded
        && made.eq(legs)
}

/// Age of an entry among those of its bank: settings are stated by their low bits.
fn age(entries: &[SeenEntry], entry: &SeenEntry) -> u64 {
    let mut of_bank = entries.iter().filter(|other| other.bank == entry.bank);
    let first = of_bank.next().map_or(entry.setting, |first| first.setting);
    let behind = entry.setting.wrapping_sub(first) as i16;
    (i64::from(i16::MAX) + 1 + i64::from(behind)) as u64
}
