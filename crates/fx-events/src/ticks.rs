//! Exact numbers: prices as ticks, quantities as whole units, and their shortest decimal text.

use std::fmt::Write;
use touchline_types::{Price, Side};
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

/// End of prices of trades, in units of 1e-9.
pub const TRADED_END: i64 = 9_200_000_000 * 1_000_000_000;

/// The price of a trade: positive, below 9,200,000,000, exact in at most nine decimals. Zeros behind them are accepted.
pub fn traded(text: &[u8]) -> Option<Price> {
    let price = decimal(without_zeros(text)).ok()?.scaled(9).ok()?;
    (0 < price && price < TRADED_END).then_some(Price(price))
}

/// An average price, as [`traded`]; its decimals behind the ninth are cut.
pub fn average_traded(text: &[u8]) -> Option<Price> {
    let point = text.iter().position(|byte| *byte == b'.');
    let end = point.map_or(text.len(), |point| text.len().min(point + 1 + 9));
    let (kept, cut) = text.split_at(end);
    let is_number = cut.iter().all(u8::is_ascii_digit);
    traded(kept).filter(|_| is_number)
}

/// A number without the zeros at the end of its decimals.
fn without_zeros(text: &[u8]) -> &[u8] {
    if !text.contains(&b'.') {
        return text;
    }
    let zeros = text.iter().rev().take_while(|byte| **byte == b'0').count();
    &text[..text.len() - zeros]
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

/// Appends `value * 10^-decimals` as the shortest plain decimal: `1.1`, `150`, `-0.5`, `0`. At most 19 decimals.
pub fn write(out: &mut impl Write, value: i128, decimals: u32) {
    let scale = 10_u64.pow(decimals);
    let magnitude = value.unsigned_abs();
    if value < 0 {
        push(out, "-");
    }
    // Nearly every value has 64 bits, and a division of 128 takes several times as long.
    let mut fraction = match u64::try_from(magnitude) {
        Ok(magnitude) => {
            let mut room = [0; DIGITS_MAX];
            push(out, digits(magnitude / scale, &mut room));
            magnitude % scale
        }
        Err(_) => {
            let scale = u128::from(scale);
            // Writing into a string does not fail.
            let _ = write!(out, "{}", magnitude / scale);
            (magnitude % scale) as u64
        }
    };
    if fraction == 0 {
        return;
    }
    let mut width = decimals as usize;
    while fraction.is_multiple_of(10) {
        fraction /= 10;
        width -= 1;
    }
    let mut room = [b'0'; DIGITS_MAX];
    let _ = digits(fraction, &mut room);
    push(out, ".");
    push(out, text_of(&room[DIGITS_MAX - width..]));
}

/// [`write()`] into a new string.
pub fn text(value: i128, decimals: u32) -> String {
    let mut out = String::new();
    write(&mut out, value, decimals);
    out
}

/// A price in ticks as a price of trades. The product fits, since prices in ticks are within [`price()`].
pub fn exact(ticks: i64, precision: u8) -> Price {
    Price(ticks * tick(precision))
}

/// The price in whole ticks, at least one, that is the nearest limit allowing a traded price.
pub fn around(price: Price, side: Side, precision: u8) -> Option<i64> {
    let tick = tick(precision);
    let ticks = match side {
        Side::Bid => -(-price.0).div_euclid(tick),
        Side::Ask => price.0.div_euclid(tick),
    };
    (1..=PRICE_MAX).contains(&ticks).then_some(ticks)
}

/// Average price of trades in hundredths of a tick, rounded against the trading side: up for buyers, down for sellers.
///
/// `cost` is in 1e-9 times units, and `quantity` is positive.
pub fn average_of_trades(cost: i128, quantity: i64, precision: u8, is_buy: bool) -> i64 {
    let (hundredths, per) = (
        cost * 100,
        i128::from(quantity) * i128::from(tick(precision)),
    );
    let rounded = match is_buy {
        true => -(-hundredths).div_euclid(per),
        false => hundredths.div_euclid(per),
    };
    i64::try_from(rounded).unwrap_or(i64::MAX)
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

/// Digits of the largest number of 64 bits.
pub const DIGITS_MAX: usize = 20;

/// The digits of a number, at the end of the room. Bytes before them are unchanged.
pub fn digits(value: u64, room: &mut [u8; DIGITS_MAX]) -> &str {
    let (mut rest, mut start) = (value, DIGITS_MAX);
    loop {
        start -= 1;
        room[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return text_of(&room[start..]);
        }
    }
}

fn text_of(digits: &[u8]) -> &str {
    // Digits are ASCII.
    std::str::from_utf8(digits).unwrap_or("")
}

fn push(out: &mut impl Write, text: &str) {
    // Writing into a string does not fail.
    let _ = out.write_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_in_their_shortest_form() {
        for (value, decimals, expected) in [
            (110_000, 5, "1.1"),
            (150_000, 3, "150"),
            (-5, 1, "-0.5"),
            (0, 5, "0"),
            (-201, 5, "-0.00201"),
            (1_000_001, 6, "1.000001"),
            (7, 0, "7"),
            (i128::MAX, 2, "1701411834604692317316873037158841057.27"),
            (i128::from(u64::MAX), 19, "1.8446744073709551615"),
        ] {
            assert_eq!(text(value, decimals), expected);
        }
    }

    #[test]
    fn invalid_prices_and_sizes_are_rejected() {
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

    /// Prices of trades have nine decimals; an average is cut there.
    #[test]
    fn prices_of_trades_are_exact_to_nine_decimals() {
        for (text, price) in [
            ("1.1", Some(1_100_000_000)),
            ("1.100000001", Some(1_100_000_001)),
            ("1.1000000010000000000000000000", Some(1_100_000_001)),
            ("1.1000000001", None),
            ("0.000000000", None),
            ("-1", None),
            ("1e5", None),
            ("", None),
            ("9199999999.999999999", Some(TRADED_END - 1)),
            ("9200000000", None),
        ] {
            assert_eq!(traded(text.as_bytes()), price.map(Price), "{text}");
        }
        for (text, price) in [
            ("1.1000000019", Some(1_100_000_001)),
            ("1.10000000000000000000000000019", Some(1_100_000_000)),
            ("0.0000000009", None),
            ("1.1000000001x", None),
        ] {
            assert_eq!(average_traded(text.as_bytes()), price.map(Price), "{text}");
        }
        assert_eq!(average_of_trades(3_300_000_001, 3, 5, true), 11_000_001);
        assert_eq!(average_of_trades(3_300_000_001, 3, 5, false), 11_000_000);
    }

    #[test]
    fn averages_are_rounded_against_the_trader() {
        assert_eq!(average(10, 3, true), 334);
        assert_eq!(average(10, 3, false), 333);
        assert_eq!(average(9, 3, true), 300);
        assert_eq!(average(9, 3, false), 300);
    }
}
