//! Lines of an engine as reports.

use super::*;
use touchline_fx_desk::sample::{fill, id, sent, state, tell};
use touchline_fx_events::event::{Numbered, OrderEvent};
use touchline_fx_events::orders::RejectCode;
use touchline_types::Side;

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

fn field(report: &Report, tag: u32) -> Option<String> {
    let mut found = None;
    report.fields(|other, value| {
        if other == tag && found.is_none() {
            found = Some(value.to_owned());
        }
    });
    found
}

/// These fields of each report; `-` stands for an absent field.
fn rows<const N: usize>(reports: &Reports, tags: [u32; N]) -> Vec<[String; N]> {
    let row = |report| tags.map(|tag| field(report, tag).unwrap_or("-".to_owned()));
    reports.all.iter().map(row).collect()
}

/// Each execution is one report, whose totals leave out reversed fills; the rest of a busted order is closed.
#[test]
fn executions_become_reports() {
    let (_, reports) = reports_of(&events());
    assert_eq!(
        rows(&reports, [17, 150, 39, 14, 151, 6, 19]),
        [
            ["A-X1", "F", "1", "1000", "2000", "1.1", "-"],
            ["A-X2", "F", "2", "3000", "0", "1.099993333", "-"],
            ["A-X3", "G", "2", "3000", "0", "1.099986667", "A-X1"],
            ["A-X2-H", "H", "4", "1000", "0", "1.09998", "A-X2"],
            ["T-P1-2-8", "8", "8", "0", "0", "0", "-"],
        ]
    );
    assert_eq!(field(&reports.all[4], 58).as_deref(), Some("code A-1"));
    assert_eq!(field(&reports.all[0], 64).as_deref(), Some("20260107"));
}

/// A fill known from a status, of which two late originals are parts, and a trade of the desk.
fn late() -> Vec<(u64, Event)> {
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
    [(1, sent(0, 0))].into_iter().chain(fills).collect()
}

/// A late original corrects the fill known from a status to the remaining quantity, and is reported as a trade of its
/// own; the last part corrects that fill to zero. A trade of the desk is a report without an order.
#[test]
fn late_originals_and_trades_of_the_desk_become_reports() {
    let (_, reports) = reports_of(&late());
    assert_eq!(
        rows(&reports, [17, 150, 32, 31, 14, 6, 19, 11]),
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
    assert_eq!(field(&reports.all[4], 448), None);
}

/// The fields of a report are those of every version: a number that a client has received stands for the same bytes, which
/// its checksum in the file of numbers tells.
#[test]
fn checksums_are_those_of_every_version() {
    let of = |events: &[_]| -> Vec<u64> {
        let (_, reports) = reports_of(events);
        reports.all.iter().map(Report::checksum).collect()
    };
    assert_eq!(
        of(&events()),
        [
            0x2a17_05f7_8753_4fdb,
            0xb8b3_b0cf_9663_ace0,
            0xb19e_4991_96e4_8c0d,
            0x1efd_ada2_1b05_b1b6,
            0x53df_e029_4e93_72ed,
        ]
    );
    assert_eq!(
        of(&late()),
        [
            0x8c11_efe9_8680_d6de,
            0x8ec4_f199_68d4_115d,
            0xfa77_d98a_3516_b939,
            0xd94f_2778_05e6_a469,
            0x27bc_a157_0589_f7d6,
        ]
    );
}

/// A bust is a report of the order that its alarm names, and a correction one of its own order.
#[test]
fn a_bust_is_of_the_order_that_its_alarm_names() {
    let bust = |of| Event::Alarm {
        what: Alarm::Bust,
        bank: Some(0),
        order: Some(id(of)),
    };
    let filled = |kind, exec_id| Event::Fill(fill(kind, exec_id, 1_000, 1_100_000_000));
    let mut other = fill(FillKind::Correct, "Y1", 1_000, 1_100_000_000);
    other.order = Some(Numbered {
        number: 1,
        id: id("T-P1-2"),
    });
    let events = [
        sent(0, 0),
        sent(1, 0),
        filled(FillKind::Fill, "X1"),
        filled(FillKind::Bust, "X1"),
        bust("T-P1-2"),
        Event::Fill(other),
        bust("T-P1-1"),
        bust("T-P1-1"),
    ];
    let (_, reports) = reports_of(&events.map(|event| (1, event)));
    assert_eq!(
        rows(&reports, [17, 150, 11, 19]),
        [
            ["A-X1", "F", "T-P1-1", "-"],
            ["A-Y1", "F", "T-P1-2", "-"],
            ["A-X1-H", "H", "T-P1-1", "A-X1"],
        ]
    );
}

/// A bank uses an ExecID again for another order: a client, which recognizes a report by its ExecID, sees both fills, and the bust of the
/// second one names it.
#[test]
fn fills_of_two_orders_with_one_exec_id_of_their_bank_are_two_reports() {
    let of = |number: u32, kind, exec_id| {
        let mut fill = fill(kind, exec_id, 1_000, 1_100_000_000);
        let id = id(&format!("T-P1-{}", number + 1));
        fill.order = Some(Numbered { number, id });
        Event::Fill(fill)
    };
    let bust = Event::Alarm {
        what: Alarm::Bust,
        bank: Some(0),
        order: Some(id("T-P1-2")),
    };
    let events = [
        sent(0, 0),
        sent(1, 0),
        of(0, FillKind::Fill, "X1"),
        of(1, FillKind::Fill, "X1"),
        of(1, FillKind::Bust, "X1"),
        bust,
        of(0, FillKind::Bust, "X1"),
        of(0, FillKind::Correct, "X2"),
    ];
    let (_, reports) = reports_of(&events.map(|event| (1, event)));
    assert_eq!(
        rows(&reports, [17, 150, 11, 19, 527]),
        [
            ["A-X1", "F", "T-P1-1", "-", "X1"],
            ["T-P1-2/X1", "F", "T-P1-2", "-", "X1"],
            ["T-P1-2/X1-H", "H", "T-P1-2", "T-P1-2/X1", "-"],
            ["A-X2", "G", "T-P1-1", "A-X1", "X2"],
        ]
    );
}

/// A separator in the name of a bank does not become a field.
#[test]
fn names_of_banks_are_not_fields() {
    let (_, mut reports) = reports_of(&events()[..2]);
    let mut report = reports.all.remove(0);
    report.exec_id = "a\u{1}14=9\u{e9}".into();
    assert_eq!(field(&report, 17).as_deref(), Some("a?14=9?"));
}
