//! Usable offers of a pair over all banks, and what can be had at each price. A change costs what it changes, whatever the number of
//! banks: offers are moved within the sorted list, and levels are computed again at the prices concerned only.

use super::{Composite, PriceLevel};
use crate::plan::{Offer, low, sweep_order};
use touchline_types::Side;

/// Usable offers of a pair.
///
/// Invariant: offers are in the order of a sweep, and levels are those of the offers.
#[derive(Debug, Clone, Default)]
pub(super) struct PairOffers {
    /// Sorted in the order of a sweep, by side.
    pub offers: [Vec<Offer>; 2],
    /// Levels of these offers, best first, by side.
    pub levels: [Vec<PriceLevel>; 2],
    /// Number of bands, by side.
    pub bands: [usize; 2],
    /// Worst price that the composite depends on, by side; `None` if it depends on every offer.
    pub reach: [Option<i64>; 2],
    pub composite: Composite,
    /// Whether the composite is to be computed again, by side.
    pub is_dirty: [bool; 2],
}

impl PairOffers {
    /// Replaces the offers of a bank on a side.
    pub fn replace(&mut self, side: Side, old: &[Offer], new: &[Offer]) {
        let (mut gone, mut come) = (only_in(old, new), only_in(new, old));
        loop {
            let (was, is) = (gone.next(), come.next());
            if was.is_none() && is.is_none() {
                return;
            }
            let leaves = was.map_or(old.len(), |(at, _)| at);
            let comes = is.map_or(new.len(), |(at, _)| at);
            // At this moment the bank also has what stays, what came before this one, and what leaves after it.
            let has_other = |price| {
                let mut there = new.iter().enumerate().filter(|(_, one)| one.price == price);
                let mut later = old.iter().skip(leaves + 1).filter(|one| one.price == price);
                there.any(|(at, one)| at < comes || old.contains(one))
                    || later.any(|one| !new.contains(one))
            };
            self.change(
                side,
                was.map(|(_, was)| *was),
                is.map(|(_, is)| *is),
                has_other,
            );
        }
    }

    /// Replaces an offer of a bank, adds one, or removes one; whether the bank has another offer of the side at a price.
    fn change(
        &mut self,
        side: Side,
        was: Option<Offer>,
        is: Option<Offer>,
        has_other: impl Fn(i64) -> bool,
    ) {
        let offers = &mut self.offers[side.index()];
        match (was, is) {
            (Some(was), Some(is)) => {
                let (from, to) = (held_at(offers, side, &was), place(offers, side, &is));
                // Only what lies between the two places moves.
                match to > from {
                    true => {
                        offers.copy_within(from + 1..to, from);
                        offers[to - 1] = is;
                    }
                    false => {
                        offers.copy_within(to..from, to + 1);
                        offers[to] = is;
                    }
                }
            }
            (Some(was), None) => {
                offers.remove(held_at(offers, side, &was));
            }
            (None, Some(is)) => offers.insert(place(offers, side, &is), is),
            (None, None) => {}
        }
        for offer in was.iter().chain(&is) {
            self.is_dirty[side.index()] |= offer.is_full || self.reaches(side, offer.price);
        }
        if let Some(was) = was {
            self.leave_level(side, &was, has_other(was.price));
        }
        if let Some(is) = is {
            self.join_level(side, &is, has_other(is.price));
        }
    }

    /// Whether the composite depends on offers at a price.
    fn reaches(&self, side: Side, price: i64) -> bool {
        // mutant: fx: a composite does not see a change of its last offer
        self.reach[side.index()].is_none_or(|reach| !is_better(side, reach, price))
    }

    fn join_level(&mut self, side: Side, offer: &Offer, is_bank_there: bool) {
        let levels = &mut self.levels[side.index()];
        let at = levels.partition_point(|level| is_better(side, level.price, offer.price));
        if levels
            .get(at)
            .is_none_or(|level| level.price != offer.price)
        {
            levels.insert(at, PriceLevel::empty(offer.price));
        }
        let level = &mut levels[at];
        match offer.is_full {
            // mutant: fx: bands at the best are added up
            true => level.largest = level.largest.max(offer.size),
            false => level.sum += i128::from(offer.size),
        }
        level.banks += u32::from(!is_bank_there);
        self.bands[side.index()] += usize::from(offer.is_full);
    }

