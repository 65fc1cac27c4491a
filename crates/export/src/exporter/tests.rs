//! Days, places and losses of rows.

use super::*;
use crate::csv::Times;
use crate::files::ROWS_AT_ONCE;
use crate::tables::{Cause, Table};
use crate::writer::Format;
use std::collections::BTreeMap;
use touchline_testing::Folder;
use touchline_types::{
    BookSnapshot, ChannelState, Code, Depth, Gap, Instrument, InstrumentDefinition, OrderAction,
    OrderChange, OrderRow, OrdersSnapshot, PacketInfo, Price, Quantity, ReferenceData, Side,
    Validity,
};

const DAY_NS: u64 = 86_400 * 1_000_000_000;
/// Noon of 2026-11-29.
const NOON_NS: u64 = 1_795_953_600 * 1_000_000_000;

/// A message that was received at this time, 0: unknown.
fn take(
    exporter: &mut Exporter,
    sequence: u64,
    update: &Update<'_>,
    receive_ns: u64,
    is_image: bool,
) {
    let packet = PacketInfo {
        receive_ns,
        ..PacketInfo::default()
    };
    exporter.message(&Message {
        sequence,
        timestamps: &Timestamps {
            packet,
            ..Timestamps::default()
        },
        update,
        stamp: Stamp::Poll,
        is_image,
    });
}

const LEVEL: Level = Level {
    price: Price(1),
    quantity: Quantity(1),
    orders: 1,
    known: true,
};

const LOSS: Loss = Loss {
    cause: Cause::Overrun,
    first: 3,
    last: 8,
    count: Some(6),
    after: 0,
};

fn definition() -> InstrumentDefinition {
    let depth = Depth {
        direct: 10,
        implied: 0,
    };
    InstrumentDefinition::unknown(Instrument(0), 1, depth)
}

/// A whole book with these bids.
fn whole(bids: &[Level]) -> Update<'_> {
    Update::BookSnapshot(BookSnapshot {
        instrument: Instrument(0),
        validity: Validity::Live,
        bids,
        asks: &[],
        implied_bids: &[],
        implied_asks: &[],
    })
}

type Row = BTreeMap<String, String>;

/// Rows of a table after these messages, by the names of its columns.
fn rows(table: Table, fill: impl FnOnce(&mut Exporter)) -> Vec<Row> {
    let folder = Folder::in_memory("export-rows");
    let format = Format::Csv(Times::Nanoseconds);
    let files = Files::create(folder.join("out"), &[table], format).expect("our folder");
    let mut exporter = Exporter::new(vec![files], None);
    exporter.begin(1, 8);
    exporter.begin_unit("unit", &[]);
    fill(&mut exporter);
    exporter.finish(&Origin::default()).expect("our folder");
    let text = std::fs::read_to_string(folder.join(format!("out/{}.csv", table.name())));
    let text = text.expect("the file");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().expect("a header").collect();
    lines
        .map(|cells| names.iter().cloned().zip(cells).collect())
        .collect()
}

/// These cells of each row.
fn cells<'a>(rows: &'a [Row], names: &[&str]) -> Vec<Vec<&'a str>> {
    let of_row = |row: &'a Row| names.iter().map(|name| row[*name].as_str()).collect();
    rows.iter().map(of_row).collect()
}

/// A state and a book of two days, with a gap between them.
fn take_days(exporter: &mut Exporter, days_ago: u64) {
    let definition = definition();
    let whole = whole(&[LEVEL]);
    for recorded_ns in [NOON_NS, NOON_NS + DAY_NS] {
        exporter.recorded_at(recorded_ns);
        if recorded_ns > NOON_NS {
            let (messages, bytes) = (1, 0);
            exporter.event(&SubscriptionEvent::Overrun { messages, bytes });
        }
        // The state has the definition with the times of its packet, of three days before; its books have none.
        let receive_ns = recorded_ns - days_ago * DAY_NS;
        let defined = Update::Definition(&definition);
        take(exporter, 1, &defined, receive_ns - 3 * DAY_NS, true);
        take(exporter, 1, &whole, 0, true);
        exporter.event(&SubscriptionEvent::CaughtUp);
        take(exporter, 1, &whole, receive_ns, false);
    }
}

