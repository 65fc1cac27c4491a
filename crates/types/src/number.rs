//! Fixed-point numbers. No floating point comes near a price before a screen.

use core::fmt;

/// A price: an `i64` count of 1e-9, the scale of CME's PRICE9 and of DBN.
///
/// Range about ±9.2e9. [`Price::NULL`] is "no price" (CME's null of PRICENULL9, DBN's
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

/// A quantity: an `i64` mantissa whose exponent is in the instrument's definition (CME: 0).
///
/// [`Quantity::NULL`] is "no quantity".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Quantity(pub i64);

impl Quantity {
    /// No quantity.
    pub const NULL: Quantity = Quantity(i64::MAX);
    /// Quantity of zero.
    pub const ZERO: Quantity = Quantity(0);

    /// Whether this is [`Quantity::NULL`].
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == i64::MAX
    }

    /// Both together; [`Quantity::NULL`] if one of them is.
    #[inline]
    pub const fn plus(self, other: Quantity) -> Quantity {
        match self.is_null() || other.is_null() {
            true => Quantity::NULL,
            false => Quantity(self.0.saturating_add(other.0)),
        }
    }
}

/// A number as people write it: `mantissa * 10^exponent`, exactly, for any exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// Digits and sign.
    pub mantissa: i64,
    /// Power of ten.
    pub exponent: i8,
}

impl Decimal {
    /// Whether there is nothing behind the point.
    pub const fn is_whole(self) -> bool {
        let Decimal {
            mut mantissa,
            mut exponent,
        } = self;
        while exponent < 0 && mantissa % 10 == 0 && mantissa != 0 {
            mantissa /= 10;
            exponent += 1;
        }
        exponent >= 0 || mantissa == 0
    }
}

/// The shortest plain decimal: `12`, `0.5`, `-300`, `0`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = self.mantissa.unsigned_abs();
        let mut exponent = if digits == 0 { 0 } else { self.exponent };
        while exponent < 0 && digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let places = usize::from(exponent.unsigned_abs());
        if exponent >= 0 {
            return write!(f, "{sign}{digits}{:0<places$}", "");
        }
        // A power of ten that a word cannot hold is above every mantissa.
        let scale = 10_u64.checked_pow(places as u32);
        let (whole, fraction) = scale.map_or((0, digits), |scale| (digits / scale, digits % scale));
        write!(f, "{sign}{whole}.{fraction:0places$}")
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
    fn decimals_of_every_exponent_print_exactly() {
        let cases = [
            (12, 0, "12", true),
            (0, -8, "0", true),
            (0, 5, "0", true),
            (-3, 2, "-300", true),
            (7, 18, "7000000000000000000", true),
            (5, -1, "0.5", false),
            (-1_050, -2, "-10.5", false),
            (1_200, -2, "12", true),
            (100_000_001, -8, "1.00000001", false),
            (1, -8, "0.00000001", false),
            (i64::MIN, -18, "-9.223372036854775808", false),
            (i64::MIN, -19, "-0.9223372036854775808", false),
            (i64::MAX, 0, "9223372036854775807", true),
            (25, -20, "0.00000000000000000025", false),
        ];
        for (mantissa, exponent, text, whole) in cases {
            let decimal = Decimal { mantissa, exponent };
            assert_eq!(
                (decimal.to_string().as_str(), decimal.is_whole()),
                (text, whole)
            );
        }
        let smallest = Decimal {
            mantissa: 1,
            exponent: i8::MIN,
        }
        .to_string();
        assert!(
            smallest.len() == 130 && smallest.ends_with("01"),
            "{smallest}"
        );
        let largest = Decimal {
            mantissa: 1,
            exponent: i8::MAX,
        }
        .to_string();
        assert!(
            largest.len() == 128 && largest.starts_with("10"),
            "{largest}"
        );
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
