//! Exact numbers: prices as ticks, quantities as whole units, and their shortest decimal text.

use touchline_wire::fix::decimal;

/// Decimals of a [`touchline_types::Price`].
pub const PRICE_DECIMALS: u32 = 9;
/// Largest price, in ticks: sums of costs then fit 128 bits with room to spare. A price must also be representable as a
/// [`touchline_types::Price`].
pub const PRICE_MAX: i64 = 1_000_000_000_000_000;
/// Largest quantity, in units.
pub const QUANTITY_MAX: i64 = 1_000_000_000_000_000;

/// A price in ticks of `10^-precision`: positive, exact, within [`PRICE_MAX`], and below 9.2e9, the end of
/// [`touchline_types::Price`]. Zeros after the last tick are accepted.
pub fn price(text: &[u8], precision: u8) -> Option<i64> {
    let ticks = decimal(text).ok()?.scaled(precision).ok()?;
    let is_price = (1..=PRICE_MAX).contains(&ticks) && ticks.checked_mul(tick(precision)).is_some();
    is_price.then_some(ticks)
}

/// A tick of `10^-precision` in units of 1e-9; 1 beyond nine decimals.
pub fn tick(precision: u8) -> i64 {
    10_i64.pow(PRICE_DECIMALS.saturating_sub(u32::from(precision)))
}

/// Whether a number is zero, written in any way.
pub fn is_zero(text: &[u8]) -> bool {
    decimal(text).is_ok_and(|decimal| decimal.scaled(0) == Ok(0))
}

/// A size in whole units: positive, within [`QUANTITY_MAX`].
pub fn size(text: &[u8]) -> Option<i64> {
    quantity(text).filter(|units| *units > 0)
}

/// A quantity in whole units, zero or more, within [`QUANTITY_MAX`].
pub fn quantity(text: &[u8]) -> Option<i64> {
    let units = decimal(text).ok()?.scaled(0).ok()?;
    (0..=QUANTITY_MAX).contains(&units).then_some(units)
}

/// Appends `value * 10^-decimals` as the shortest plain decimal: `1.1`, `150`, `-0.5`, `0`.
pub fn write(out: &mut String, value: i128, decimals: u32) {
    let scale = 10_u128.pow(decimals);
    let magnitude = value.unsigned_abs();
    if value < 0 {
        out.push('-');
    }
    let (whole, mut fraction) = (magnitude / scale, magnitude % scale);
    push(out, whole);
    if fraction == 0 {
        return;
    }
    let mut width = decimals;
    while fraction.is_multiple_of(10) {
        fraction /= 10;
        width -= 1;
    }
    out.push('.');
    for place in (0..width).rev() {
        let digit = fraction / 10_u128.pow(place) % 10;
        out.push(char::from(b'0' + digit as u8));
    }
}

/// [`write()`] into a new string.
pub fn text(value: i128, decimals: u32) -> String {
    let mut out = String::new();
    write(&mut out, value, decimals);
    out
}

/// Average price in hundredths of a tick, rounded against the trading side: up for buyers, down for sellers.
///
/// `quantity` is positive.
pub fn average(cost: i128, quantity: i64, is_buy: bool) -> i64 {
    // Nearly every cost has 64 bits, and a division of 128 takes several times as long.
    if let Ok(cost) = i64::try_from(cost)
        && let Some(hundredths) = cost.checked_mul(100)
    {
        return match is_buy {
            true => -(-hundredths).div_euclid(quantity),
            false => hundredths.div_euclid(quantity),
        };
    }
    let (hundredths, quantity) = (cost * 100, i128::from(quantity));
    let rounded = match is_buy {
        true => -(-hundredths).div_euclid(quantity),
        false => hundredths.div_euclid(quantity),
    };
    i64::try_from(rounded).unwrap_or(i64::MAX)
}

fn push(out: &mut String, value: u128) {
    use std::fmt::Write;
    // Writing into a string does not fail.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_shortest_that_say_it() {
        for (value, decimals, expected) in [
            (110_000, 5, "1.1"),
            (150_000, 3, "150"),
            (-5, 1, "-0.5"),
            (0, 5, "0"),
            (-201, 5, "-0.00201"),
            (1_000_001, 6, "1.000001"),
            (7, 0, "7"),
        ] {
            assert_eq!(text(value, decimals), expected);
        }
    }

    #[test]
    fn prices_and_sizes_that_are_none_are_refused() {
        for wrong in [
            "",
            "x",
            "-1.1",
            "0",
            "0.00000",
            "1.100001",
            "1e5",
            "1000000000000000",
            "1.1.1",
        ] {
            assert_eq!(price(wrong.as_bytes(), 5), None, "{wrong}");
        }
        assert_eq!(price(b"1.10000", 5), Some(110_000));
        assert_eq!(
            price(b"1.1000000", 5),
            Some(110_000),
            "zeros behind the last tick"
        );
        assert_eq!(price(b"9223372036.85477", 5), Some(922_337_203_685_477));
        assert_eq!(price(b"9223372036.85478", 5), None, "no Price is larger");
        assert_eq!(price(b"9223372037", 0), None);
        assert_eq!(size(b"1000.0"), Some(1000));
        for wrong in ["1000.5", "0", "-3", "1000000000000001", "nan"] {
            assert_eq!(size(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn averages_are_rounded_against_who_trades() {
        assert_eq!(average(10, 3, true), 334);
        assert_eq!(average(10, 3, false), 333);
        assert_eq!(average(9, 3, true), 300);
        assert_eq!(average(9, 3, false), 300);
    }
}
