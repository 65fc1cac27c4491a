//! Values in JSON lines: the output contract's prices, quantities and levels.

use std::fmt::Write;
use touchline_types::{Decimal, Level, Price, Quantity};

/// A price as a string, the shortest plain decimal; `null` where there is none.
pub fn push_price(line: &mut String, price: Price) {
    let _ = if price.is_null() {
        write!(line, "null")
    } else {
        write!(line, "\"{price}\"")
    };
}

/// A quantity in units of ten to the `exponent`: a number when it is whole, else a decimal string,
/// so that no reader rounds it; `null` where there is none.
pub fn push_quantity(line: &mut String, quantity: Quantity, exponent: i8) {
    let decimal = Decimal {
        mantissa: quantity.0,
        exponent,
    };
    let _ = if quantity.is_null() {
        write!(line, "null")
    } else if decimal.is_whole() {
        write!(line, "{decimal}")
    } else {
        write!(line, "\"{decimal}\"")
    };
}

/// The best level as `[price, quantity]`, or `null`.
pub fn push_best(line: &mut String, best: Option<Level>, exponent: i8) {
    let Some(level) = best else {
        line.push_str("null");
        return;
    };
    line.push('[');
    push_price(line, level.price);
    line.push(',');
    push_quantity(line, level.quantity, exponent);
    line.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_when_whole_and_strings_when_not() {
        let cases = [
            (12, 0, "12"),
            (0, -8, "0"),
            (150_000_000, -8, "\"1.5\""),
            (200_000_000, -8, "2"),
            (3, 2, "300"),
            (-5, -1, "\"-0.5\""),
            (i64::MAX, -8, "null"),
        ];
        for (mantissa, exponent, text) in cases {
            let mut line = String::new();
            push_quantity(&mut line, Quantity(mantissa), exponent);
            assert_eq!(line, text);
        }
    }

    #[test]
    fn a_best_level_may_lack_anything() {
        let mut line = String::new();
        push_best(&mut line, None, 0);
        let level = Level {
            price: Price(250_000_000),
            quantity: Quantity::NULL,
            orders: 3,
            known: true,
        };
        push_best(&mut line, Some(level), 0);
        push_best(
            &mut line,
            Some(Level {
                price: Price::NULL,
                quantity: Quantity(7),
                ..level
            }),
            -1,
        );
        assert_eq!(line, "null[\"0.25\",null][null,\"0.7\"]");
    }
}
