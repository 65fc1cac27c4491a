use super::*;
use std::os::unix::fs::PermissionsExt;
use touchline_fx_events::event::{
    Adopted, Answer, Asked, Benchmark, BenchmarkOf, FillLine, Message, Numbered, OrderEvent,
    OrderLine, OrderStatus, ParentEnd,
};
use touchline_fx_events::labels::PairLabel;
use touchline_fx_events::orders::{FillKind, OrderState, RejectCode, Terms};
use touchline_fx_events::parents::{EndReason, Lifetime, ParentTerms};
use touchline_fx_events::plan::Style;
use touchline_fx_events::positions::{Position, WorstCase};
use touchline_fx_events::{Batch, Labels};
use touchline_testing::Folder;
use touchline_types::{Id, Price, Side};

/// 5 January 2026, 12:00 UTC, and the next day.
const MONDAY_NS: u64 = 1_767_614_400_000_000_000;
const TUESDAY_NS: u64 = MONDAY_NS + 86_400_000_000_000;

fn labels() -> Labels {
    Labels {
        prefix: Id::lossy(b"T"),
        account: Id::lossy(b"D1"),
        banks: vec!["A".to_owned()],
        pairs: vec![PairLabel {
            symbol: "EUR/USD".to_owned(),
            base: Id::lossy(b"EUR"),
            precision: 5,
            sizes: vec![1_000_000],
        }],
    }
}

fn id(text: &str) -> Id {
    Id::lossy(text.as_bytes())
}

fn tell(files: &mut Files, at_ns: u64, entry: Entry<'_>) {
    files.take(&PublishedEntry {
        labels: &labels(),
        at_ns,
        entry,
        batch: &Batch::default(),
        is_journaled: true,
    });
}

fn event(files: &mut Files, at_ns: u64, event: Event) {
    tell(files, at_ns, Entry::Event(&event, 0));
}

fn order_line(number: u32, state: OrderState, cum: i64, message: Option<Message>) -> Event {
    Event::Order(OrderLine {
        id: Some(id(&format!("T-P{number}-1"))),
        number: Some(number),
        bank: 0,
        what: OrderEvent::Report,
        status: Some(OrderStatus {
            state,
            cum,
            leaves: if state.is_end() { 0 } else { 1_000_000 - cum },
        }),
        code: None,
        message,
    })
}

/// The end of an order with nothing filled.
fn unfilled(number: u32, state: OrderState, code: Option<RejectCode>) -> Event {
    let Event::Order(line) = order_line(number, state, 0, None) else {
        unreachable!("it is one");
    };
    Event::Order(OrderLine { code, ..line })
}

fn fill(number: u32, kind: FillKind) -> Event {
    Event::Fill(FillLine {
        order: Some(Numbered {
            number,
            id: id(&format!("T-P{number}-1")),
        }),
        parent: Some(id(&format!("P{number}"))),
        bank: Some(0),
        exec_id: id(&format!("X{number}")),
        kind,
        pair: 0,
        side: Side::Bid,
        quantity: 1_000_000,
        price: Price(1_100_020_000),
        improve: Some(0),
        hold_ns: Some(1),
        is_late: false,
        settl_date: None,
        currency: None,
        part_of: None,
    })
}

/// The position after a number of fills of 1,000,000 at 1.10002; the mid is 1.1.
fn position(fills: i64) -> Event {
    let position = Position {
        units: fills * 1_000_000,
        cash: i128::from(-fills) * 1_000_000 * 1_100_020_000,
    };
    Event::Position {
        pair: 0,
        position,
        worst: WorstCase::new(&position, [0, 0]),
        mid2: Some(220_000),
        dates: None,
    }
}

fn parent_terms(number: u32) -> ParentTerms {
    ParentTerms {
        id: id(&format!("P{number}")),
        pair: 0,
        side: Side::Bid,
        quantity: 1_000_000,
        limit: None,
        lifetime: Lifetime::Deadline,
        deadline_ms: 1_000,
        urgency: 1,
        style: Style::Best,
        partial: true,
    }
}

