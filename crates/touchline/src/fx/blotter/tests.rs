use super::*;
use crate::counted::Freshness;
use crate::top::model::{Engine, Sample};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_fx_desk::PublishedEntry;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{
    Event, FillLine, Message, Numbered, OrderEvent, OrderLine, OrderStatus,
};
use touchline_fx_events::labels::PairLabel;
use touchline_fx_events::orders::{FillKind, RejectCode, Terms};
use touchline_fx_events::parents::{Lifetime, ParentTerms, WaitReason};
use touchline_fx_events::plan::Style;
use touchline_fx_events::positions::{Position, WorstCase};
use touchline_fx_events::{Batch, Labels};
use touchline_transport::bus::Root;
use touchline_transport::shm::{CountersView, ProcessStats};
use touchline_types::{Id, Price, Side};

const QUANTITY: i64 = 10_000_000;

fn id(text: &str) -> Id {
    Id::lossy(text.as_bytes())
}

fn parent() -> Numbered {
    Numbered {
        number: 0,
        id: id("P1782400000000000"),
    }
}

fn accepted() -> Event {
    Event::Accepted {
        number: 0,
        terms: ParentTerms {
            id: parent().id,
            pair: 0,
            side: Side::Ask,
            quantity: QUANTITY,
            limit: Some(149_985),
            lifetime: Lifetime::Deadline,
            deadline_ms: 1,
            urgency: 1,
            style: Style::Best,
            partial: true,
        },
    }
}

fn order(number: u32, state: OrderState, code: Option<RejectCode>) -> Event {
    let terms = Terms {
        id: id(&format!("Te4-P1782400000000000-{}", 12 + number)),
        parent: 0,
        bank: 0,
        pair: 0,
        side: Side::Ask,
        quantity: QUANTITY,
        price: 149_985,
        quote_id: None,
        is_fok: false,
        value_date: 20_260_107,
        sent_ns: 1,
        mid2_sent: None,
    };
    let leaves = if state.is_end() { 0 } else { QUANTITY };
    Event::Order(OrderLine {
        id: Some(terms.id),
        number: Some(number),
        bank: 0,
        what: OrderEvent::Sent,
        status: Some(OrderStatus {
            state,
            cum: 0,
            leaves,
        }),
        code,
        message: Some(Message::Order(terms)),
    })
}

fn fill() -> Event {
    Event::Fill(FillLine {
        order: None,
        parent: None,
        bank: Some(0),
        exec_id: id("X"),
        kind: FillKind::Status,
        pair: 0,
        side: Side::Ask,
        quantity: QUANTITY,
        price: Price(149_985_000_000),
        improve: None,
        hold_ns: None,
        is_late: false,
        settl_date: None,
        currency: None,
        part_of: None,
    })
}

fn position() -> Event {
    Event::Position {
        pair: 0,
        position: Position {
            units: -QUANTITY,
            cash: 1_499_850_000_500_000_000,
        },
        worst: WorstCase {
            long: -QUANTITY,
            short: -2 * QUANTITY,
        },
        mid2: Some(300_000),
        dates: None,
    }
}

/// An engine with one of everything.
fn ledger() -> Ledger {
    let labels = Labels {
        banks: vec!["LP02".to_owned()],
        pairs: vec![PairLabel {
            symbol: "USD/JPY".to_owned(),
            base: id("USD"),
            precision: 3,
            sizes: Vec::new(),
        }],
        ..Labels::default()
    };
    let waits = Event::Waits {
        parent: parent(),
        reason: WaitReason::NoReference,
    };
    let disputed = order(0, OrderState::Disputed, None);
    let codes = RejectCode::ALL.into_iter().zip(1..);
    let rejected = codes.map(|(code, number)| order(number, OrderState::Rejected, Some(code)));
    let all = [accepted(), waits, disputed, fill(), position()];
    let mut ledger = Ledger::default();
    for event in all.into_iter().chain(rejected) {
        ledger.take(&PublishedEntry {
            labels: &labels,
            at_ns: 1,
            entry: Entry::Event(&event, 0),
            batch: &Batch::default(),
            is_journaled: true,
        });
    }
    ledger
}

fn live(sessions: &[(&str, bool)]) -> Live {
    let of_bank =
        |(bank, is_up): &(&str, bool)| (format!("fx_bank_session:{bank}"), (*is_up).into());
    let counters = sessions.iter().map(of_bank).collect::<Vec<(String, u64)>>();
    counted(&counters)
}

/// An engine with these counters, whose sessions are counted, too.
fn counted(counters: &[(String, u64)]) -> Live {
    let of_banks = counters
        .iter()
        .filter(|(name, _)| name.starts_with("fx_bank_session:"));
    let up = of_banks.map(|(_, is_up)| is_up).sum();
    let all = counters
        .iter()
        .cloned()
        .chain([("fx_sessions".to_owned(), up)]);
    Live::of(Engine::of(&Sample::of(all), Freshness::Unstated))
}

fn first_line(live: &Live) -> String {
    let text = draw(&Ledger::default(), live, Room::default(), Paint::plain());
    text.lines().next().unwrap_or_default().to_owned()
}

