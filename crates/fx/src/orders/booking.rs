//! Bookings of a report: the quantity by which CumQty exceeds the booked one, at the price of the trade or the price
//! that the average implies.

use super::order::Order;
use super::report::{Report, ReportKind};
use touchline_types::Id;
use touchline_wire::fix::decimal;

/// Source of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillKind {
    /// Named by a trade report.
    Fill,
    /// Derived from CumQty.
    Status,
    /// Stated by the desk.
    Manual,
    /// Reversed.
    Bust,
    /// Booked again after a correction.
    Correct,
}

/// A fill to book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// Source.
    pub kind: FillKind,
    /// ExecID.
    pub exec_id: Id,
    /// Units.
    pub quantity: i64,
    /// Ticks.
    pub price: i64,
}

/// Bookings of a report, in order; at most two fills.
pub fn bookings(order: &Order, report: &Report<'_>, precision: u8) -> [Option<Booking>; 2] {
    let terms = &order.terms;
    let is_trade = report.kind() == ReportKind::Trade;
    let named = report.last().filter(|_| is_trade);
    // A trade without CumQty counts with its own quantity.
    let without = order
        .cum()
        .saturating_add(named.unwrap_or(0))
        .min(terms.quantity);
    let cum = report.cum().unwrap_or(without);
    let add = cum - order.cum();
    // mutant: fx: a late original is booked again
    if add <= 0 || cum > terms.quantity {
        return [None; 2];
    }
    let price = report.price(precision).filter(|_| is_trade);
    let implied = |quantity: i64, named_cost: i128| {
        let others = order.cost() + named_cost;
        implied_price(report.avg_px, cum, others, quantity, precision).unwrap_or(terms.price)
    };
    let status = |quantity, price| Booking {
        kind: FillKind::Status,
        exec_id: status_exec_id(report, &terms.id),
        quantity,
        price,
    };
    match (named, price) {
        // mutant: fx: a fill reported late is not booked
        (Some(last), Some(price)) if last <= add => {
            let lost = add - last;
            let named_cost = i128::from(price) * i128::from(last);
            let lost = (lost > 0).then(|| status(lost, implied(lost, named_cost)));
            let fill = Booking {
                kind: FillKind::Fill,
                exec_id: Id::lossy(report.exec_id.unwrap_or_default()),
                quantity: last,
                price,
            };
            [lost, Some(fill)]
        }
        (_, Some(price)) => [Some(status(add, price)), None],
        (_, None) => [Some(status(add, implied(add, 0))), None],
    }
}

/// ExecID of a fill that no report names: `S` and the report's ExecID, or the id of the question. A mass status answers for
/// several orders, so the ClOrdID follows its id.
fn status_exec_id(report: &Report<'_>, order: &Id) -> Id {
    let named = report.exec_id.unwrap_or_default();
    match (
        report.kind(),
        report.status_req_id,
        report.mass_status_req_id,
    ) {
        (ReportKind::Status, Some(question), _) => prefixed(&[b"S"], question),
        (ReportKind::Status, None, Some(question)) => {
            prefixed(&[b"S", question, b"-"], order.as_str().as_bytes())
        }
        _ => prefixed(&[b"S"], named),
    }
}

/// The price that AvgPx states for all that was filled, rounded to the tick.
pub fn average_price(report: &Report<'_>, precision: u8) -> Option<i64> {
    let cum = report.cum().filter(|cum| *cum > 0)?;
    implied_price(report.avg_px, cum, 0, cum, precision)
}

/// ExecID of a fill that the desk states: `R-` and the ClOrdID.
pub fn resolved_exec_id(order: &Id) -> Id {
    prefixed(&[b"R-"], order.as_str().as_bytes())
}

/// An identifier with a prefix in parts.
fn prefixed(prefix: &[&[u8]], name: &[u8]) -> Id {
    let mut text = [0; 64];
    let all = prefix.iter().copied().flatten().chain(name);
    let mut length = 0;
    for (place, byte) in text.iter_mut().zip(all) {
        *place = *byte;
        length += 1;
    }
    Id::lossy(&text[..length])
}

/// Price that AvgPx (6) implies: the cost of `cum` at the average less the known cost, rounded half up to the tick.
/// None without an average, or if the result is not a valid price.
fn implied_price(
    avg_px: Option<&[u8]>,
    cum: i64,
    others: i128,
    quantity: i64,
    precision: u8,
) -> Option<i64> {
    let average = decimal(avg_px?).ok()?;
    let scale = 10_i128.checked_pow(u32::from(average.decimals))?;
    let tick = 10_i128.pow(u32::from(precision));
    let all = i128::from(average.mantissa)
        .checked_mul(i128::from(cum))?
        .checked_mul(tick)?;
    let rest = all.checked_sub(others.checked_mul(scale)?)?;
    let divisor = i128::from(quantity).checked_mul(scale)?.checked_mul(2)?;
    let rounded = rest
        .checked_mul(2)?
        .checked_add(divisor / 2)?
        .div_euclid(divisor);
    i64::try_from(rounded).ok().filter(|price| *price > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_price_is_derived_from_averages() {
        // 3 at 100 are known, 5 of 5 cost 1.004 on average: 502 - 300 = 202 for 2.
        assert_eq!(implied_price(Some(b"1.004"), 5, 300, 2, 2), Some(101));
        // Half a tick rounds up.
        assert_eq!(implied_price(Some(b"1.005"), 1, 0, 1, 2), Some(101));
        assert_eq!(implied_price(Some(b"1.0049"), 1, 0, 1, 2), Some(100));
        for none in [None, Some(&b"x"[..]), Some(b"0")] {
            assert_eq!(implied_price(none, 1, 0, 1, 2), None);
        }
    }
}
