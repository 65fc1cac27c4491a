//! Display factor, applied to prices when they are returned.

use touchline_types::{DisplayFactor, Price};

/// Display factor prepared for conversion of each price.
///
/// The price is multiplied by the numerator and divided by the denominator, in integers. A quotient that is not a whole
/// count of 1e-9 is rounded to the nearest one, halves away from zero; if it does not fit there is no price. A factor
/// of 1 leaves prices unchanged; a factor with a denominator costs one division per price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    factor: DisplayFactor,
}

impl Scale {
    /// Factor 1.
    pub(crate) const ONE: Scale = Scale {
        factor: DisplayFactor::ONE,
    };

    /// The scale of a definition; factor 1 if none is stated.
    pub(crate) fn of(factor: Option<DisplayFactor>) -> Scale {
        Scale {
            factor: factor.unwrap_or(DisplayFactor::ONE),
        }
    }

    /// The price that traders quote.
    #[inline]
    pub(crate) fn price(self, venue: Price) -> Price {
        // Both are at most `i64::MAX`.
        let denominator = self.factor.denominator() as i64;
        if self.factor == DisplayFactor::ONE {
            return venue;
        }
        if self.factor.numerator() == 1 && !venue.is_null() && venue.0 % denominator == 0 {
            return Price(venue.0 / denominator);
        }
        self.factor.display_nearest(venue)
    }

    /// [`Self::price`] of an optional price.
    #[inline]
    pub(crate) fn optional(self, venue: Price) -> Option<Price> {
        let price = self.price(venue);
        (!price.is_null()).then_some(price)
    }

    /// The venue's price for a quoted `price`, a whole number of `tick`s if there is one; `None` if no price of the
    /// venue corresponds.
    pub(crate) fn venue(self, price: Price, tick: Price) -> Option<Price> {
        if price.is_null() {
            return None;
        }
        let near = self.factor.venue_nearest(price);
        let on_tick = |near: Price| {
            let whole = i128::from(near.0) + i128::from(tick.0) / 2;
            let whole = whole.div_euclid(tick.0.into()) * i128::from(tick.0);
            i64::try_from(whole).map_or(Price::NULL, Price)
        };
        let candidates = match !tick.is_null() && tick.0 > 0 {
            true => [on_tick(near), near],
            false => [near, near],
        };
        candidates
            .into_iter()
            .find(|venue| !venue.is_null() && self.price(*venue) == price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(numerator: u64, denominator: u64) -> Scale {
        Scale::of(DisplayFactor::new(numerator, denominator))
    }

    #[test]
    fn a_price_is_scaled_by_its_display_factor_and_back() {
        let cents = scale(1, 100);
        let (venue, quoted, tick) = (
            Price(450_025_000_000_000),
            Price(4_500_250_000_000),
            Price(25_000_000_000),
        );
        assert_eq!(cents.price(venue), quoted);
        assert_eq!(cents.venue(quoted, tick), Some(venue));
        assert_eq!(cents.price(Price::NULL), Price::NULL);
        assert_eq!(cents.venue(Price::NULL, tick), None);
        assert_eq!(Scale::ONE.price(Price(7)), Price(7));
        assert_eq!(Scale::of(None), Scale::ONE);
        assert_eq!(scale(5, 2).price(Price(-4)), Price(-10));
        assert_eq!(scale(5, 2).venue(Price(-10), Price::NULL), Some(Price(-4)));
    }

    #[test]
    fn prices_finer_than_a_billionth_are_rounded_and_convert_back_to_their_tick() {
        let third = scale(1, 3);
        for (venue, quoted) in [(1, 0), (2, 1), (-1, 0), (-2, -1), (100, 33)] {
            assert_eq!(third.price(Price(venue)), Price(quoted), "{venue}");
        }
        // The venue's prices are multiples of 10; 100 is the only one quoted as 33.
        assert_eq!(third.venue(Price(33), Price(10)), Some(Price(100)));
        assert_eq!(third.venue(Price(33), Price::NULL), Some(Price(99)));
        // No price is quoted as 1 if each step is 1,000.
        assert_eq!(scale(1_000, 1).venue(Price(1), Price(1)), None);
    }

    #[test]
    fn a_price_out_of_range_is_none() {
        assert_eq!(scale(1_000, 1).price(Price(i64::MAX / 2)), Price::NULL);
        assert_eq!(scale(1, 1_000).venue(Price(i64::MAX / 2), Price(1)), None);
    }
}