/// The state behind a gap is in the files of the messages that follow it, on a tape of the day and on one of an older capture.
#[test]
fn rows_without_a_receive_time_are_of_the_day_of_their_record() {
    let of_today = ["date=2026-11-29", "date=2026-11-30"];
    let of_capture = ["date=2025-11-29", "date=2025-11-30"];
    for (days_ago, expected, defined) in [
        (0, of_today, "date=2026-11-27"),
        (365, of_capture, "date=2025-11-27"),
    ] {
        let folder = Folder::new("export-days");
        let tables = [Table::Definitions, Table::Snapshots, Table::Tops];
        let files = Files::partitioned(folder.join("out"), &tables);
        let mut exporter = Exporter::new(vec![files], None);
        exporter.begin(1, 0);
        exporter.begin_unit("unit", &[]);
        take_days(&mut exporter, days_ago);
        let paths = exporter.tables[0].paths(&exporter.state.texts);
        for table in tables {
            let of_table = paths.iter().filter(|path| path.starts_with(table.name()));
            let days = of_table.filter_map(|path| path.parent()?.file_name()?.to_str());
            let days: Vec<&str> = days.collect();
            assert!(!days.is_empty(), "{table:?}: {paths:?}");
            let has_time = |day: &str| table == Table::Definitions && day == defined;
            let is_known = |day: &&str| expected.contains(day) || has_time(day);
            assert!(days.iter().all(is_known), "{paths:?}");
        }
        let snapshots = paths.iter().filter(|path| path.starts_with("snapshots"));
        assert_eq!(snapshots.count(), 2, "{paths:?}");
    }
}

/// The recorder states that the bus is gone, in a message without a number and times; its rows stand behind the last message of the bus.
#[test]
fn a_message_of_the_recorder_has_the_place_of_the_last_message() {
    let found = rows(Table::Tops, |exporter| {
        take(exporter, 1, &Update::Definition(&definition()), 5, false);
        take(exporter, 2, &whole(&[LEVEL]), NOON_NS, false);
        let gone = ChannelState::LIVE.stale();
        take(exporter, 0, &Update::Channel(&gone), 0, false);
    });
    let time = NOON_NS.to_string();
    assert_eq!(
        cells(&found, &["sequence", "ts_recv", "validity"]),
        [["2", &time, "live"], ["2", &time, "stale"]]
    );
}

/// A loss of the tape ends the quotes before it, as one of the gateway does.
#[test]
fn quotes_are_not_live_behind_a_loss() {
    let lost = |exporter: &mut Exporter| {
        let (messages, bytes) = (7, 0);
        exporter.event(&SubscriptionEvent::Overrun { messages, bytes });
        exporter.loss(LOSS);
    };
    let found = rows(Table::Tops, |exporter| {
        take(exporter, 1, &Update::Definition(&definition()), 5, false);
        take(exporter, 2, &whole(&[LEVEL]), NOON_NS, false);
        lost(exporter);
        take(exporter, 9, &whole(&[LEVEL]), 0, true);
    });
    let time = NOON_NS.to_string();
    assert_eq!(
        cells(&found, &["sequence", "ts_recv", "bid_price", "validity"]),
        [
            ["2", &time, "0.000000001", "live"],
            ["2", &time, "0.000000001", "gapped"],
            ["9", "", "0.000000001", "live"]
        ]
    );
}

