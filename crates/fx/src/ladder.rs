//! Levels of a composite as a price ladder, and what changed between two of them as steps of a book.

use crate::composite::PriceLevel;
use touchline_types::{BookKind, Level, LevelAction, LevelChange, Price, Quantity, Side};

/// Decimals of a [`Price`].
const PRICE_DECIMALS: u32 = 9;

/// A ladder of both sides, best prices first, as it was published last.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// By side.
    sides: [Vec<Level>; 2],
    next: Vec<Level>,
    changes: Vec<LevelChange>,
    levels_max: usize,
    /// Price of a tick, in 1e-9.
    tick: i64,
}

/// A price of so many decimals, in ticks, as a [`Price`]; [`Price::NULL`] beyond its range.
pub fn price_of(ticks: i64, precision: u8) -> Price {
    scaled(ticks, tick(u32::from(precision)))
}

/// A price in hundredths of a tick, likewise, rounded down where 1e-9 is coarser.
pub fn price_of_hundredths(hundredths: i64, precision: u8) -> Price {
    match PRICE_DECIMALS.checked_sub(u32::from(precision) + 2) {
        Some(zeros) => scaled(hundredths, 10_i64.pow(zeros)),
        None => {
            let decimals = u32::from(precision) + 2 - PRICE_DECIMALS;
            Price(hundredths.div_euclid(10_i64.pow(decimals)))
        }
    }
}

impl Ladder {
    /// Empty, with up to `levels_max` levels a side of a pair of so many decimals.
    pub fn new(levels_max: usize, precision: u8) -> Ladder {
        let room = || Vec::with_capacity(levels_max);
        Ladder {
            sides: [room(), room()],
            next: room(),
            changes: Vec::with_capacity(4 * levels_max),
            levels_max,
            tick: tick(u32::from(precision)),
        }
    }

    /// Levels of a side as of the last change.
    pub fn levels(&self, side: Side) -> &[Level] {
        &self.sides[side.index()]
    }

    /// Steps of the last change, both sides.
    pub fn changes(&self) -> &[LevelChange] {
        &self.changes
    }

    /// Replaces both sides by levels, best first. True if that changed anything.
    pub fn replace(&mut self, [bids, asks]: [&[PriceLevel]; 2]) -> bool {
        self.changes.clear();
        for (side, levels) in [(Side::Bid, bids), (Side::Ask, asks)] {
            let levels = &levels[..levels.len().min(self.levels_max)];
            self.next.clear();
            self.next.extend(levels.iter().map(|level| Level {
                price: scaled(level.price, self.tick),
                quantity: Quantity(level.quantity()),
                orders: level.banks as i32,
                known: true,
            }));
            let known = &mut self.sides[side.index()];
            steps(side, known, &self.next, &mut self.changes);
            std::mem::swap(known, &mut self.next);
        }
        !self.changes.is_empty()
    }
}

/// The steps from one list to another: removals from the end, replacements, then insertions, so that the list is never longer
/// than the longer of the two.
fn steps(side: Side, old: &[Level], new: &[Level], changes: &mut Vec<LevelChange>) {
    let step = |action, index: usize, level| LevelChange {
        level,
        book: BookKind::Direct,
        side,
        action,
        index: index as u16,
    };
    // What is equal at both ends has no steps.
    let same = |(one, other): &(&Level, &Level)| one == other;
    let ahead = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[ahead..], &new[ahead..]);
    let is_before = |one: &Level, other: &Level| match side {
        Side::Bid => one.price > other.price,
        Side::Ask => one.price < other.price,
    };
    // Both lists are in order: a walk over both finds what only one of them has.
    let mut theirs = new.iter().rev().peekable();
    for (index, level) in old.iter().enumerate().rev() {
        while theirs.next_if(|other| is_before(level, other)).is_some() {}
        if theirs.peek().is_none_or(|other| other.price != level.price) {
            changes.push(step(LevelAction::Remove, ahead + index, *level));
        }
    }
    let (mut replaced, mut left) = (ahead, old.iter().peekable());
    for level in new {
        while left.next_if(|known| is_before(known, level)).is_some() {}
        if let Some(known) = left.next_if(|known| known.price == level.price) {
            if known != level {
                changes.push(step(LevelAction::Replace, replaced, *level));
            }
            replaced += 1;
        }
    }
    let mut left = old.iter().peekable();
    for (index, level) in new.iter().enumerate() {
        while left.next_if(|known| is_before(known, level)).is_some() {}
        if left.peek().is_none_or(|known| known.price != level.price) {
            changes.push(step(LevelAction::Insert, ahead + index, *level));
        }
    }
}

