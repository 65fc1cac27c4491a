//! The best bid and offer: what every screen and output means by these words.
//!
//! It is the better of the direct and the implied best; where both are at one price, their quantities together. Which
//! of the books it is from is said with it.

use crate::price::{PriceBook, Spread};
use touchline_types::{BookKind, Level, Price, Quantity, Side};

/// The best bid, or the best offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Its price, never NULL.
    pub price: Price,
    /// What is there, direct and implied together; NULL where the venue states none.
    pub quantity: Quantity,
    /// Which book it is from.
    pub source: TouchSource,
}

/// Which book a best price is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchSource {
    /// The direct book alone.
    Direct,
    /// The implied book alone.
    Implied,
    /// Both, at the same price.
    Merged,
}

impl Touch {
    /// The touch of a side, from the first level of its direct and of its implied list. There is none where one of
    /// these is there without its price: a better one may be behind it that was never stated.
    #[inline]
    pub fn of(side: Side, direct: Option<Level>, implied: Option<Level>) -> Option<Touch> {
        let known = |level: &Level| level.known && !level.price.is_null();
        // mutant: touch: a best level that was never stated is passed over
        if !direct.iter().chain(&implied).all(known) {
            return None;
        }
        let touch = |level: Level, source| Touch {
            price: level.price,
            quantity: level.quantity,
            source,
        };
        match (direct, implied) {
            (None, None) => None,
            (Some(direct), None) => Some(touch(direct, TouchSource::Direct)),
            (None, Some(implied)) => Some(touch(implied, TouchSource::Implied)),
            (Some(direct), Some(implied)) if direct.price == implied.price => Some(Touch {
                price: direct.price,
                // mutant: touch: quantities of one price are not summed
                quantity: sum(direct.quantity, implied.quantity),
                source: TouchSource::Merged,
            }),
            (Some(direct), Some(implied)) => {
                let is_implied = match side {
                    Side::Bid => implied.price > direct.price,
                    // mutant: touch: the implied ask is better when it is higher
                    Side::Ask => implied.price < direct.price,
                };
                Some(match is_implied {
                    true => touch(implied, TouchSource::Implied),
                    false => touch(direct, TouchSource::Direct),
                })
            }
        }
    }
}

impl TouchSource {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            TouchSource::Direct => "direct",
            TouchSource::Implied => "implied",
            TouchSource::Merged => "merged",
        }
    }
}

impl PriceBook {
    /// The best bid or offer, direct and implied.
    #[inline]
    pub fn touch(&self, side: Side) -> Option<Touch> {
        let direct = self.levels(BookKind::Direct, side).first().copied();
        // mutant: books that are crossed by what is implied are not counted
        Touch::of(side, direct, self.implied(side).first().copied())
    }

    /// Whether the book, direct and implied together, is one-sided, normal, locked or crossed.
    #[inline]
    pub fn spread(&self) -> Spread {
        Spread::between(self.touch(Side::Bid), self.touch(Side::Ask))
    }
}

fn sum(one: Quantity, other: Quantity) -> Quantity {
    match one.is_null() || other.is_null() {
        true => Quantity::NULL,
        false => Quantity(one.0.saturating_add(other.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(price: i64, quantity: i64) -> Level {
        Level {
            price: Price(price),
            quantity: Quantity(quantity),
            orders: 1,
            known: true,
        }
    }

    #[test]
    fn the_better_book_is_the_touch_and_one_price_is_the_sum() {
        use TouchSource::{Direct, Implied, Merged};
        for (side, direct, implied, expected) in [
            (Side::Bid, Some((10, 5)), None, Some((10, 5, Direct))),
            (Side::Bid, None, Some((11, 6)), Some((11, 6, Implied))),
            (
                Side::Bid,
                Some((10, 5)),
                Some((11, 6)),
                Some((11, 6, Implied)),
            ),
            (
                Side::Ask,
                Some((10, 5)),
                Some((11, 6)),
                Some((10, 5, Direct)),
            ),
            (
                Side::Ask,
                Some((12, 5)),
                Some((11, 6)),
                Some((11, 6, Implied)),
            ),
            (
                Side::Ask,
                Some((11, 5)),
                Some((11, 6)),
                Some((11, 11, Merged)),
            ),
            (Side::Ask, None, None, None),
        ] {
            let of = |level_of: Option<(i64, i64)>| level_of.map(|(p, q)| level(p, q));
            let touch = Touch::of(side, of(direct), of(implied));
            let seen = touch.map(|touch| (touch.price.0, touch.quantity.0, touch.source));
            assert_eq!(seen, expected, "{side:?} {direct:?} {implied:?}");
        }
    }

    #[test]
    fn a_side_whose_best_level_was_never_stated_has_no_touch() {
        let implied = Some(level(11, 6));
        assert_eq!(Touch::of(Side::Bid, Some(Level::UNKNOWN), implied), None);
        let unstated = Level {
            quantity: Quantity::NULL,
            ..level(11, 0)
        };
        let touch = Touch::of(Side::Bid, Some(unstated), implied);
        assert_eq!(
            touch.map(|touch| (touch.price, touch.quantity)),
            Some((Price(11), Quantity::NULL))
        );
    }
}
