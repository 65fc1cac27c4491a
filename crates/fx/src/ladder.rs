//! Levels of a composite as a price ladder, and the difference of two ladders as steps of a book.

use crate::composite::PriceLevel;
use touchline_fx_events::ticks::{PRICE_DECIMALS, tick};
use touchline_types::{BookKind, Level, LevelAction, LevelChange, Price, Quantity, Side};

/// The ladder published last: both sides, best prices first.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// Levels by side.
    sides: [Vec<Level>; 2],
    /// Price levels from which `sides` was made.
    shown: [Vec<PriceLevel>; 2],
    next: Vec<Level>,
    changes: Vec<LevelChange>,
    levels_max: usize,
    /// Price of a tick, in 1e-9.
    tick: i64,
}

/// Converts a price in ticks of `10^-decimals` to a [`Price`]; [`Price::NULL`] beyond its range.
pub fn price_of(ticks: i64, precision: u8) -> Price {
    scaled(ticks, tick(precision))
}

/// Converts a price in hundredths of a tick, rounded down to 1e-9.
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
    /// Empty ladder of at most `levels_max` levels a side, for a pair with this precision.
    pub fn new(levels_max: usize, precision: u8) -> Ladder {
        let room = || Vec::with_capacity(levels_max);
        Ladder {
            sides: [room(), room()],
            shown: [
                Vec::with_capacity(levels_max),
                Vec::with_capacity(levels_max),
            ],
            next: room(),
            changes: Vec::with_capacity(4 * levels_max),
            levels_max,
            tick: tick(precision),
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

    /// Replaces sides by levels, best first; `None` for a side that did not change. True if that changed anything.
    pub fn replace(&mut self, sides: [Option<&[PriceLevel]>; 2]) -> bool {
        self.changes.clear();
        for (side, levels) in Side::BOTH.into_iter().zip(sides) {
            if let Some(levels) = levels {
                self.replace_side(side, &levels[..levels.len().min(self.levels_max)]);
            }
        }
        !self.changes.is_empty()
    }

    fn replace_side(&mut self, side: Side, levels: &[PriceLevel]) {
        debug_assert!(
            is_in_order(side, levels),
            "the levels of a composite are in order of price, each price once"
        );
        let tick = self.tick;
        let level_of = |level: &PriceLevel| Level {
            price: scaled(level.price, tick),
            quantity: Quantity(level.quantity()),
            orders: level.banks as i32,
            known: true,
        };
        let known = &mut self.sides[side.index()];
        let shown = &mut self.shown[side.index()];
        match differing(shown, levels) {
            Some(mut places) => {
                while places != 0 {
                    let at = places.trailing_zeros() as usize;
                    places &= places - 1;
                    shown[at] = levels[at];
                    let level = level_of(&levels[at]);
                    // A changed sum below an unchanged largest band gives the same quantity.
                    if std::mem::replace(&mut known[at], level) != level {
                        let replace = step(side, LevelAction::Replace, at, level);
                        self.changes.push(replace);
                    }
                }
            }
            None => {
                self.next.clear();
                self.next.extend(levels.iter().map(level_of));
                steps(side, known, &self.next, &mut self.changes);
                std::mem::swap(known, &mut self.next);
                shown.clear();
                shown.extend_from_slice(levels);
            }
        }
    }
}

/// Whether the levels of a side begin with the best price, and have each price once.
fn is_in_order(side: Side, levels: &[PriceLevel]) -> bool {
    levels.is_sorted_by(|one, other| match side {
        Side::Bid => one.price > other.price,
        Side::Ask => one.price < other.price,
    })
}

/// Places of the levels that differ, as the bits of a word; `None` if the lists have other prices, or more levels than a word has
/// bits. Most changes leave the prices, and a loop without branches costs less than one with an unpredictable end.
fn differing(old: &[PriceLevel], new: &[PriceLevel]) -> Option<u64> {
    let mut is_moved = old.len() != new.len() || new.len() > u64::BITS as usize;
    let mut places = 0;
    for (at, (one, other)) in old.iter().zip(new).take(u64::BITS as usize).enumerate() {
        is_moved |= one.price != other.price;
        let differs =
            (one.sum != other.sum) | (one.largest != other.largest) | (one.banks != other.banks);
        places |= u64::from(differs) << at;
    }
    (!is_moved).then_some(places)
}

fn step(side: Side, action: LevelAction, index: usize, level: Level) -> LevelChange {
    LevelChange {
        level,
        book: BookKind::Direct,
        side,
        action,
        index: index as u16,
    }
}

/// The steps from one list to another: removals from the end, replacements, then insertions, so that the list is never longer
/// than the longer of the two.
fn steps(side: Side, old: &[Level], new: &[Level], changes: &mut Vec<LevelChange>) {
    // Equal levels at either end need no steps.
    let same = |(one, other): &(&Level, &Level)| one == other;
    let ahead = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[ahead..], &new[ahead..]);
    let step = |action, index, level| step(side, action, index, level);
    let is_before = |one: &Level, other: &Level| match side {
        Side::Bid => one.price > other.price,
        Side::Ask => one.price < other.price,
    };
    // Both lists are sorted: one walk over both finds levels that are in one list only.
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
        assert!(ladder.replace([Some(&levels_of(&bids)), None]));
        let seen: Vec<_> = ladder
            .levels(Side::Bid)
            .iter()
            .map(|level| (level.price.0, level.quantity.0, level.orders))
            .collect();
        let expected = [(1_100_010_000, 4_000_000, 3), (1_100_000_000, 5_000_000, 2)];
        assert_eq!(seen, expected, "bands are never added up");
        assert!(
            !ladder.replace([Some(&levels_of(&bids)), None]),
            "nothing changed"
        );
        assert_eq!(price_of_hundredths(11_000_050, 5).0, 1_100_005_000);
        assert_eq!(price_of_hundredths(1_199, 9).0, 11, "coarser than 1e-9");
    }

    #[test]
    fn levels_that_are_not_in_order_are_found() {
        let levels = |prices: &[i64]| {
            let offers: Vec<_> = prices
                .iter()
                .map(|price| offer(0, *price, 1, true))
                .collect();
            levels_of(&offers)
        };
        assert!(is_in_order(Side::Bid, &levels(&[3, 2, 1])));
        assert!(is_in_order(Side::Ask, &levels(&[1, 2, 3])));
        assert!(!is_in_order(Side::Bid, &levels(&[1, 2])));
        assert!(!is_in_order(Side::Ask, &levels(&[1, 3, 2])));
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
        /// Applying the steps to the old ladder gives the new one.
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
                // Other prices, then the same prices with other sizes.
                let larger = |side: &[(i64, i64)]| side.iter().map(|(price, size)| (*price, size % 4 + 1)).collect::<Vec<_>>();
                for (bid, ask) in [(larger(&bid), larger(&ask)), (bid, ask)] {
                    let levels = [levels_of(&side(&bid, Side::Bid)), levels_of(&side(&ask, Side::Ask))];
                    ladder.replace([Some(&levels[0]), Some(&levels[1])]);
                    let changes = ladder.changes().to_vec();
                    play(&mut bids, Side::Bid, &changes, 6);
                    play(&mut asks, Side::Ask, &changes, 6);
                    for (side, levels) in Side::BOTH.into_iter().zip(&levels) {
                        let expected: Vec<_> = levels
                            .iter()
                            .take(6)
                            .map(|level| (level.price * 1_000_000_000, level.quantity(), level.banks as i32))
                            .collect();
                        let found: Vec<_> = ladder
                            .levels(side)
                            .iter()
                            .map(|level| (level.price.0, level.quantity.0, level.orders))
                            .collect();
                        prop_assert_eq!(found, expected);
                    }
                    prop_assert_eq!(&bids[..], ladder.levels(Side::Bid));
                    prop_assert_eq!(&asks[..], ladder.levels(Side::Ask));
                }
            }
        }
    }
}