fn tick(precision: u32) -> i64 {
    10_i64.pow(PRICE_DECIMALS.saturating_sub(precision))
}

fn scaled(ticks: i64, tick: i64) -> Price {
    ticks.checked_mul(tick).map_or(Price::NULL, Price)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composite::levels_of;
    use crate::plan::Offer;
    use proptest::prelude::*;

    fn offer(bank: u16, price: i64, size: i64, is_full: bool) -> Offer {
        Offer {
            price,
            size,
            minimum: 0,
            age: 1,
            penalty: 0,
            entry: 0,
            bank,
            is_full,
        }
    }

    fn play(levels: &mut Vec<Level>, side: Side, changes: &[LevelChange], longest: usize) {
        for change in changes.iter().filter(|change| change.side == side) {
            let at = usize::from(change.index);
            match change.action {
                LevelAction::Insert => levels.insert(at, change.level),
                LevelAction::Replace => levels[at] = change.level,
                LevelAction::Remove => drop(levels.remove(at)),
                LevelAction::Clear => levels.clear(),
            }
            assert!(levels.len() <= longest, "never longer than a book holds");
        }
    }

    #[test]
    fn a_price_has_what_can_be_had_at_it_and_how_many_banks_have_it() {
        let mut ladder = Ladder::new(4, 5);
        let bids = [
            offer(0, 110_001, 1_000_000, false),
            offer(1, 110_001, 2_000_000, false),
            offer(1, 110_001, 1_000_000, false),
            offer(2, 110_001, 3_000_000, true),
            offer(2, 110_000, 5_000_000, true),
            offer(3, 110_000, 4_000_000, true),
        ];
        assert!(ladder.replace([&levels_of(&bids), &[]]));
        let seen: Vec<_> = ladder
            .levels(Side::Bid)
            .iter()
            .map(|level| (level.price.0, level.quantity.0, level.orders))
            .collect();
        let expected = [(1_100_010_000, 4_000_000, 3), (1_100_000_000, 5_000_000, 2)];
        assert_eq!(seen, expected, "bands are never added up");
        assert!(!ladder.replace([&levels_of(&bids), &[]]), "nothing changed");
        assert_eq!(price_of_hundredths(11_000_050, 5).0, 1_100_005_000);
        assert_eq!(price_of_hundredths(1_199, 9).0, 11, "coarser than 1e-9");
    }

    fn side(prices: &[(i64, i64)], side: Side) -> Vec<Offer> {
        let mut offers: Vec<_> = prices
            .iter()
            .map(|(price, size)| offer((size % 3) as u16, *price, *size, false))
            .collect();
        offers.sort_by_key(|offer| match side {
            Side::Bid => -offer.price,
            Side::Ask => offer.price,
        });
        offers
    }

    proptest! {
        /// Who plays the steps has the ladder.
        #[test]
        fn steps_lead_from_one_ladder_to_the_next(
            rounds in prop::collection::vec(
                (
                    prop::collection::vec((1_i64..12, 1_i64..5), 0..12),
                    prop::collection::vec((1_i64..12, 1_i64..5), 0..12),
                ),
                1..20,
            )
        ) {
            let mut ladder = Ladder::new(6, 0);
            let (mut bids, mut asks) = (Vec::new(), Vec::new());
            for (bid, ask) in rounds {
                ladder.replace([&levels_of(&side(&bid, Side::Bid)), &levels_of(&side(&ask, Side::Ask))]);
                let changes = ladder.changes().to_vec();
                play(&mut bids, Side::Bid, &changes, 6);
                play(&mut asks, Side::Ask, &changes, 6);
                prop_assert_eq!(&bids[..], ladder.levels(Side::Bid));
                prop_assert_eq!(&asks[..], ladder.levels(Side::Ask));
            }
        }
    }
}