/// An order of the parent with its number.
fn order_terms(at_ns: u64, number: u32) -> Terms {
    Terms {
        id: id(&format!("T-P{number}-1")),
        parent: number as usize,
        value_date: 20_260_107 + number,
        sent_ns: at_ns,
        price: 110_002,
        quantity: 1_000_000,
        mid2_sent: Some(220_000),
        ..Terms::SAMPLE
    }
}

/// A parent that buys 1,000,000, and its order.
fn sent(files: &mut Files, at_ns: u64, number: u32) {
    let terms = parent_terms(number);
    event(files, at_ns, Event::Accepted { number, terms });
    event(
        files,
        at_ns,
        Event::Benchmark(Benchmark {
            of: BenchmarkOf::Parent(number),
            pair: 0,
            mid2: Some(220_000),
            average: Some(11_000_100),
        }),
    );
    let message = Message::Order(order_terms(at_ns, number));
    let line = order_line(number, OrderState::Sent, 0, Some(message));
    event(files, at_ns, line);
}

/// The same, and the order is filled, at 1.10002, two ticks above the mid.
fn parent(files: &mut Files, at_ns: u64, number: u32, fills: i64) {
    sent(files, at_ns, number);
    event(files, at_ns + 5, fill(number, FillKind::Fill));
    event(files, at_ns + 5, position(fills));
    event(
        files,
        at_ns + 5,
        order_line(number, OrderState::Filled, 1_000_000, None),
    );
    event(
        files,
        at_ns + 6,
        Event::Ended(ParentEnd {
            parent: Numbered {
                number,
                id: id(&format!("P{number}")),
            },
            pair: 0,
            reason: Some(EndReason::Filled),
            filled: 1_000_000,
            average: Some(11_000_200),
            out: 0,
        }),
    );
}

fn begin(folder: &Path) -> Files {
    let origin = Origin {
        account: "D1".to_owned(),
        currency: "USD".to_owned(),
        ..Origin::default()
    };
    let mut files = Files::new(Some(folder), origin, Period::ALL);
    tell(
        &mut files,
        0,
        Entry::Run {
            epoch: 1,
            date: "20260105",
            drops: &[],
        },
    );
    files
}

/// A column of a file.
fn column(folder: &Path, file: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(file)).expect("a file");
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let at = head
        .iter()
        .position(|column| *column == name)
        .expect("a column");
    lines
        .map(|line| line.split(',').nth(at).expect("a cell").to_owned())
        .collect()
}

fn about_of(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("about.json")).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

/// Positions and fills are read by their owner alone; numbers stay numbers.
#[test]
fn files_of_the_report_are_private() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    files.row(20_260_105, "{\"t\":1,\"exec_id\":\"-1\",\"improve\":-5}");
    files.write().expect("our folder");
    let fills = std::fs::read_to_string(folder.join("fills.csv")).expect("a file");
    assert!(fills.ends_with("1,,,,\"'-1\",,,,,,-5,,,,,\n"), "{fills}");
    for entry in std::fs::read_dir(&folder).expect("our folder") {
        let entry = entry.expect("an entry");
        let about = entry.metadata().expect("a file");
        let mode = about.permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
}

/// A journal without an entry has a report: each part says why it is empty, and no number is made up.
#[test]
fn a_report_of_nothing_says_why() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    files.write().expect("our folder");
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    for text in [
        "none: the journal has no entry of the period",
        "No position: nothing was filled or booked",
        "No parent arrived in this period.",
        "No order was sent in this period.",
        "No chart: no order was sent in this period.",
        "The journal has no alarm of this period.",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("<svg"), "{page}");
    for file in [
        "parents.csv",
        "orders.csv",
        "commands.csv",
        "alarms.csv",
        "value_dates.csv",
        "fills.csv",
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("a file");
        assert_eq!(text.lines().count(), 1, "{file}");
    }
    assert_eq!(about_of(&folder)["as_of"], Value::Null);
}

