//! Lines of an engine as reports.

use super::*;
use touchline_fx::lines::LineKind;

/// Lines of an order of 3,000 that is filled in two parts, one of which is corrected and the other busted, and of one
/// that is rejected.
pub const LINES: [(LineKind, &str); 11] = [
    (
        LineKind::Order,
        r#"{"t":1000000,"clordid":"T-P1-1","bank":"A","event":"sent","state":"sent","cum":0,"leaves":3000,"code":null,"fix":"35=D|1=D1|11=T-P1-1|15=EUR|38=3000|40=2|44=1.1|54=1|55=EUR/USD|59=3|60=20260105-09:00:01.123|64=20260107"}"#,
    ),
    (
        LineKind::Fill,
        r#"{"t":2000000,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X1","kind":"fill","pair":"EUR/USD","side":"buy","qty":1000,"price":"1.1"}"#,
    ),
    (
        LineKind::Order,
        r#"{"t":2000000,"clordid":"T-P1-1","bank":"A","event":"report","state":"partial","cum":1000,"leaves":2000,"code":null,"fix":null}"#,
    ),
    (
        LineKind::Fill,
        r#"{"t":3000000,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X2","kind":"fill","pair":"EUR/USD","side":"buy","qty":2000,"price":"1.09999"}"#,
    ),
    (
        LineKind::Order,
        r#"{"t":3000000,"clordid":"T-P1-1","bank":"A","event":"report","state":"filled","cum":3000,"leaves":0,"code":null,"fix":null}"#,
    ),
    (
        LineKind::Fill,
        r#"{"t":4000000,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X1","kind":"bust","pair":"EUR/USD","side":"buy","qty":1000,"price":"1.1"}"#,
    ),
    (
        LineKind::Fill,
        r#"{"t":4000000,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X3","kind":"correct","pair":"EUR/USD","side":"buy","qty":1000,"price":"1.09998"}"#,
    ),
    (
        LineKind::Fill,
        r#"{"t":5000000,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X2","kind":"bust","pair":"EUR/USD","side":"buy","qty":2000,"price":"1.09999"}"#,
    ),
    (
        LineKind::Decision,
        r#"{"t":5000000,"event":"alarm","what":"bust","clordid":"T-P1-1"}"#,
    ),
    (
        LineKind::Order,
        r#"{"t":6000000,"clordid":"T-P1-2","bank":"B","event":"sent","state":"sent","cum":0,"leaves":3000,"code":null,"fix":"35=D|11=T-P1-2|38=3000|54=1|55=EUR/USD"}"#,
    ),
    (
        LineKind::Order,
        r#"{"t":7000000,"clordid":"T-P1-2","bank":"B","event":"report","state":"rejected","cum":0,"leaves":0,"code":"A-1","fix":null}"#,
    ),
];

fn field<'a>(report: &'a Report, tag: &str) -> Option<&'a str> {
    let mut fields = report
        .body
        .split(SOH)
        .filter_map(|field| field.split_once('='));
    fields
        .find(|(other, _)| *other == tag)
        .map(|(_, value)| value)
}

/// Each execution is one report, with totals that leave out what was reversed; the rest of a busted order is dead.
#[test]
fn lines_become_reports() {
    let mut reports = Reports::default();
    LINES
        .iter()
        .for_each(|(kind, text)| reports.take(*kind, text));
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

/// A late original corrects what a status told of to what is left of it, and is a trade of its own; the last part corrects it
/// away. A trade of the desk is a report without an order.
#[test]
fn late_originals_and_trades_of_the_desk_become_reports() {
    let mut reports = Reports::default();
    for line in [
        r#"{"t":1,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"S1","kind":"status","pair":"EUR/USD","side":"buy","qty":3000,"price":"1.1"}"#,
        r#"{"t":2,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X1","kind":"named","pair":"EUR/USD","side":"buy","qty":1000,"price":"1.2","ref":"S1"}"#,
        r#"{"t":3,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X2","kind":"named","pair":"EUR/USD","side":"buy","qty":2000,"price":"1.3","ref":"S1"}"#,
        r#"{"t":4,"clordid":null,"parent":null,"bank":null,"exec_id":"B-open","kind":"book","pair":"EUR/USD","side":"sell","qty":500,"price":"1.1","settl_date":"20260107"}"#,
    ] {
        reports.take(LineKind::Fill, line);
    }
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
    assert_eq!(
        (scaled("-1.5"), scaled("2")),
        (Some(-1_500_000_000), Some(2_000_000_000))
    );
}