/// No text is cut on a terminal of 80 columns, and amounts are in currency.
#[test]
fn no_line_is_longer_than_eighty_columns() {
    let live = live(&[("LP01", true), ("LP02", false)]);
    let text = draw(&ledger(), &live, Room::default(), Paint::plain());
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(80), "{longest:?}\n{text}");
    for part in [
        "1,499,850,000.50",
        "-10,000,000",
        "no_reference",
        "N 1",
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
    let starts = |live: &Live, with: &str| {
        let line = first_line(live);
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

/// An engine whose counters are not written, or cannot be read, is not said to trade.
#[test]
fn an_engine_without_current_counters_is_not_trading() {
    let folder = touchline_testing::Folder::new("blotter");
    let root = Root::at(&folder);
    let table = touchline_fx_live::execution::Counters::TABLE;
    let state = || Live::read(&root, "fx-run").state(None, Paint::plain());
    assert_eq!(state(), "NO COUNTERS");
    let killed = Live::read(&root, "fx-run").state(Some("ann"), Paint::plain());
    assert_eq!(killed, "KILLED by ann", "the journal has it");
    let stats = ProcessStats::create(&root, "fx-run", 1.0, table, []);
    let mut stats = stats.expect("a free name");
    for (age, words) in [
        (Duration::ZERO, "trading"),
        (CountersView::LATE_AFTER, "STALLED"),
    ] {
        let values = table.iter().map(|of| u64::from(of.name == "fx_sessions"));
        let written = (SystemTime::now() - age).duration_since(UNIX_EPOCH);
        let unix_ns = written.expect("after 1970").as_nanos() as u64;
        stats.counters_file().show_at(unix_ns, values);
        assert_eq!(state(), words);
    }
    let file = folder.join(".processes/fx-run/counters");
    std::fs::write(file, [7; 8192]).expect("our file");
    assert_eq!(state(), "COUNTERS UNREADABLE");
}

/// Of several reasons for which no order leaves the first is that of `top`; the counters of an engine that is stopped or died are old.
#[test]
fn the_first_line_has_the_state_that_top_has() {
    let set = |names: &[&str]| {
        names
            .iter()
            .map(|name| ((*name).to_owned(), 1))
            .collect::<Vec<_>>()
    };
    let up = Sample::of(set(&["fx_bank_session:LP01", "fx_sessions"]));
    let age = Duration::from_secs(3);
    for (freshness, state) in [
        (Freshness::Late(age), "STALLED"),
        (Freshness::Gone(Some(age)), "DIED"),
    ] {
        let live = Live::of(Engine::of(&up, freshness));
        assert!(first_line(&live).starts_with(state), "{live:?}");
        assert_eq!(live.down(), None, "it is not known which sessions are up");
    }
    let reasons = ["fx_held", "fx_asking", "fx_killed", "fx_journal_failed"];
    let states = ["held", "asks banks", "KILLED", "JOURNAL FAILED"];
    for (at, state) in states.iter().enumerate() {
        let live = counted(&set(&reasons[..=at]));
        assert!(first_line(&live).starts_with(state), "{live:?}");
        // The journal has the kill that the counters do not have yet.
        let by_journal = live.state(Some("desk"), Paint::plain());
        let expected = if at < 3 { "KILLED by desk" } else { state };
        assert_eq!(by_journal, expected);
    }
}

/// On a terminal of 24 rows every table has a row, so that none is below the edge.
#[test]
fn a_small_terminal_has_a_row_of_each_table() {
    let (ledger, live) = (ledger(), live(&[("LP01", true), ("LP02", true)]));
    let room = Room::of(24, &ledger, &live, 4);
    assert!(room.is_dense && room.rows >= 1, "{room:?}");
    let text = draw(&ledger, &live, room, Paint::plain());
    assert!(text.lines().count() + 4 < 24, "{text}");
    let tall = Room::of(60, &ledger, &live, 4);
    assert_eq!((tall.is_dense, tall.rows), (false, ROWS_MAX));
}

/// A bank that is closed by its hours is not down.
#[test]
fn a_closed_session_is_no_session_that_is_down() {
    let until_ns = 1_767_650_640_000_000_000;
    let of = |counters: &[(&str, u64)]| {
        let owned = |(name, value): &(&str, u64)| ((*name).to_owned(), *value);
        counted(&counters.iter().map(owned).collect::<Vec<_>>())
    };
    let some = of(&[
        ("fx_bank_session:LP01", 1),
        ("fx_bank_closed_until:LP01", 0),
        ("fx_bank_session:LP02", 0),
        ("fx_bank_closed_until:LP02", until_ns),
    ]);
    assert_eq!(some.down(), None);
    assert_eq!(some.closed(), ["closed until 2026-01-05 22:04 UTC: LP02"]);
    assert_eq!(some.state(None, Paint::plain()), "trading");
    let all = of(&[
        ("fx_bank_session:LP02", 0),
        ("fx_bank_closed_until:LP02", until_ns),
    ]);
    let state = all.state(None, Paint::plain());
    assert_eq!(state, "closed until 2026-01-05 22:04 UTC");
    let text = draw(&ledger(), &all, Room::default(), Paint::plain());
    assert!(text.contains("LP02     closed "), "{text}");
}
