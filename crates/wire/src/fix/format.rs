//! Form of the values of a field's type, FIX 4.4 volume 1, data types. Only the form is checked, not the size.

use super::dictionary::Kind;
use super::time::{is_date, is_time, is_timestamp};

/// Whether a value is written as its type asks.
pub(super) fn is_written(kind: Kind, value: &[u8]) -> bool {
    match kind {
        Kind::Int => is_digits(value.strip_prefix(b"-").unwrap_or(value)),
        Kind::Length | Kind::Count => is_digits(value),
        Kind::Number => is_number(value),
        Kind::Char => value.len() == 1,
        Kind::Flag => matches!(value, b"Y" | b"N"),
        Kind::Timestamp => is_timestamp(value),
        Kind::Time => is_time(value),
        Kind::Date => is_date(value),
        Kind::Month => is_month(value),
        Kind::Text | Kind::Words | Kind::Data => true,
    }
}

fn is_digits(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

/// Digits with one point at most, and a minus before them; at least one digit.
fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let mut points = 0;
    let form = digits.iter().all(|byte| match byte {
        b'.' => {
            points += 1;
            points == 1
        }
        _ => byte.is_ascii_digit(),
    });
    form && digits.len() > points
}

/// `YYYYMM`, `YYYYMMDD` or `YYYYMMwN`.
fn is_month(value: &[u8]) -> bool {
    match value {
        [month @ .., b'w', b'1'..=b'5'] if month.len() == 6 => is_month(month),
        [_, _, _, _, _, _] => {
            let mut day = [b'0', b'1'].into_iter();
            let whole: [u8; 8] = core::array::from_fn(|at| {
                value.get(at).copied().or_else(|| day.next()).unwrap_or(0)
            });
            is_date(&whole)
        }
        _ => is_date(value),
    }
}
