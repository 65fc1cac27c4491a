//! Best bid and offer, as used by all screens and outputs.
//!
//! The better of the direct and the implied best; at the same price their quantities are added. The source book is part
//! of it.

use crate::{Level, Price, Quantity, Side};
use core::cmp::Ordering;

/// Best bid or offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Its price, never NULL.
    pub price: Price,
    /// Quantity at the price, direct and implied together; NULL if not stated.
    pub quantity: Quantity,
    /// Source book.
    pub source: TouchSource,
}

coded! {
    /// Source book of a best price.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TouchSource {
        /// The direct book.
        Direct = 0,
        /// The implied book.
        Implied = 1,
        /// Both, at the same price.
        Merged = 2,
    }
}

impl Touch {
    /// Best price of a side, from the first level of its direct and its implied list. None if one of these has an
    /// unknown price: a better level may exist that was never published.
    #[inline]
    pub fn of(side: Side, direct: Option<Level>, implied: Option<Level>) -> Option<Touch> {
        let known = |level: &Level| level.known && !level.price.is_null();
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
                quantity: direct.quantity.plus(implied.quantity),
                source: TouchSource::Merged,
            }),
            (Some(direct), Some(implied)) => {
                let is_implied = match side {
                    Side::Bid => implied.price > direct.price,
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
    /// Printed name.
    pub const fn name(self) -> &'static str {
        match self {
            TouchSource::Direct => "direct",
            TouchSource::Implied => "implied",
            TouchSource::Merged => "merged",
        }
    }
}

/// Relation of the best bid to the best ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At least one side has no known best level.
    OneSided,
    /// Bid below ask.
    Normal,
    /// Bid equals ask.
    Locked,
    /// Bid above ask.
    Crossed,
}

impl Spread {
    /// Relation of these two.
    #[inline]
    pub fn between(bid: Option<Touch>, ask: Option<Touch>) -> Spread {
        let (Some(bid), Some(ask)) = (bid, ask) else {
            return Spread::OneSided;
        };
        match bid.price.cmp(&ask.price) {
            Ordering::Less => Spread::Normal,
            Ordering::Equal => Spread::Locked,
            Ordering::Greater => Spread::Crossed,
        }
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
    fn the_better_price_of_direct_and_implied_is_the_touch_and_equal_prices_are_summed() {
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