/// Each trade date has a folder, whose rows add up to those of the whole. A fill that is busted later changes the row of its parent, and
/// the positions from that day on.
#[test]
fn days_add_up_to_the_whole() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    parent(&mut files, MONDAY_NS, 0, 1);
    files.write().expect("our folder");
    parent(&mut files, TUESDAY_NS, 1, 2);
    let [monday, tuesday] = ["20260105", "20260106"].map(|day| folder.join(day));
    files.write().expect("our folder");
    let filled = |folder: &Path| column(folder, "parents.csv", "filled");
    assert_eq!(filled(&monday), ["1000000"]);
    assert_eq!(
        filled(&folder),
        [filled(&monday), filled(&tuesday)].concat()
    );
    for (column_of, expected) in [
        ("slippage_ticks", "2"),
        ("slippage", "20"),
        ("slippage_per_million", "20"),
        ("average", "1.10002"),
        ("whole", "1.10001"),
        ("against_whole_ticks", "1"),
        ("mid", "1.1"),
        ("duration_ns", "6"),
        ("reason", "filled"),
        ("client", ""),
    ] {
        assert_eq!(
            column(&monday, "parents.csv", column_of),
            [expected],
            "{column_of}"
        );
    }
    let positions = |folder: &Path| column(folder, "value_dates.csv", "position");
    assert_eq!(positions(&monday), ["1000000"]);
    assert_eq!(positions(&tuesday), ["1000000", "1000000"]);
    assert_eq!(
        column(&folder, "value_dates.csv", "value_date"),
        ["20260107", "20260108"]
    );
    assert_eq!(column(&monday, "value_dates.csv", "open_report"), ["-20"]);
    let dates = column(&folder, "scorecard_days.csv", "trade_date");
    assert_eq!(dates, ["20260105", "20260106"]);
    let is_of_days = || {
        for name in ["bank", "orders", "filled", "fill_rate_low", "tests"] {
            let whole = column(&folder, "scorecard_days.csv", name);
            let days = [&monday, &tuesday].map(|day| column(day, "scorecard.csv", name));
            assert_eq!(whole, days.concat(), "{name}");
        }
    };
    is_of_days();
    assert_eq!(about_of(&folder)["profit"]["open"], "-40");
    assert_eq!(about_of(&folder)["not_known"], serde_json::json!([]));
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(
        page.contains("2026-01-05 to 2026-01-06") && page.contains("-40"),
        "{page}"
    );
    let fills = |folder: &Path| column(folder, "fills.csv", "exec_id");
    assert_eq!(
        (fills(&folder), fills(&tuesday)),
        (
            vec!["X0".to_owned(), "X1".to_owned()],
            vec!["X1".to_owned()]
        )
    );

    event(&mut files, TUESDAY_NS + 50, fill(0, FillKind::Bust));
    event(&mut files, TUESDAY_NS + 50, position(1));
    files.write().expect("our folder");
    assert_eq!(filled(&monday), ["0"]);
    is_of_days();
    assert_eq!(
        column(&monday, "parents.csv", "average"),
        [""],
        "an unknown value is empty"
    );
    assert_eq!(positions(&monday), ["1000000"], "the bust came later");
    assert_eq!(positions(&tuesday), ["1000000"]);
    assert_eq!(
        column(&tuesday, "value_dates.csv", "value_date"),
        ["20260108"]
    );
    assert_eq!(about_of(&folder)["not_known"], serde_json::json!([]));
}

