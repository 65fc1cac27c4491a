//! Days of rows.

use super::*;
use touchline_testing::Folder;
use touchline_types::{
    BookSnapshot, Depth, Instrument, InstrumentDefinition, PacketInfo, Price, Quantity, Validity,
};

const DAY_NS: u64 = 86_400 * 1_000_000_000;
/// Noon of 2026-11-29.
const NOON_NS: u64 = 1_795_953_600 * 1_000_000_000;

/// A message that was received at this time, 0: unknown.
fn take(exporter: &mut Exporter, update: &Update<'_>, receive_ns: u64, is_image: bool) {
    let packet = PacketInfo {
        receive_ns,
        ..PacketInfo::default()
    };
    exporter.message(&Message {
        sequence: 1,
        timestamps: &Timestamps {
            packet,
            ..Timestamps::default()
        },
        update,
        stamp: Stamp::Poll,
        is_image,
    });
}

/// A state and a book of two days, with a gap between them.
fn take_days(exporter: &mut Exporter, days_ago: u64) {
    let depth = Depth {
        direct: 10,
        implied: 0,
    };
    let definition = InstrumentDefinition::unknown(Instrument(0), 1, depth);
    let level = Level {
        price: Price(1),
        quantity: Quantity(1),
        orders: 1,
        known: true,
    };
    let whole = Update::BookSnapshot(BookSnapshot {
        instrument: Instrument(0),
        validity: Validity::Live,
        bids: &[level],
        asks: &[],
        implied_bids: &[],
        implied_asks: &[],
    });
    for recorded_ns in [NOON_NS, NOON_NS + DAY_NS] {
        exporter.recorded_at(recorded_ns);
        if recorded_ns > NOON_NS {
            let (messages, bytes) = (1, 0);
            exporter.event(&SubscriptionEvent::Overrun { messages, bytes });
        }
        // The state has the definition with the times of its packet, of three days before; its books have none.
        let receive_ns = recorded_ns - days_ago * DAY_NS;
        let defined = Update::Definition(&definition);
        take(exporter, &defined, receive_ns - 3 * DAY_NS, true);
        take(exporter, &whole, 0, true);
        exporter.event(&SubscriptionEvent::CaughtUp);
        take(exporter, &whole, receive_ns, false);
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
        exporter.begin_unit("unit");
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
