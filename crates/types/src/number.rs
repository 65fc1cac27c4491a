//! Fixed-point numbers. No floating point comes near a price before a screen.

use core::fmt;

/// A price: an `i64` count of 1e-9, the scale of CME's PRICE9 and of DBN.
///
/// Range about ±9.2e9. [`Price::NULL`] stands for "no price" (CME's null of PRICENULL9, DBN's
/// undefined price), so that a level stays one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Price(pub i64);

impl Price {
    /// No price.
    pub const NULL: Price = Price(i64::MAX);
    /// Decimal digits behind the point.
    pub const DECIMALS: u32 = 9;

    /// A price from `mantissa * 10^exponent`; `None` if it does not fit exactly.
    ///
    /// ```
    /// use touchline_types::Price;
    /// assert_eq!(Price::from_decimal(15_230, 0), Some(Price(15_230_000_000_000)));
    /// assert_eq!(Price::from_decimal(i64::MAX - 1, -7), None);
    /// ```
    #[inline]
    pub const fn from_decimal(mantissa: i64, exponent: i8) -> Option<Price> {
        if exponent == -9 {
            return if mantissa == i64::MAX {
                None
            } else {
                Some(Price(mantissa))
            };
        }
        if exponent < -9 || exponent > 9 {
            return None;
        }
        let scale = 10_i64.pow((exponent + 9) as u32);
        match mantissa.checked_mul(scale) {
            Some(value) if value != i64::MAX => Some(Price(value)),
            _ => None,
        }
    }

    /// Whether this is [`Price::NULL`].
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == i64::MAX
    }
}

/// The shortest plain decimal: `0.25`, `15230`, `-3.5`, `0`; `null` for [`Price::NULL`].
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.write_str("null");
        }
        let magnitude = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, mut fraction) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        let mut width = 9;
        while fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        write!(f, "{sign}{whole}.{fraction:0width$}")
    }
}

/// A quantity: an `i64` mantissa whose exponent stands in the instrument's definition (CME: 0).
///
/// [`Quantity::NULL`] stands for "no quantity".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Quantity(pub i64);

impl Quantity {
    /// No quantity.
    pub const NULL: Quantity = Quantity(i64::MAX);
    /// Nothing.
    pub const ZERO: Quantity = Quantity(0);

    /// Whether this is [`Quantity::NULL`].
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == i64::MAX
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            f.write_str("null")
        } else {
            self.0.fmt(f)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;

    #[test]
    fn prices_print_as_the_shortest_plain_decimal() {
        let cases = [
            (0, "0"),
            (250_000_000, "0.25"),
            (15_230_000_000_000, "15230"),
            (-3_500_000_000, "-3.5"),
            (1, "0.000000001"),
            (-1, "-0.000000001"),
            (114_546_875_000, "114.546875"),
            (10_000_000_000, "10"),
            (i64::MIN, "-9223372036.854775808"),
            (i64::MAX, "null"),
        ];
        for (value, text) in cases {
            assert_eq!(Price(value).to_string(), text);
        }
    }

    #[test]
    fn a_price_that_does_not_fit_is_refused() {
        assert_eq!(Price::from_decimal(12_345, -7), Some(Price(1_234_500)));
        assert_eq!(
            Price::from_decimal(-1, 9),
            Some(Price(-1_000_000_000_000_000_000))
        );
        assert_eq!(Price::from_decimal(92_233_720_368_547_759, -7), None);
        assert_eq!(Price::from_decimal(1, -10), None);
        assert_eq!(Price::from_decimal(1, 10), None);
        assert_eq!(
            Price::from_decimal(i64::MAX, -9),
            None,
            "the null is not a price"
        );
    }
}
