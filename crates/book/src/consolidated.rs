//! The consolidated view: direct and implied interest of one side, merged by price.

use crate::levels::LevelList;
use crate::price::PriceBook;
use touchline_types::{BookKind, Level, Price, Quantity, Side};

/// Interest at one price, direct and implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsolidatedLevel {
    /// The price.
    pub price: Price,
    /// Direct and implied quantity together; NULL if one of them is not stated.
    pub quantity: Quantity,
    /// Direct quantity; zero if there is none, NULL if not stated.
    pub direct: Quantity,
    /// Implied quantity; zero if there is none, NULL if not stated.
    pub implied: Quantity,
    /// Number of direct orders; -1 if not stated, 0 at a purely implied price.
    pub orders: i32,
}

/// The levels of one side, best first. Unknown levels are left out.
#[derive(Clone, Debug)]
pub struct Consolidated<'a> {
    direct: LevelList<'a>,
    implied: LevelList<'a>,
    side: Side,
}

impl<'a> Consolidated<'a> {
    /// The view of one side of a book.
    pub fn new(book: &'a PriceBook, side: Side) -> Consolidated<'a> {
        Consolidated {
            direct: book.levels(BookKind::Direct, side),
            implied: book.levels(BookKind::Implied, side),
            side,
        }
    }
}

impl Consolidated<'_> {
    /// The next level; `None` also if an unknown level of either list may be before it.
    pub fn next_known(&mut self) -> Option<ConsolidatedLevel> {
        let heads = [self.direct.first(), self.implied.first()];
        if heads.into_iter().flatten().any(|level| !level.known) {
            return None;
        }
        let price = match (self.direct.first(), self.implied.first()) {
            (Some(direct), Some(implied)) => better(self.side, direct.price, implied.price),
            (Some(level), None) | (None, Some(level)) => level.price,
            (None, None) => return None,
        };
        let direct = take(&mut self.direct, price);
        let implied = take(&mut self.implied, price);
        let orders = direct.map_or(0, |level| level.orders);
        let [direct, implied] =
            [direct, implied].map(|level| level.map_or(Quantity::ZERO, |level| level.quantity));
        Some(ConsolidatedLevel {
            price,
            quantity: direct.plus(implied),
            direct,
            implied,
            orders,
        })
    }
}

impl Iterator for Consolidated<'_> {
    type Item = ConsolidatedLevel;

    fn next(&mut self) -> Option<ConsolidatedLevel> {
        skip_unknown(&mut self.direct);
        skip_unknown(&mut self.implied);
        self.next_known()
    }
}

fn skip_unknown(levels: &mut LevelList<'_>) {
    while let Some(Level { known: false, .. }) = levels.first() {
        *levels = levels.rest();
    }
}

fn better(side: Side, a: Price, b: Price) -> Price {
    match side {
        Side::Bid => a.max(b),
        Side::Ask => a.min(b),
    }
}

fn take(levels: &mut LevelList<'_>, price: Price) -> Option<Level> {
    let first = levels.first().filter(|first| first.price == price)?;
    *levels = levels.rest();
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Depth, Instrument, LevelEvent, Place, UpdateAction};

    #[test]
    fn direct_and_implied_merge_by_price_best_first() {
        let mut book = PriceBook::new(Depth {
            direct: 10,
            implied: 2,
        });
        let mut add = |kind, position, price, quantity| {
            let event = LevelEvent {
                instrument: Instrument(0),
                orders: 2,
                price: Price(price),
                quantity: Quantity(quantity),
                place: Place::Position(position),
                action: UpdateAction::New,
                side: Side::Bid,
                book: kind,
            };
            let _ = book.apply(&event, &mut Vec::new());
        };
        add(BookKind::Direct, 1, 100, 5);
        add(BookKind::Direct, 2, 98, 6);
        add(BookKind::Implied, 1, 101, 7);
        add(BookKind::Implied, 2, 98, 8);
        let view: Vec<_> = Consolidated::new(&book, Side::Bid)
            .map(|level| (level.price.0, level.direct.0, level.implied.0, level.orders))
            .collect();
        assert_eq!(view, [(101, 0, 7, 0), (100, 5, 0, 2), (98, 6, 8, 2)]);
    }
}