/// The digests of `about.json` are those of the files; a sentence names each position that differs from the sum of its fills.
#[test]
fn about_has_the_digest_of_each_file_and_says_what_does_not_add_up() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    parent(&mut files, MONDAY_NS, 0, 7);
    files.write().expect("our folder");
    for (folder, count) in [(folder.to_path_buf(), 14), (folder.join("20260105"), 10)] {
        let about = about_of(&folder);
        let digests = about["sha256"].as_object().expect("digests");
        assert_eq!(digests.len(), count);
        let files = std::fs::read_dir(&folder).expect("our folder");
        let files = files.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_file()));
        assert_eq!(files.count(), count + 1, "each file, and about.json");
        for (name, sha256) in digests {
            let bytes = std::fs::read(folder.join(name)).expect("a file");
            assert_eq!(*sha256, Value::from(digest(&bytes)), "{name}");
        }
        let said = about["not_known"][0].as_str().expect("a sentence");
        assert!(
            said.contains("the fills add up to 1000000 units, and the engine states 7000000"),
            "{said}"
        );
    }
}

/// A period leaves out the days before and behind it.
#[test]
fn a_period_has_its_days_alone() {
    let folder = Folder::new("report");
    let period = Period {
        first: 20_260_106,
        last: 20_260_106,
    };
    let mut files = Files::new(Some(&folder), Origin::default(), period);
    tell(
        &mut files,
        0,
        Entry::Run {
            epoch: 1,
            date: "20260105",
            drops: &[],
        },
    );
    parent(&mut files, MONDAY_NS, 0, 1);
    parent(&mut files, TUESDAY_NS, 1, 2);
    files.write().expect("our folder");
    assert_eq!(column(&folder, "parents.csv", "parent"), ["P1"]);
    assert_eq!(column(&folder, "fills.csv", "exec_id"), ["X1"]);
    assert_eq!(
        column(&folder, "value_dates.csv", "position").len(),
        2,
        "all fills before its end"
    );
    assert!(!folder.join("20260105").exists() && folder.join("20260106").exists());
    for whole in ["positions.jsonl", "positions.csv", "scorecard.jsonl"] {
        assert!(!folder.join(whole).exists(), "{whole} is of all days");
    }
}

/// A bank that refuses our cancel and then lets the order expire has rejected it.
#[test]
fn an_order_whose_cancel_was_refused_is_a_reject_of_the_bank() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    sent(&mut files, MONDAY_NS, 0);
    sent(&mut files, MONDAY_NS, 1);
    for number in [0, 1] {
        let cancel = Message::Cancel {
            id: id("T-P-2"),
            order: Asked::from(&order_terms(MONDAY_NS, number)),
            at_ns: MONDAY_NS,
        };
        let line = order_line(number, OrderState::PendingCancel, 0, Some(cancel));
        event(&mut files, MONDAY_NS + 1, line);
    }
    // The bank refuses the first cancel; the second order ends by it, for which the engine gives no code.
    event(
        &mut files,
        MONDAY_NS + 2,
        order_line(0, OrderState::New, 0, None),
    );
    let gone = unfilled(0, OrderState::Expired, Some(RejectCode::Gone));
    event(&mut files, MONDAY_NS + 3, gone);
    event(
        &mut files,
        MONDAY_NS + 3,
        unfilled(1, OrderState::Canceled, None),
    );
    files.write().expect("our folder");
    for (name, expected) in [("ended", "2"), ("rejected", "1"), ("codes", "B 1")] {
        let found = column(&folder, "scorecard.csv", name);
        assert_eq!(found, [expected], "{name}");
    }
    let asked = column(&folder, "orders.csv", "cancel_asked");
    assert_eq!(asked, ["true", "true"]);
}