/// Another publication has other instruments: the quotes of the one before end with it.
#[test]
fn quotes_are_not_live_behind_their_publication() {
    let found = rows(Table::Tops, |exporter| {
        take(exporter, 1, &Update::Definition(&definition()), 5, false);
        take(exporter, 2, &whole(&[LEVEL]), NOON_NS, false);
        exporter.event(&SubscriptionEvent::Restarted { generation: 2 });
        exporter.begin(1, 8);
        take(exporter, 1, &Update::Definition(&definition()), 5, false);
    });
    let found = cells(&found, &["sequence", "bid_price", "validity"]);
    assert_eq!(found[0], ["2", "0.000000001", "live"]);
    assert_eq!(found[1][0], "2");
    assert!(found.len() == 2 && found[1][2] != "live", "{found:?}");
}

/// A recorder that starts again begins a segment with a loss: in a file of the whole tape the quotes before it end there.
#[test]
fn quotes_are_not_live_behind_a_loss_at_the_begin_of_a_segment() {
    let found = rows(Table::Tops, |exporter| {
        take(exporter, 1, &Update::Definition(&definition()), 5, false);
        take(exporter, 2, &whole(&[LEVEL]), NOON_NS, false);
        let ended = exporter.end_unit(&Origin::default());
        assert!(ended.expect("our folder").is_empty());
        exporter.begin_unit("next", &[]);
        let (messages, bytes) = (7, 0);
        exporter.event(&SubscriptionEvent::Overrun { messages, bytes });
        exporter.loss(LOSS);
        take(exporter, 9, &whole(&[LEVEL]), 0, true);
        exporter.event(&SubscriptionEvent::CaughtUp);
        take(exporter, 10, &whole(&[LEVEL]), NOON_NS + 7, false);
    });
    let (time, later) = (NOON_NS.to_string(), (NOON_NS + 7).to_string());
    assert_eq!(
        cells(&found, &["sequence", "ts_recv", "bid_price", "validity"]),
        [
            ["2", &time, "0.000000001", "live"],
            ["2", &time, "0.000000001", "gapped"],
            ["9", &later, "0.000000001", "live"],
        ]
    );
}

/// A segment that begins with a loss has the same files in a run from the segment before and in one that begins with it.
#[test]
fn a_loss_at_the_begin_of_a_unit_is_in_the_same_file_of_each_run() {
    let defined = InstrumentDefinition {
        reference: ReferenceData {
            venue: Code::lossy(b"lab"),
            ..ReferenceData::NULL
        },
        ..definition()
    };
    let paths = |has_before: bool, has_message: bool| {
        let folder = Folder::in_memory("export-losses");
        let tables = [Table::Gaps, Table::Snapshots];
        let files = Files::partitioned(folder.join("out"), &tables);
        let mut exporter = Exporter::new(vec![files], None);
        exporter.begin(1, 0);
        if has_before {
            exporter.begin_unit("before", &[]);
            exporter.recorded_at(NOON_NS);
            // A tape of an older capture.
            let receive_ns = NOON_NS - 365 * DAY_NS;
            take(
                &mut exporter,
                1,
                &Update::Definition(&defined),
                receive_ns,
                false,
            );
            take(&mut exporter, 2, &whole(&[LEVEL]), receive_ns, false);
            let ended = exporter.end_unit(&Origin::default());
            ended.expect("our folder");
        }
        exporter.begin_unit("unit", &[]);
        exporter.recorded_at(NOON_NS + DAY_NS);
        let (messages, bytes) = (7, 0);
        exporter.event(&SubscriptionEvent::Overrun { messages, bytes });
        exporter.loss(LOSS);
        take(&mut exporter, 8, &Update::Definition(&defined), 5, true);
        take(&mut exporter, 8, &whole(&[LEVEL]), 0, true);
        if has_message {
            let receive_ns = NOON_NS - 364 * DAY_NS;
            take(&mut exporter, 9, &whole(&[LEVEL]), receive_ns, false);
        }
        exporter.end_held();
        let mut paths = exporter.tables[0].paths(&exporter.state.texts);
        paths.sort();
        let names = paths.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>()
    };
    for (has_message, days) in [
        (
            true,
            &[
                "gaps/venue=lab/date=2025-11-30",
                "snapshots/venue=lab/date=2025-11-30",
            ][..],
        ),
        (false, &["gaps/venue=lab/date=2026-11-30"]),
    ] {
        let expected: Vec<_> = days
            .iter()
            .map(|day| format!("{day}/unit.parquet"))
            .collect();
        for has_before in [true, false] {
            assert_eq!(paths(has_before, has_message), expected, "{has_before}");
        }
    }
}

