//! Exact money: amounts of 1e-9, divided with one stated rounding.

use touchline_fx_events::ticks;

/// Decimals of an amount.
pub const DECIMALS: u32 = ticks::PRICE_DECIMALS;
/// 1 in parts of an amount.
pub const ONE: i128 = 1_000_000_000;

/// A quotient, rounded half away from zero; none of a division by zero.
pub fn quotient(value: i128, by: i128) -> Option<i128> {
    if by == 0 {
        return None;
    }
    let half = by.unsigned_abs() / 2;
    let magnitude = value.unsigned_abs().checked_add(half)? / by.unsigned_abs();
    let magnitude = i128::try_from(magnitude).ok()?;
    Some(if (value < 0) == (by < 0) {
        magnitude
    } else {
        -magnitude
    })
}

/// An amount as the shortest decimal.
pub fn amount(value: i128) -> String {
    ticks::text(value, DECIMALS)
}

/// A number that may be unknown: an unknown one is empty, never 0.
pub fn known(value: Option<i128>, decimals: u32) -> String {
    value.map_or_else(String::new, |value| ticks::text(value, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_half_away_from_zero() {
        for (value, by, expected) in [
            (5, 2, 3),
            (-5, 2, -3),
            (5, -2, -3),
            (4, 3, 1),
            (0, 7, 0),
            (1, 2, 1),
        ] {
            assert_eq!(quotient(value, by), Some(expected), "{value}/{by}");
        }
        assert_eq!(quotient(1, 0), None);
        assert_eq!(
            (known(None, 2), known(Some(0), 2)),
            (String::new(), "0".to_owned())
        );
    }
}
