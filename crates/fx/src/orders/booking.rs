//! Bookings of a report: the quantity by which CumQty exceeds the booked one, at the price of the trade or the price
//! that the average implies. A contradictory report is not booked.

use super::order::Order;
use super::report::{Report, ReportKind};
use touchline_fx_events::orders::FillKind;
use touchline_fx_events::ticks;
use touchline_types::{Id, Price, Side};

/// A fill to book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// Source.
    pub kind: FillKind,
    /// ExecID.
    pub exec_id: Id,
    /// Units.
    pub quantity: i64,
    /// Price.
    pub price: Price,
    /// SettlDate (64) as reported.
    pub settl_date: Option<Id>,
    /// Currency (15) as reported.
    pub currency: Option<Id>,
    /// ExecID of the fill that a late original was part of.
    pub part_of: Option<Id>,
}

impl Booking {
    /// A fill whose value date and currency are not reported.
    pub fn new(kind: FillKind, exec_id: Id, quantity: i64, price: Price) -> Booking {
        Booking {
            kind,
            exec_id,
            quantity,
            price,
            settl_date: None,
            currency: None,
            part_of: None,
        }
    }

    /// A fill with the value date and currency of a report.
    pub fn reported(
        kind: FillKind,
        exec_id: Id,
        quantity: i64,
        price: Price,
        report: &Report<'_>,
    ) -> Booking {
        Booking {
            settl_date: report.settl_date.map(Id::lossy),
            currency: report.currency.map(Id::lossy),
            ..Booking::new(kind, exec_id, quantity, price)
        }
    }
}

/// Bookings of a report of an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bookings {
    /// Quantity that no report names, then the report's own trade.
    pub fills: [Option<Booking>; 2],
    /// A trade that CumQty contains already: it names a part of an earlier fill, or is a contradiction.
    pub late: Option<LateOriginal>,
    /// Whether the report contradicts itself or the booked quantities.
    pub is_contradiction: bool,
}

/// A trade report that follows the status or the desk's command by which the trade became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateOriginal {
    /// CumQty (14), units.
    pub cum: i64,
    /// The trade.
    pub booking: Booking,
}

impl Bookings {
    /// Bookings of a report that is as ordered; `precision` is that of the pair.
    pub fn of(order: &Order, report: &Report<'_>, precision: u8) -> Bookings {
        match report.trade() {
            Some((quantity, price)) if report.kind() == ReportKind::Trade => {
                of_trade(order, report, quantity, price, precision)
            }
            _ => of_state(order, report, precision),
        }
    }

    const CONTRADICTION: Bookings = Bookings {
        fills: [None; 2],
        late: None,
        is_contradiction: true,
    };
}

fn of_trade(
    order: &Order,
    report: &Report<'_>,
    quantity: i64,
    price: Price,
    precision: u8,
) -> Bookings {
    let cum = report.cum().unwrap_or(order.cum());
    let growth = cum - order.cum();
    let exec_id = Id::lossy(report.exec_id.unwrap_or_default());
    let is_contradiction = !order.state().is_end() && contradicts(order, report);
    // mutant: fx: a late original is booked again
    if growth <= 0 {
        let booking = Booking::reported(FillKind::Named, exec_id, quantity, price, report);
        return Bookings {
            late: Some(LateOriginal { cum, booking }),
            is_contradiction,
            ..Bookings::default()
        };
    }
    if growth < quantity {
        return Bookings::CONTRADICTION;
    }
    let lost = growth - quantity;
    let named_cost = i128::from(price.0) * i128::from(quantity);
    // mutant: fx: a fill reported late is not booked
    let before = (lost > 0).then(|| implied(order, report, cum, lost, named_cost, precision));
    let fill = Booking::reported(FillKind::Fill, exec_id, quantity, price, report);
    Bookings {
        fills: [before.flatten(), Some(fill)],
        late: None,
        is_contradiction: is_contradiction || before == Some(None),
    }
}

/// A report that is not a trade books up to its CumQty, unless it contradicts itself.
fn of_state(order: &Order, report: &Report<'_>, precision: u8) -> Bookings {
    let cum = report.cum().unwrap_or(order.cum());
    let growth = cum - order.cum();
    // mutant: fx: a report without a trade books although it contradicts itself
    if !order.state().is_end() && contradicts(order, report) {
        return Bookings::CONTRADICTION;
    }
    if growth <= 0 || cum > order.terms.quantity {
        return Bookings::default();
    }
    match implied(order, report, cum, growth, 0, precision) {
        Some(booking) => Bookings {
            fills: [Some(booking), None],
            ..Bookings::default()
        },
        None => Bookings::CONTRADICTION,
    }
}