/// Rows folded one after the other give empty books where a reset, a gap or a whole book has emptied them.
#[test]
fn books_that_are_emptied_have_rows() {
    let orders = [OrderChange {
        order_id: 7,
        priority: 1,
        price: Price(1),
        quantity: Quantity(1),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow::NONE,
    }];
    let whole_orders = |orders| {
        Update::OrdersSnapshot(OrdersSnapshot {
            instrument: Instrument(0),
            validity: Validity::Live,
            orders,
        })
    };
    let fill = |exporter: &mut Exporter| {
        let mut sequence = 0;
        let mut next = |update: &Update<'_>| {
            sequence += 1;
            take(exporter, sequence, update, NOON_NS, false);
        };
        next(&Update::Definition(&definition()));
        for emptied in [
            Update::Reset,
            Update::Gap(Gap {
                first: 1,
                last: 1,
                orders: Validity::Recovering,
            }),
        ] {
            next(&whole(&[LEVEL]));
            next(&whole_orders(&orders));
            next(&emptied);
        }
        next(&whole(&[]));
        next(&whole_orders(&[]));
    };
    let names = ["sequence", "side", "action", "book", "level", "price"];
    assert_eq!(
        cells(&rows(Table::BookUpdates, fill), &names),
        [["4", "bid", "clear", "direct", "0", ""]]
    );
    let names = ["sequence", "side", "action", "order_id", "priority"];
    assert_eq!(
        cells(&rows(Table::OrderUpdates, fill), &names),
        [["4", "", "clear", "", ""], ["7", "", "clear", "", ""]]
    );
    let names = ["sequence", "side", "book", "level", "price", "order_id"];
    let price = "0.000000001";
    assert_eq!(
        cells(&rows(Table::Snapshots, fill), &names),
        [
            ["2", "bid", "direct", "0", price, ""],
            ["3", "bid", "orders", "0", price, "7"],
            ["5", "bid", "direct", "0", price, ""],
            ["6", "bid", "orders", "0", price, "7"],
            ["8", "", "direct", "", "", ""],
            ["9", "", "orders", "", "", ""],
        ]
    );
}

/// Messages of a state in several parts have numbers of messages behind it: its rows stand before those.
#[test]
fn a_state_has_one_number() {
    let found = rows(Table::Snapshots, |exporter| {
        take(exporter, 1, &Update::Definition(&definition()), 5, false);
        take(exporter, 8, &Update::Channel(&ChannelState::LIVE), 0, true);
        take(exporter, 11, &whole(&[LEVEL]), 0, true);
        take(exporter, 9, &whole(&[]), NOON_NS, false);
    });
    let names = ["sequence", "price"];
    assert_eq!(cells(&found, &names), [["8", "0.000000001"], ["9", ""]]);
}

