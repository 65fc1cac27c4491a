//! Quantities with their power of ten.

use std::fmt;
use touchline_types::Decimal;

/// Quantity: `mantissa * 10^exponent`, exactly. The exponent is the same for all quantities of an instrument: 0 if the
/// venue counts whole contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantity {
    mantissa: i64,
    exponent: i8,
}

impl Quantity {
    /// No quantity: not stated by the venue.
    pub const NULL: Quantity = Quantity {
        mantissa: i64::MAX,
        exponent: 0,
    };

    /// A quantity of whole units.
    pub const fn new(units: i64) -> Quantity {
        Quantity {
            mantissa: units,
            exponent: 0,
        }
    }

    #[inline]
    pub(crate) const fn of(quantity: touchline_types::Quantity, exponent: i8) -> Quantity {
        match quantity.is_null() {
            true => Quantity::NULL,
            false => Quantity {
                mantissa: quantity.0,
                exponent,
            },
        }
    }

    /// Whether the venue states no quantity.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.mantissa == i64::MAX
    }

    /// Digits and sign.
    #[inline]
    pub const fn mantissa(self) -> i64 {
        self.mantissa
    }

    /// Power of ten of the mantissa.
    #[inline]
    pub const fn exponent(self) -> i8 {
        self.exponent
    }

    /// As an exact number; `None` if not stated.
    pub const fn decimal(self) -> Option<Decimal> {
        match self.is_null() {
            true => None,
            false => Some(Decimal {
                mantissa: self.mantissa,
                exponent: self.exponent,
            }),
        }
    }

    /// Quantity as a count of `10^exponent`, rounded up; `None` if it is not stated or does not fit.
    pub(crate) fn in_units_of(self, exponent: i8) -> Option<i64> {
        if self.is_null() {
            return None;
        }
        let shift = i32::from(self.exponent) - i32::from(exponent);
        let scale = 10_i64.checked_pow(shift.unsigned_abs())?;
        match shift >= 0 {
            true => self.mantissa.checked_mul(scale),
            false => Some(
                self.mantissa.div_euclid(scale) + i64::from(self.mantissa.rem_euclid(scale) > 0),
            ),
        }
    }

    /// Nearest floating-point number; NaN if not stated.
    pub fn to_f64(self) -> f64 {
        if self.is_null() {
            return f64::NAN;
        }
        let mantissa = self.mantissa as f64;
        match i32::from(self.exponent) {
            0 => mantissa,
            exponent @ 1.. => mantissa * 10_f64.powi(exponent),
            // A division by an exact power is correctly rounded; a multiplication by 0.1 is not.
            exponent => mantissa / 10_f64.powi(-exponent),
        }
    }
}

/// Whole units.
impl From<i64> for Quantity {
    fn from(units: i64) -> Quantity {
        Quantity::new(units)
    }
}

/// Shortest plain decimal; `?` if not stated.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decimal() {
            Some(decimal) => decimal.fmt(f),
            None => f.write_str("?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_prints_as_a_plain_decimal() {
        let of = |mantissa, exponent| Quantity::of(touchline_types::Quantity(mantissa), exponent);
        assert_eq!(of(12, 0).to_string(), "12");
        assert_eq!(of(150_000_000, -8).to_string(), "1.5");
        assert_eq!(of(i64::MAX, -8).to_string(), "?");
        assert_eq!(of(150_000_000, -8).to_f64(), 1.5);
        assert_eq!(
            [of(3, -1), of(57, -2), of(7, 3)].map(Quantity::to_f64),
            [0.3, 0.57, 7_000.0]
        );
        assert!(Quantity::NULL.to_f64().is_nan());
        assert_eq!(Quantity::new(7), of(7, 0));
        assert_eq!(Quantity::new(7).in_units_of(-2), Some(700));
        assert_eq!(of(701, -2).in_units_of(0), Some(8));
        assert_eq!(of(700, -2).in_units_of(0), Some(7));
        assert_eq!(Quantity::NULL.in_units_of(0), None);
        assert_eq!(Quantity::new(7).in_units_of(-128), None);
    }
}