    fn leave_level(&mut self, side: Side, offer: &Offer, is_bank_there: bool) {
        let (levels, offers) = (&mut self.levels[side.index()], &self.offers[side.index()]);
        let at = levels.partition_point(|level| is_better(side, level.price, offer.price));
        let level = &mut levels[at];
        level.banks -= u32::from(!is_bank_there);
        match offer.is_full {
            // The largest of the others is not known.
            true if level.largest == offer.size => {
                level.largest = largest_at(offers, side, offer.price);
            }
            true => {}
            false => level.sum -= i128::from(offer.size),
        }
        self.bands[side.index()] -= usize::from(offer.is_full);
        if level.banks == 0 {
            levels.remove(at);
        }
    }
}

impl PriceLevel {
    fn empty(price: i64) -> PriceLevel {
        PriceLevel {
            price,
            sum: 0,
            largest: 0,
            banks: 0,
        }
    }
}

/// Offers that are not among others, with their indexes. Most messages change few offers, and leave the rest at their places.
fn only_in<'a>(
    offers: &'a [Offer],
    others: &'a [Offer],
) -> impl Iterator<Item = (usize, &'a Offer)> {
    let is_new =
        |(at, offer): &(usize, &Offer)| others.get(*at) != Some(*offer) && !others.contains(offer);
    offers.iter().enumerate().filter(is_new)
}

/// Where an offer belongs.
fn place(offers: &[Offer], side: Side, offer: &Offer) -> usize {
    offers.partition_point(|other| sweep_order(side, other, offer).is_lt())
}

/// Where an offer is. An entry that moved in its bank's book is another offer with the same order, for a moment.
fn held_at(offers: &[Offer], side: Side, offer: &Offer) -> usize {
    let mut at = place(offers, side, offer);
    while offers
        .get(at)
        .is_some_and(|other| other != offer && sweep_order(side, other, offer).is_eq())
    {
        at += 1;
    }
    assert!(offers.get(at) == Some(offer), "offers-in-sweep-order");
    at
}

/// The largest band at a price.
fn largest_at(offers: &[Offer], side: Side, price: i64) -> i64 {
    let from = offers.partition_point(|offer| is_better(side, offer.price, price));
    let at_price = offers[from..]
        .iter()
        .take_while(|offer| offer.price == price);
    let bands = at_price.filter(|offer| offer.is_full);
    bands.map(|offer| offer.size).max().unwrap_or(0)
}

/// Levels of offers in the order of a sweep, computed anew: what tests compare with.
#[cfg(test)]
pub(crate) fn levels_of(offers: &[Offer]) -> Vec<PriceLevel> {
    let same_price = offers.chunk_by(|one, other| one.price == other.price);
    let level = |offers: &[Offer]| {
        let (mut level, mut banks) = (
            PriceLevel::empty(offers[0].price),
            super::BankSet::default(),
        );
        for offer in offers {
            match offer.is_full {
                true => level.largest = level.largest.max(offer.size),
                false => level.sum += i128::from(offer.size),
            }
            banks.add(usize::from(offer.bank));
        }
        level.banks = banks.len() as u32;
        level
    };
    same_price.map(level).collect()
}

/// Whether a price is better than another for who takes a side.
fn is_better(side: Side, price: i64, than: i64) -> bool {
    low(side, price) < low(side, than)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer((bank, price, size, is_full): (u16, i64, i64, bool), age: u64) -> Offer {
        Offer {
            price,
            size,
            minimum: 0,
            age,
            penalty: 0,
            entry: 0,
            bank,
            is_full,
        }
    }

    proptest! {
        /// Whatever comes, moves and goes: offers and levels are those of sorting everything.
        #[test]
        fn changes_lead_to_what_sorting_everything_does(
            steps in prop::collection::vec(
                (0_usize..12, any::<bool>(), (0_u16..3, 1_i64..6, 1_i64..4, any::<bool>())),
                1..60,
            ),
            is_bid in any::<bool>(),
        ) {
            let side = if is_bid { Side::Bid } else { Side::Ask };
            let mut pair = PairOffers::default();
            let mut kept: Vec<Offer> = Vec::new();
            for (age, (at, stays, new)) in steps.into_iter().enumerate() {
                let was = (at < kept.len()).then(|| kept.swap_remove(at));
                let bank = was.map_or(new.0, |was| was.bank);
                let is = (stays || was.is_none()).then(|| offer((bank, new.1, new.2, new.3), age as u64));
                let has_other = |price| kept.iter().any(|other| other.bank == bank && other.price == price);
                pair.change(side, was, is, has_other);
                kept.extend(is);
                let mut sorted = kept.clone();
                sorted.sort_by(|one, other| sweep_order(side, one, other));
                prop_assert_eq!(&pair.levels[side.index()], &levels_of(&sorted));
                prop_assert_eq!(pair.bands[side.index()], sorted.iter().filter(|offer| offer.is_full).count());
                prop_assert_eq!(&pair.offers[side.index()], &sorted);
            }
        }
    }
}