/// Whether a report of an open order contradicts itself or the booked quantities.
pub fn contradicts(order: &Order, report: &Report<'_>) -> bool {
    let cum = report.cum().unwrap_or(order.cum());
    let leaves = report.leaves();
    let is_below = cum < order.terms.quantity;
    let ends = matches!(report.ord_status, Some(b"4" | b"8" | b"C"));
    // mutant: fx: a filled order with too small a CumQty frees the rest
    let is_filled_in_part = is_below && report.ord_status == Some(b"2");
    let is_open_end = is_below && ends && leaves.is_some_and(|leaves| leaves > 0);
    let is_beyond = is_below && report.is_leaves_beyond(order.terms.quantity - cum);
    let held = order.cum() - order.reversed();
    // mutant: fx: a CumQty that shrinks is taken
    let shrinks = report.kind() != ReportKind::Trade && cum < held && !report.is_old_state();
    let is_denied = report.says_never_arrived() && held > 0;
    is_filled_in_part || is_open_end || is_beyond || shrinks || is_denied
}

/// The fill of a quantity that no report names, at the price that the average of `cum` units implies; none if the average
/// is worse than the order allows.
fn implied(
    order: &Order,
    report: &Report<'_>,
    cum: i64,
    quantity: i64,
    named_cost: i128,
    precision: u8,
) -> Option<Booking> {
    let (terms, tick) = (&order.terms, ticks::tick(precision));
    let limit = ticks::exact(terms.price, precision);
    let average = report.avg_px.and_then(ticks::average_traded);
    // A rounded average may be off by a tick.
    let is_worse = |average: Price| match terms.side {
        Side::Bid => average.0 - tick > limit.0,
        Side::Ask => average.0 + tick < limit.0,
    };
    if average.is_some_and(is_worse) {
        return None;
    }
    let others = order.cost() + named_cost;
    let price = average.and_then(|average| implied_price(average, cum, others, quantity, tick));
    let exec_id = status_exec_id(report, &terms.id);
    let price = price.unwrap_or(limit);
    Some(Booking::reported(
        FillKind::Status,
        exec_id,
        quantity,
        price,
        report,
    ))
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

/// ExecID of a fill that the desk states: `R-` and the ClOrdID.
pub fn resolved_exec_id(order: &Id) -> Id {
    prefixed(&[b"R-"], order.as_str().as_bytes())
}

/// ExecID of a trade that the desk books: `B-` and its name.
pub fn booked_exec_id(name: &Id) -> Id {
    prefixed(&[b"B-"], name.as_str().as_bytes())
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

/// Price that an average implies: the cost of `cum` at the average less the known cost (1e-9 times units), rounded half up to the
/// tick. None if the result is not a valid price.
fn implied_price(
    average: Price,
    cum: i64,
    others: i128,
    quantity: i64,
    tick: i64,
) -> Option<Price> {
    let rest = i128::from(average.0) * i128::from(cum) - others;
    let divisor = i128::from(quantity) * i128::from(tick);
    let count = (2 * rest + divisor).div_euclid(2 * divisor);
    let price = i64::try_from(count.checked_mul(i128::from(tick))?).ok()?;
    (price > 0 && price < ticks::TRADED_END).then_some(Price(price))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_price_is_derived_from_averages() {
        let implied = |average: i64, cum, others: i128, quantity| {
            implied_price(Price(average), cum, others, quantity, 10_000_000)
        };
        // 3 at 1 are known, 5 of 5 cost 1.004 on average: 5.02 - 3 = 2.02 for 2.
        let known = 3 * 1_000_000_000;
        assert_eq!(
            implied(1_004_000_000, 5, known, 2),
            Some(Price(1_010_000_000))
        );
        // Half a tick rounds up.
        assert_eq!(implied(1_005_000_000, 1, 0, 1), Some(Price(1_010_000_000)));
        assert_eq!(implied(1_004_999_999, 1, 0, 1), Some(Price(1_000_000_000)));
        assert_eq!(implied(1_000_000_000, 1, 2_000_000_000, 1), None);
    }
}
