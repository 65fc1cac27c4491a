//! Quantities and amounts as people type and read them.

use crate::format::count;

/// Multiples that a quantity may end with, longest first.
const MULTIPLES: [(&str, u32); 5] = [("mio", 6), ("bn", 9), ("k", 3), ("m", 6), ("b", 9)];

/// A quantity of base units, zero or more, for clap: `1000000`, `1_000_000`, `1,000,000`, `1m`, `2.5m`, `500k`, `1bn`.
///
/// # Errors
/// Not such a number, not a whole number of units, or too large: the text says so.
pub fn quantity(text: &str) -> Result<i64, String> {
    let wrong = |why: &str| {
        format!("{text:?} {why}; give base units, such as 1000000, 1_000_000, 2.5m or 500k")
    };
    let lower = text.to_ascii_lowercase();
    let multiple = MULTIPLES
        .iter()
        .find_map(|(word, zeros)| Some((lower.strip_suffix(word)?, *zeros as usize)));
    let (number, zeros) = multiple.unwrap_or((&lower, 0));
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let whole = without_separators(whole).ok_or_else(|| wrong("is not a quantity"))?;
    let is_decimal = number.contains('.') != decimals.is_empty()
        && decimals.bytes().all(|byte| byte.is_ascii_digit());
    if !is_decimal {
        return Err(wrong("is not a quantity"));
    }
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > zeros {
        return Err(wrong("is not a whole number of base units"));
    }
    let digits = format!("{whole}{decimals:0<zeros$}");
    digits.parse().map_err(|_| wrong("is too large"))
}

/// Digits without separators of thousands: `_` between any digits, `,` only before groups of three.
fn without_separators(text: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = text.split(',');
    let first = groups.next()?;
    let mut kept = String::new();
    for part in first.split('_') {
        kept += Some(part).filter(|part| digits(part))?;
    }
    let has_both = text.contains('_') && text.contains(',');
    for group in groups {
        kept += Some(group).filter(|group| group.len() == 3 && digits(group) && !has_both)?;
    }
    Some(kept)
}

/// Base units with separators of thousands: `-1,000,000`.
pub fn units(units: i64) -> String {
    let sign = if units < 0 { "-" } else { "" };
    format!("{sign}{}", count(units.unsigned_abs()))
}

/// An amount of currency with separators of thousands and two decimals, rounded to the nearest hundredth, half away from zero:
/// `-1,100,010.00`. `decimal` is a plain decimal; anything else is returned unchanged.
pub fn money(decimal: &str) -> String {
    let (sign, magnitude) = match decimal.strip_prefix('-') {
        Some(magnitude) => ("-", magnitude),
        None => ("", decimal),
    };
    let (whole, decimals) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let is_number = !whole.is_empty()
        && whole
            .bytes()
            .chain(decimals.bytes())
            .all(|byte| byte.is_ascii_digit());
    let hundredths = format!("{whole}{decimals:0<2.2}").parse::<u64>();
    let (true, Ok(hundredths)) = (is_number, hundredths) else {
        return decimal.to_owned();
    };
    let is_up = decimals
        .as_bytes()
        .get(2)
        .is_some_and(|digit| *digit >= b'5');
    let hundredths = hundredths + u64::from(is_up);
    let sign = if hundredths == 0 { "" } else { sign };
    format!("{sign}{}.{:02}", count(hundredths / 100), hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that a trader types is read exactly, without rounding or guessing.
    #[test]
    fn quantities_are_read_as_people_write_them() {
        for (text, units) in [
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1,000,000", 1_000_000),
            ("1m", 1_000_000),
            ("1M", 1_000_000),
            ("2.5m", 2_500_000),
            ("2.50m", 2_500_000),
            ("0.001m", 1_000),
            ("500k", 500_000),
            ("3mio", 3_000_000),
            ("1bn", 1_000_000_000),
            ("1b", 1_000_000_000),
            ("1000.0", 1_000),
            ("0", 0),
        ] {
            assert_eq!(quantity(text), Ok(units), "{text}");
        }
        for text in [
            "",
            "m",
            "k",
            "1.",
            ".5m",
            "1.5",
            "1.0005k",
            "-1m",
            "+1",
            "1 m",
            "1mm",
            "1e6",
            "1,00",
            "1,0000",
            "1_000,000",
            "1,000_000",
            "_1",
            "1__0",
            "1_",
            "1.2.3m",
            "1.5_0m",
            "9223372036854775808",
            "10000000000bn",
            "1g",
            "١",
        ] {
            assert!(quantity(text).is_err(), "{text}");
        }
    }

    /// Currency, not ticks: two decimals, with any precision of the pair.
    #[test]
    fn amounts_have_separators_and_two_decimals() {
        for (decimal, text) in [
            ("0", "0.00"),
            ("-1100010", "-1,100,010.00"),
            ("150.5", "150.50"),
            ("-0.004", "0.00"),
            ("-0.005", "-0.01"),
            ("1999.999", "2,000.00"),
            ("12345678901.123456789", "12,345,678,901.12"),
            ("-", "-"),
        ] {
            assert_eq!(money(decimal), text, "{decimal}");
        }
        assert_eq!(
            (units(-1_000_000), units(0)),
            ("-1,000,000".to_owned(), "0".to_owned())
        );
    }
}
