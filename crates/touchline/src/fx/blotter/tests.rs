use super::*;
use std::collections::BTreeMap;
use touchline_fx::lines::LineKind;

const LINES: [(LineKind, &str); 5] = [
    (
        LineKind::Parent,
        r#"{"op":"parent","id":"P1782400000000000","pair":"USD/JPY","side":"sell","qty":10000000,"limit":"149.985"}"#,
    ),
    (
        LineKind::Decision,
        r#"{"t":1,"event":"waits","parent":"P1782400000000000","reason":"no_reference"}"#,
    ),
    (
        LineKind::Order,
        r#"{"t":1,"clordid":"Te4-P1782400000000000-12","bank":"LP02","event":"journal","state":"disputed","cum":0,"leaves":10000000,"code":null,"fix":null}"#,
    ),
    (
        LineKind::Fill,
        r#"{"t":2,"clordid":"T","parent":"P","bank":"LP02","exec_id":"X","kind":"status","pair":"USD/JPY","side":"sell","qty":10000000,"price":"149.985"}"#,
    ),
    (
        LineKind::Position,
        r#"{"t":2,"pair":"USD/JPY","position":-10000000,"cash":"1499850000.5","worst_long":-10000000,"worst_short":-20000000,"mid":"150","pnl":"-150000"}"#,
    ),
];

fn blotter() -> Blotter {
    let mut blotter = Blotter::default();
    for (kind, text) in LINES {
        blotter.take(kind, text);
    }
    for code in ["A-1", "A-2", "B-1", "C-1", "D-1", "E-1", "F-1", "N-1"] {
        let line = format!(r#"{{"clordid":"T","bank":"LP02","state":"rejected","code":"{code}"}}"#);
        blotter.take(LineKind::Order, &line);
    }
    blotter
}

fn live(sessions: &[(&str, bool)]) -> Live {
    let sessions = sessions.iter();
    Live::of(sessions.map(|(bank, is_up)| (format!("fx_bank_session:{bank}"), u64::from(*is_up))))
}

/// Nothing is cut on a terminal of 80 columns, and amounts are in currency.
#[test]
fn no_line_is_longer_than_eighty_columns() {
    let live = live(&[("LP01", true), ("LP02", false)]);
    let text = draw(&blotter(), &live, Room::default(), Paint::plain());
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(80), "{longest:?}\n{text}");
    for part in [
        "1,499,850,000.50",
        "-10,000,000",
        "no_reference",
        "N-1 1",
        "1 of 2 order sessions down: LP02",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let columns: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| Some((line.split_whitespace().next()?, line)))
        .collect();
    let up = columns["LP01"];
    assert_eq!(up.split_whitespace().nth(1), Some("up"), "{up}");
    assert_eq!(columns["LP02"].split_whitespace().nth(1), Some("down"));
}

/// An engine without an order session does not trade, and its blotter says so before anything else.
#[test]
fn sessions_that_are_down_are_in_the_first_lines() {
    let first = |live: &Live| {
        let text = draw(&Blotter::default(), live, Room::default(), Paint::plain());
        text.lines().next().unwrap_or_default().to_owned()
    };
    let starts = |live: &Live, with: &str| {
        let line = first(live);
        assert!(line.starts_with(with), "{line}");
    };
    starts(&live(&[("LP01", true), ("LP02", true)]), "trading");
    starts(&live(&[("LP01", true), ("LP02", false)]), "trading");
    starts(
        &live(&[("LP01", false), ("LP02", false)]),
        "NO ORDER SESSION",
    );
    starts(&Live::default(), "no engine");
    assert_eq!(live(&[("LP01", true)]).down(), None);
}

/// On a terminal of 24 rows every table has a row, so that none is below the edge.
#[test]
fn a_small_terminal_has_a_row_of_each_table() {
    let (blotter, live) = (blotter(), live(&[("LP01", true), ("LP02", true)]));
    let room = Room::of(24, &blotter, &live, 4);
    assert!(room.is_dense && room.rows >= 1, "{room:?}");
    let text = draw(&blotter, &live, room, Paint::plain());
    assert!(text.lines().count() + 4 < 24, "{text}");
    let tall = Room::of(60, &blotter, &live, 4);
    assert_eq!((tall.is_dense, tall.rows), (false, ROWS_MAX));
}
