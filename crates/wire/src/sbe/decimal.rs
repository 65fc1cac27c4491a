//! Decimals with a constant exponent: exact, and an integer in memory.

use core::fmt;

/// `mantissa` × 10^`EXPONENT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal<const EXPONENT: i8> {
    /// Counts units of 10^`EXPONENT`.
    pub mantissa: i64,
}

impl<const EXPONENT: i8> Decimal<EXPONENT> {
    /// Power of ten of one unit of the mantissa.
    pub const EXPONENT: i8 = EXPONENT;

    /// `mantissa` × 10^`EXPONENT`.
    #[inline]
    pub const fn new(mantissa: i64) -> Self {
        Self { mantissa }
    }
}

/// The shortest plain decimal: no exponent, no trailing zeros, no point without a fraction.
impl<const EXPONENT: i8> fmt::Display for Decimal<EXPONENT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.mantissa, EXPONENT)
    }
}

/// Writes `mantissa` × 10^`exponent` as the shortest plain decimal.
pub(crate) fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    mantissa: i64,
    exponent: i8,
) -> fmt::Result {
    let (mut digits, mut exponent) = (
        mantissa.unsigned_abs(),
        if mantissa == 0 {
            0
        } else {
            i32::from(exponent)
        },
    );
    while exponent < 0 && digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    if mantissa < 0 {
        f.write_str("-")?;
    }
    if exponent >= 0 {
        write!(f, "{digits}{:0<zeros$}", "", zeros = exponent as usize)
    } else {
        let places = exponent.unsigned_abs();
        // Beyond 10^19 no 64-bit number has a whole part.
        match 10u64.checked_pow(places) {
            Some(one) => write!(
                f,
                "{}.{:0>places$}",
                digits / one,
                digits % one,
                places = places as usize
            ),
            None => write!(f, "0.{digits:0>places$}", places = places as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Decimal;
    use std::string::ToString;

    #[test]
    fn decimals_print_in_the_shortest_plain_form() {
        assert_eq!(Decimal::<-9>::new(0).to_string(), "0");
        assert_eq!(Decimal::<-9>::new(250_000_000).to_string(), "0.25");
        assert_eq!(Decimal::<-9>::new(-1).to_string(), "-0.000000001");
        assert_eq!(Decimal::<-9>::new(15_230_000_000_000).to_string(), "15230");
        assert_eq!(Decimal::<-7>::new(-123_456_789).to_string(), "-12.3456789");
        assert_eq!(
            Decimal::<-9>::new(i64::MIN).to_string(),
            "-9223372036.854775808"
        );
        assert_eq!(Decimal::<0>::new(100).to_string(), "100");
        assert_eq!(Decimal::<3>::new(-12).to_string(), "-12000");
        assert_eq!(Decimal::<5>::new(0).to_string(), "0");
        assert_eq!(
            Decimal::<-19>::new(i64::MAX).to_string(),
            "0.9223372036854775807"
        );
        assert_eq!(
            Decimal::<-21>::new(-70).to_string(),
            "-0.00000000000000000007"
        );
        let smallest = Decimal::<{ i8::MIN }>::new(1).to_string();
        assert!(smallest.starts_with("0.000") && smallest.ends_with('1') && smallest.len() == 130);
    }
}
