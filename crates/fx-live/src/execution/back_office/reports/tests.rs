//! Lines of an engine as reports.

use super::*;
use touchline_fx_desk::sample::{fill, id, sent, state, tell};
use touchline_fx_events::event::OrderEvent;
use touchline_fx_events::orders::RejectCode;

/// An order of 3,000 that is filled in two parts, one of which is corrected and the other busted, and one that is rejected.
pub fn events() -> Vec<(u64, Event)> {
    let report = |cum, to| {
        Event::Order(match state((0, 0), OrderEvent::Report, to, cum, None) {
            Event::Order(line) => line,
            other => unreachable!("{other:?}"),
        })
    };
    let filled = |kind, exec_id, quantity, price| Event::Fill(fill(kind, exec_id, quantity, price));
    let rejected = Some(RejectCode::LastLookPrice);
    vec![
        (1_000_000, sent(0, 0)),
        (
            2_000_000,
            filled(FillKind::Fill, "X1", 1_000, 1_100_000_000),
        ),
        (2_000_000, report(1_000, OrderState::Partial)),
        (
            3_000_000,
            filled(FillKind::Fill, "X2", 2_000, 1_099_990_000),
        ),
        (3_000_000, report(3_000, OrderState::Filled)),
        (
            4_000_000,
            filled(FillKind::Bust, "X1", 1_000, 1_100_000_000),
        ),
        (
            4_000_000,
            filled(FillKind::Correct, "X3", 1_000, 1_099_980_000),
        ),
        (
            5_000_000,
            filled(FillKind::Bust, "X2", 2_000, 1_099_990_000),
        ),
        (
            5_000_000,
            Event::Alarm {
                what: Alarm::Bust,
                bank: Some(0),
                order: Some(id("T-P1-1")),
            },
        ),
        (6_000_000, sent(1, 1)),
        (
            7_000_000,
            state(
                (1, 1),
                OrderEvent::Report,
                OrderState::Rejected,
                0,
                rejected,
            ),
        ),
    ]
}

/// Reports of these events.
pub fn reports_of(events: &[(u64, Event)]) -> (Ledger, Reports) {
    let (mut ledger, mut reports) = (Ledger::of_all_orders(), Reports::default());
    for (at_ns, event) in events {
        tell(*at_ns, event, true, |told| {
            ledger.take(told);
            reports.take(&ledger, told);
        });
    }
    (ledger, reports)
}

fn field<'a>(report: &'a Report, tag: &str) -> Option<&'a str> {
    let mut fields = report
        .body
        .split(SOH)
        .filter_map(|field| field.split_once('='));
    fields
        .find(|(other, _)| *other == tag)
        .map(|(_, value)| value)
}

/// Each execution is one report, whose totals leave out reversed fills; the rest of a busted order is closed.
#[test]
fn executions_become_reports() {
    let (_, reports) = reports_of(&events());
    let tags = ["17", "150", "39", "14", "151", "6", "19"];
    let rows: Vec<_> = reports
        .all
        .iter()
        .map(|report| tags.map(|tag| field(report, tag).unwrap_or("-")))
        .collect();
    assert_eq!(
        rows,
        [
            ["A-X1", "F", "1", "1000", "2000", "1.1", "-"],
            ["A-X2", "F", "2", "3000", "0", "1.099993333", "-"],
            ["A-X3", "G", "2", "3000", "0", "1.099986667", "A-X1"],
            ["A-X2-H", "H", "4", "1000", "0", "1.09998", "A-X2"],
            ["T-P1-2-8", "8", "8", "0", "0", "0", "-"],
        ]
    );
    assert_eq!(field(&reports.all[4], "58"), Some("code A-1"));
    assert_eq!(field(&reports.all[0], "64"), Some("20260107"));
}

/// A late original corrects the fill known from a status to the remaining quantity, and is reported as a trade of its
/// own; the last part corrects that fill to zero. A trade of the desk is a report without an order.
#[test]
fn late_originals_and_trades_of_the_desk_become_reports() {
    let named = |exec_id, quantity, price| FillLine {
        part_of: Some(id("S1")),
        ..fill(FillKind::Named, exec_id, quantity, price)
    };
    let booked = FillLine {
        order: None,
        parent: None,
        bank: None,
        side: Side::Ask,
        settl_date: Some(id("20260107")),
        ..fill(FillKind::Book, "B-open", 500, 1_100_000_000)
    };
    let fills = [
        fill(FillKind::Status, "S1", 3_000, 1_100_000_000),
        named("X1", 1_000, 1_200_000_000),
        named("X2", 2_000, 1_300_000_000),
        booked,
    ];
    let fills = fills.map(|fill| (2, Event::Fill(fill)));
    let events: Vec<_> = [(1, sent(0, 0))].into_iter().chain(fills).collect();
    let (_, reports) = reports_of(&events);
    let tags = ["17", "150", "32", "31", "14", "6", "19", "11"];
    let rows: Vec<_> = reports
        .all
        .iter()
        .map(|report| tags.map(|tag| field(report, tag).unwrap_or("-")))
        .collect();
    assert_eq!(
        rows,
        [
            ["A-S1", "F", "3000", "1.1", "3000", "1.1", "-", "T-P1-1"],
            [
                "A-S1-2", "G", "2000", "1.1", "2000", "1.1", "A-S1", "T-P1-1"
            ],
            [
                "A-X1",
                "F",
                "1000",
                "1.2",
                "3000",
                "1.133333333",
                "-",
                "T-P1-1"
            ],
            [
                "A-X2",
                "G",
                "2000",
                "1.3",
                "3000",
                "1.266666667",
                "A-S1-2",
                "T-P1-1"
            ],
            ["B-open", "F", "500", "1.1", "500", "1.1", "-", "-"],
        ]
    );
    assert_eq!(field(&reports.all[4], "448"), None);
}

/// A separator in a name of a bank does not become a field.
#[test]
fn names_of_banks_are_not_fields() {
    let mut body = String::new();
    put(&mut body, "17", "a\u{1}14=9");
    assert_eq!(body, "17=a?14=9\u{1}");
}