/// A file that cannot be written ends the export: further messages leave no rows, and the source can see it.
#[test]
fn no_rows_are_kept_behind_a_failure() {
    let folder = Folder::in_memory("export-failure");
    let files = Files::partitioned(folder.join("out"), &[Table::Snapshots]);
    let mut exporter = Exporter::new(vec![files], None);
    exporter.begin(1, 0);
    exporter.begin_unit("unit", &[]);
    // The place of the folder of its files is taken.
    std::fs::write(folder.join("out/snapshots"), "").expect("our folder");
    let has_failed = exporter.has_failed();
    let mut sequence = 0;
    let mut books = |exporter: &mut Exporter| {
        for _ in 0..ROWS_AT_ONCE {
            sequence += 1;
            take(exporter, sequence, &whole(&[LEVEL]), NOON_NS, false);
        }
        exporter.batch_end();
    };
    books(&mut exporter);
    assert!(has_failed.get());
    let taken = exporter.counts().total();
    books(&mut exporter);
    assert_eq!(exporter.counts().total(), taken);
    let failure = exporter.check().expect_err("it cannot be written");
    assert!(failure.to_string().contains("snapshots"), "{failure}");
}

/// Captures of one name in two folders have rows of the same day: the second ones are refused, and an export of the first may be repeated.
#[test]
fn captures_of_one_name_do_not_replace_each_other() {
    let folder = Folder::in_memory("export-captures");
    let export = |captures: &[&str]| {
        let files = Files::partitioned(folder.join("out"), &[Table::Snapshots]);
        let mut exporter = Exporter::new(vec![files], None);
        exporter.begin(1, 0);
        let captures: Vec<String> = captures.iter().copied().map(str::to_owned).collect();
        exporter.begin_unit("lab-cme", &captures);
        take(&mut exporter, 1, &whole(&[LEVEL]), NOON_NS, false);
        let origin = Origin {
            captures,
            ..Origin::default()
        };
        exporter.finish(&origin).map(|written| written.len())
    };
    for again in [
        &["/day1/cme.pcap", "/b.pcap"],
        &["/b.pcap", "/day1/cme.pcap"],
    ] {
        assert_eq!(export(again).expect("our folder"), 1);
    }
    let refused = export(&["/day2/cme.pcap"]).expect_err("other captures");
    let refused = refused.to_string();
    assert!(
        refused.contains("is of other captures (/b.pcap, /day1/cme.pcap)"),
        "{refused}"
    );
}

/// What the reader of a tape passes over is stated for the whole and for each unit.
#[test]
fn messages_that_are_passed_over_are_stated() {
    let mut exporter = Exporter::new(Vec::new(), None);
    let mut stated = |without_state, unknown| {
        exporter.begin_unit("unit", &[]);
        exporter.left_out(LeftOut {
            without_state,
            unknown,
        });
        [&exporter.counts, &exporter.unit_counts].map(|counts| {
            let about = counts.json(&Origin::default());
            ["messages_without_state", "messages_unknown"].map(|name| about[name].as_u64())
        })
    };
    assert_eq!(stated(5, 1), [[Some(5), Some(1)]; 2]);
    assert_eq!(stated(7, 1), [[Some(7), Some(1)], [Some(2), Some(0)]]);
}

/// A file of the whole has the positions from the begin of the run on, also beside files of the last unit.
#[test]
fn positions_are_those_of_the_messages_of_a_file() {
    let folder = Folder::in_memory("export-positions");
    let csv = Format::Csv(Times::Nanoseconds);
    let whole_files = Files::create(folder.join("whole"), &[Table::Gaps], csv);
    let units = Files::partitioned(folder.join("units"), &[Table::Snapshots]);
    let mut exporter = Exporter::new(vec![whole_files.expect("our folder"), units], None);
    exporter.begin(1, 0);
    exporter.begin_unit("unit", &[]);
    take(&mut exporter, 1, &whole(&[LEVEL]), NOON_NS, false);
    let origin = Origin {
        positions: Some((700, 900)),
        begin: 300,
        ..Origin::default()
    };
    let written = exporter.finish(&origin).expect("our folder");
    let positions = written.iter().map(|written| {
        let about = std::fs::read(crate::complete::beside(&written.path)).expect("it is there");
        let about: serde_json::Value = serde_json::from_slice(&about).expect("JSON");
        about["positions"].to_string()
    });
    assert_eq!(positions.collect::<Vec<_>>(), ["[300,900]", "[700,900]"]);
}
