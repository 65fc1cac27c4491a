//! Usable offers of a pair over all banks, and their price levels. The cost of a change depends on its size, not on the number of
//! banks: offers are moved within the sorted list, and levels are computed again at the prices concerned only.

use super::sorted::SortedOffers;
use super::{Composite, PriceLevel};
use crate::plan::{Offer, low};
use touchline_fx_events::plan::Style;
use touchline_types::Side;

/// Usable offers of a pair.
///
/// Invariant: offers are in the order of a sweep, and levels are those of the offers.
#[derive(Debug, Clone, Default)]
pub(super) struct PairOffers {
    /// Offers in the order of a sweep, by side.
    pub offers: [SortedOffers; 2],
    /// Levels of these offers, best first, by side.
    pub levels: [Vec<PriceLevel>; 2],
    /// Number of bands, by side.
    pub bands: [usize; 2],
    /// Worst price that the composite depends on, by side; `None` if it depends on every offer.
    pub reach: [Option<i64>; 2],
    pub composite: Composite,
    /// Changes of the levels so far, by side.
    pub revisions: [u64; 2],
    /// Whether the composite is out of date, by side.
    pub is_dirty: [bool; 2],
}

impl PairOffers {
    /// Allowed candidates of plans on a side: without bands there is no ticket and no combination.
    pub fn style(&self, side: Side) -> Style {
        match self.bands[side.index()] {
            0 => Style::Sweep,
            _ => Style::Best,
        }
    }

    /// Replaces a bank's offers of a side after its first `ahead` offers, which stay. True if any of the replaced
    /// offers changed.
    pub fn replace(&mut self, side: Side, old: &[Offer], ahead: usize, new: &[Offer]) -> bool {
        // Most messages change few offers, and leave the rest at their places.
        let gone = &old[ahead..];
        let behind = gone.iter().rev().zip(new.iter().rev());
        let behind = behind.take_while(|(one, other)| one.is(other)).count();
        let gone = &gone[..gone.len() - behind];
        let come = &new[..new.len() - behind];
        for at in 0..gone.len().max(come.len()) {
            // At this step the bank has its old offers, less the removed offers including this one, plus the offers
            // added before this one.
            let has_other = |price| {
                let left = &gone[..gone.len().min(at + 1)];
                let came = &come[..come.len().min(at)];
                number_at(old, price) + number_at(came, price) > number_at(left, price)
            };
            let (was, is) = (gone.get(at).copied(), come.get(at).copied());
            self.change(side, was, is, has_other);
        }
        !gone.is_empty() || !come.is_empty()
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
        match (&was, &is) {
            (Some(was), Some(is)) => offers.replace(side, was, is),
            (Some(was), None) => offers.remove(side, was),
            (None, Some(is)) => offers.insert(side, is),
            (None, None) => {}
        }
        for offer in was.iter().chain(&is) {
            self.is_dirty[side.index()] |= offer.is_full || self.reaches(side, offer.price);
        }
        self.revisions[side.index()] += 1;
        match (was, is) {
            (Some(was), Some(is)) if was.price == is.price && !was.is_full && !is.is_full => {
                let levels = &mut self.levels[side.index()];
                let at = level_place(levels, side, is.price);
                levels[at].sum += i128::from(is.size) - i128::from(was.size);
            }
            _ => {
                if let Some(was) = was {
                    self.leave_level(side, &was, has_other(was.price));
                }
                if let Some(is) = is {
                    self.join_level(side, &is, has_other(is.price));
                }
            }
        }
    }

    /// Whether the composite depends on offers at a price.
    fn reaches(&self, side: Side, price: i64) -> bool {
        self.reach[side.index()].is_none_or(|reach| !is_better(side, reach, price))
    }

    fn join_level(&mut self, side: Side, offer: &Offer, is_bank_there: bool) {
        let levels = &mut self.levels[side.index()];
        let at = level_place(levels, side, offer.price);
        if levels
            .get(at)
            .is_none_or(|level| level.price != offer.price)
        {
            levels.insert(at, PriceLevel::empty(offer.price));
        }
        let level = &mut levels[at];
        match offer.is_full {
            true => level.largest = level.largest.max(offer.size),
            false => level.sum += i128::from(offer.size),
        }
        level.banks += u32::from(!is_bank_there);
        self.bands[side.index()] += usize::from(offer.is_full);
    }

    fn leave_level(&mut self, side: Side, offer: &Offer, is_bank_there: bool) {
        let (levels, offers) = (&mut self.levels[side.index()], &self.offers[side.index()]);
        let at = level_place(levels, side, offer.price);
        let level = &mut levels[at];
        assert!(
            level.price == offer.price,
            "a level has the price of its offers"
        );
        level.banks -= u32::from(!is_bank_there);
        match offer.is_full {
            // The largest of the others is not known.
            true if level.largest == offer.size => {
                let bands = offers
                    .at_price(side, offer.price)
                    .filter(|offer| offer.is_full);
                level.largest = bands.map(|offer| offer.size).max().unwrap_or(0);
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

/// Number of offers at a price, without a branch for each.
fn number_at(offers: &[Offer], price: i64) -> usize {
    let at_price = offers.iter().map(|offer| usize::from(offer.price == price));
    at_price.sum()
}

/// Index at which the level of a price is, or belongs.
fn level_place(levels: &[PriceLevel], side: Side, price: i64) -> usize {
    levels.partition_point(|level| is_better(side, level.price, price))
}

/// Levels of offers in the order of a sweep, computed from scratch for tests.
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

/// Whether a price is better than another for a taker of the side.
fn is_better(side: Side, price: i64, than: i64) -> bool {
    low(side, price) < low(side, than)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sweep_order;
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
        /// After any insertion, move and removal, offers and levels equal those of a full sort.
        #[test]
        fn incremental_changes_equal_a_complete_sort(
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
                prop_assert_eq!(pair.offers[side.index()].all(), &sorted[..]);
            }
        }
    }
}