/// The desk learns by telephone what became of an order: the move of the mid until then is none of the bank's.
#[test]
fn an_order_that_the_desk_ends_has_no_cost_and_no_move() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    parent(&mut files, MONDAY_NS, 0, 1);
    let later_ns = MONDAY_NS + 3 * 3_600_000_000_000;
    for number in [1, 2] {
        sent(&mut files, MONDAY_NS + 10, number);
        let line = order_line(number, OrderState::Unknown, 0, None);
        event(&mut files, MONDAY_NS + 20, line);
        let command = Entry::Command {
            request: u64::from(number),
            client: "desk",
            person: "ann",
            bytes: b"resolve",
        };
        tell(&mut files, later_ns, command);
        if number == 1 {
            let lost = Some(RejectCode::NeverArrived);
            let end = unfilled(number, OrderState::Canceled, lost);
            event(&mut files, later_ns, end);
        } else {
            event(&mut files, later_ns, fill(number, FillKind::Manual));
            let end = order_line(number, OrderState::Filled, 1_000_000, None);
            event(&mut files, later_ns, end);
        }
        let mark = Benchmark {
            of: BenchmarkOf::Order(number),
            pair: 0,
            mid2: Some(220_600),
            average: None,
        };
        event(&mut files, later_ns, Event::Benchmark(mark));
        let answer = Answer {
            client: "desk",
            request: u64::from(number),
            answer: "done",
            reason: None,
            cause: None,
        };
        tell(&mut files, later_ns, Entry::Answer(answer));
    }
    files.write().expect("our folder");
    for (name, expected) in [
        ("ended", "3"),
        ("with_fill", "2"),
        ("codes", "N 1"),
        ("reject_cost", "0"),
        ("rejects_unmeasured", "0"),
        ("asymmetry_n", "0"),
    ] {
        let found = column(&folder, "scorecard.csv", name);
        assert_eq!(found, [expected], "{name}");
    }
    assert_eq!(column(&folder, "prices.csv", "orders"), ["1"]);
    assert_eq!(column(&folder, "means.csv", "n")[..2], ["0", "0"]);
}

/// When an adopted order was sent is not known: it has no hold, and is not scored, as in the engine.
#[test]
fn an_adopted_order_does_not_enter_the_scorecard() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    parent(&mut files, MONDAY_NS, 0, 1);
    files.write().expect("our folder");
    let scores = || std::fs::read_to_string(folder.join("scorecard.csv")).expect("a file");
    let before = scores();
    let adopted = Adopted {
        number: 1,
        terms: order_terms(MONDAY_NS + 10, 1),
        parent: 1,
        parent_terms: parent_terms(1),
        of: id("P0"),
    };
    let adopted = Event::Adopted(Box::new(adopted));
    event(&mut files, MONDAY_NS + 10, adopted);
    event(&mut files, MONDAY_NS + 10, fill(1, FillKind::Fill));
    event(&mut files, MONDAY_NS + 10, position(2));
    let end = order_line(1, OrderState::Filled, 1_000_000, None);
    event(&mut files, MONDAY_NS + 15, end);
    files.write().expect("our folder");
    assert_eq!(scores(), before);
    assert_eq!(column(&folder, "orders.csv", "hold_ns"), ["5", ""]);
    // Its parent has ended where it was taken over.
    assert_eq!(
        column(&folder, "parents.csv", "reason"),
        ["filled", "adopted"]
    );
    assert_eq!(column(&folder, "parents.csv", "duration_ns"), ["6", "0"]);
    assert_eq!(
        column(&folder, "orders.csv", "filled"),
        ["1000000", "1000000"]
    );
    assert_eq!(about_of(&folder)["not_known"], serde_json::json!([]));
}

/// A record that was changed after it was written may be of any day: the folder of each says so.
#[test]
fn a_fault_of_the_chain_is_in_the_folder_of_each_day() {
    let folder = Folder::new("report");
    let mut files = begin(&folder);
    parent(&mut files, MONDAY_NS, 0, 1);
    parent(&mut files, TUESDAY_NS, 1, 2);
    let mut written = |chain: &str, faults: &[&str]| {
        let faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
        files.note_journal("01".to_owned(), chain.to_owned(), faults);
        files.write().expect("our folder");
    };
    for head in ["1", "2", "3"] {
        written(head, &[]);
    }
    written("3", &["segment 1"]);
    for day in ["20260105", "20260106"] {
        let journal = &about_of(&folder.join(day))["journal"];
        assert_eq!(journal["faults"], serde_json::json!(["segment 1"]), "{day}");
    }
}
