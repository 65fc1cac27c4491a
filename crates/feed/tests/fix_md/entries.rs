//! Entries as venues write them: sizes of zero and below, changes by an id alone, dates of zeros.

use crate::world::World;
use touchline_feed::SessionFeed;
use touchline_feed::fix_md::Dialect;
use touchline_types::{Event, Instrument, LevelEvent, UpdateAction, Validity};

const LIST: &str = "320=1|322=1|560=0|146=1|55=BTC-PERPETUAL|167=FUT|15=BTC|969=0.5|";

/// Logged on, the instruments known and requested; the symbol of the first one.
fn asked(dialect: Dialect) -> (World, &'static str) {
    let mut world = World::new(dialect);
    world.connect();
    match dialect {
        Dialect::Standard => (world, "EUR/USD"),
        Dialect::Deribit => {
            world.send("y", LIST);
            (world, "BTC-PERPETUAL")
        }
    }
}

/// With a live book of a bid 100 and an ask 101, with these fields in each entry.
fn live(dialect: Dialect, ids: [&str; 2]) -> (World, &'static str) {
    let (mut world, symbol) = asked(dialect);
    let [bid, ask] = ids;
    world.send(
        "W",
        &format!("55={symbol}|268=2|269=0|270=100|271=1|{bid}269=1|270=101|271=2|{ask}"),
    );
    assert_eq!(world.feed.validity(Instrument(0)), Validity::Live);
    (world, symbol)
}

/// Levels: side, price, quantity in whole units, and the action.
fn levels(events: &[Event]) -> Vec<(i8, i64, i64, UpdateAction)> {
    let row = |level: &LevelEvent| {
        let quantity = match level.quantity.is_null() {
            true => -1,
            false => level.quantity.0 / 100_000_000,
        };
        let price = level.price.0 / 1_000_000_000;
        (level.side as i8, price, quantity, level.action)
    };
    let level = |event: &Event| match event {
        Event::Level(level, _) | Event::RebuildLevel(level) => Some(row(level)),
        _ => None,
    };
    events.iter().filter_map(level).collect()
}

/// MDReqID of the last request for books.
fn request(world: &World) -> String {
    let (_, body) = world
        .asked
        .iter()
        .rfind(|(kind, _)| kind == "V")
        .expect("a request");
    let id = body.split('|').find_map(|field| field.strip_prefix("262="));
    id.expect("its id").to_owned()
}

const BOTH: [Dialect; 2] = [Dialect::Standard, Dialect::Deribit];

/// A size of zero is not a level: in a snapshot and as New it is left out and counted, as Change it removes its level; a trade of
/// size zero is left out.
#[test]
fn sizes_of_zero_are_no_levels() {
    for dialect in BOTH {
        for zero in ["0", "0.00", "-0", "000"] {
            let (mut world, symbol) = asked(dialect);
            let rows = format!("269=0|270=102|271={zero}|269=0|270=100|271=1|269=1|270=101|271=2|");
            let events = world.send("W", &format!("55={symbol}|268=3|{rows}"));
            assert_eq!(levels(&events).len(), 2, "{events:?}");
            assert_eq!(world.feed.validity(Instrument(0)), Validity::Live);
            let change = |action: u8, kind: u8| {
                format!("55={symbol}|268=1|279={action}|269={kind}|270=103|271={zero}|")
            };
            assert_eq!(world.send("X", &change(0, 0)), [], "a new level");
            assert_eq!(world.send("X", &change(0, 2)), [], "a trade");
            // The book removes a level of quantity zero.
            let removed = format!("55={symbol}|268=1|279=1|269=0|270=100|271={zero}|");
            let events = world.send("X", &removed);
            assert_eq!(levels(&events), [(0, 100, 0, UpdateAction::Change)]);
            assert!(!world.feed.is_over());
            assert_eq!(world.feed.counters().entries_empty, 3);
        }
    }
}

/// A venue that lists levels of size zero deletes them, and gives them sizes: the book has no such level, so a Delete has
/// no effect, and a Change makes a new level. For other levels the book judges whether a change fits.
#[test]
fn levels_of_size_zero_are_deleted_and_changed() {
    for dialect in BOTH {
        // How the level got its size of zero: in the snapshot, as New, as Change of a level.
        for begin in ["", "0", "1"] {
            let listed = |size| format!("269=0|270=98|271={size}|");
            let first = match begin {
                "" => listed(0),
                "1" => listed(3),
                _ => String::new(),
            };
            let count = 2 + usize::from(!first.is_empty());
            let world = || {
                let (mut world, symbol) = asked(dialect);
                let rows = format!("269=0|270=100|271=1|269=1|270=101|271=2|{first}");
                world.send("W", &format!("55={symbol}|268={count}|{rows}"));
                if !begin.is_empty() {
                    let zero = listed(0);
                    world.send("X", &format!("55={symbol}|268=1|279={begin}|{zero}"));
                }
                (world, symbol)
            };
            let new = [(0, 98, 7, UpdateAction::New)];
            let cases: [(&[(u8, i64)], &[_]); 6] = [
                (&[(2, 0)], &[]),
                (&[(1, 0), (2, 0)], &[]),
                (&[(1, 7)], &new),
                (&[(0, 7)], &new),
                (&[(1, 0), (1, 7)], &new),
                (&[(2, 0), (2, 0)], &[(0, 98, -1, UpdateAction::Delete)]),
            ];
            for (changes, expected) in cases {
                let (mut world, symbol) = world();
                let mut events = Vec::new();
                for (action, size) in changes {
                    let change = listed(*size);
                    let body = format!("55={symbol}|268=1|279={action}|{change}");
                    events.extend(world.send("X", &body));
                }
                assert_eq!(levels(&events), expected, "{begin:?} {changes:?}");
            }
        }
    }
}

/// Entries of size zero with an id are deleted and changed, also where a change names the entry by its id alone.
#[test]
fn entries_of_size_zero_are_deleted_and_changed_by_their_ids() {
    let uuid = "278=3f2b8c1e-7a4d-4e5f-9b6a-0c1d2e3f4a5b|";
    for dialect in BOTH {
        for id in ["278=Q1|", "299=Q1|", uuid] {
            let (mut world, symbol) = live(dialect, [id, "278=Q2|"]);
            let mut change = |fields: &str| {
                let body = format!("55={symbol}|268=1|{fields}");
                levels(&world.send("X", &body))
            };
            let gone = [(0, 100, 0, UpdateAction::Delete)];
            assert_eq!(change(&format!("279=1|{id}271=0|")), gone, "{id}");
            let back = [(0, 100, 3, UpdateAction::Overlay)];
            assert_eq!(change(&format!("279=1|{id}271=3|")), back, "{id}");
            assert_eq!(change(&format!("279=1|{id}271=0|")), gone, "{id}");
            assert_eq!(change(&format!("279=2|{id}")), [], "{id}");
            assert_eq!(world.feed.validity(Instrument(0)), Validity::Live);
        }
    }
}

/// The levels that are known to be empty are bounded; a forgotten one is judged by the book.
#[test]
fn thirty_two_levels_of_size_zero_are_known() {
    let (mut world, symbol) = live(Dialect::Standard, ["", ""]);
    let change =
        |action: u8, price: i64| format!("55={symbol}|268=1|279={action}|269=1|270={price}|271=0|");
    for price in 0..33 {
        assert_eq!(world.send("X", &change(0, 200 + price)), []);
    }
    let deleted = |world: &mut World, price| levels(&world.send("X", &change(2, price))).len();
    assert_eq!([deleted(&mut world, 232), deleted(&mut world, 201)], [0, 0]);
    assert_eq!(deleted(&mut world, 200), 1);
}

/// No book is live with a negative size in any message: in a snapshot, a change or a mass quote, with an id or without. A trade of
/// a negative size is not published. The size of a deleted entry is ignored.
#[test]
fn negative_sizes_are_never_live() {
    let wrong = [
        ("W", "268=2|269=0|270=100|271=-5|269=1|270=101|271=2|"),
        ("W", "268=1|269=0|270=100|271=-5|278=A|"),
        ("W", "268=1|269=1|270=100|271=-0.00000001|299=A|"),
        ("X", "268=1|279=0|269=0|270=99|271=-5|"),
        ("X", "268=1|279=1|269=0|270=100|271=-5|"),
        ("X", "268=1|279=0|269=0|270=99|271=-5|278=A|"),
        ("X", "268=1|279=1|269=0|270=100|271=-5|299=A|"),
        ("X", "268=1|279=0|269=2|270=100|271=-7|"),
    ];
    for dialect in BOTH {
        for (msg_type, body) in wrong {
            let (mut world, symbol) = live(dialect, ["", ""]);
            let events = world.send(msg_type, &format!("55={symbol}|{body}"));
            assert_eq!(levels(&events), [], "{body}");
            assert_ne!(world.feed.validity(Instrument(0)), Validity::Live, "{body}");
            let trades = events
                .iter()
                .filter(|event| matches!(event, Event::Trade(..)));
            assert_eq!(trades.count(), 0, "{body}");
        }
        let (mut world, symbol) = live(dialect, ["", ""]);
        let quote = "117=q|296=1|302=1|55=SYM|295=1|299=A|132=100|134=-5|";
        world.send("i", &quote.replace("SYM", symbol));
        assert_ne!(world.feed.validity(Instrument(0)), Validity::Live);
        let (mut world, symbol) = live(dialect, ["", ""]);
        world.send(
            "X",
            &format!("55={symbol}|268=1|279=2|269=0|270=100|271=-5|"),
        );
        assert_eq!(world.feed.validity(Instrument(0)), Validity::Live);
    }
    let (mut world, _) = live(Dialect::Standard, ["", ""]);
    world.send("X", "55=EUR/USD|268=1|279=0|269=0|270=99|271=-5|");
    let reason = world.feed.reason();
    assert!(
        reason.contains("a message about EUR/USD has a negative quantity"),
        "{reason}"
    );
}

/// Negative prices are prices: of spreads and differences.
#[test]
fn negative_prices_are_prices() {
    for dialect in BOTH {
        let (mut world, symbol) = asked(dialect);
        let rows = "269=0|270=-3|271=1|269=1|270=-2|271=2|";
        let events = world.send("W", &format!("55={symbol}|268=2|{rows}"));
        let prices: Vec<i64> = levels(&events).iter().map(|level| level.1).collect();
        assert_eq!(prices, [-3, -2]);
        assert_eq!(world.feed.validity(Instrument(0)), Validity::Live);
    }
}

/// FIX 4.4, message X: MDEntryType is required of a new entry; a change names its entry by its id, and omitted fields keep their
/// values.
#[test]
fn a_change_by_id_needs_no_type() {
    use UpdateAction::{Delete, Overlay};
    let (bid, ask) = (0, 1);
    for (fields, changed) in [
        ("279=1|278=Q1|271=3|", vec![(bid, 100, 3, Overlay)]),
        ("279=1|278=Q2|271=3|", vec![(ask, 101, 3, Overlay)]),
        (
            "279=1|278=Q1|270=99|",
            vec![(bid, 100, 0, Delete), (bid, 99, 1, Overlay)],
        ),
        (
            "279=1|278=Q1|270=99|271=3|",
            vec![(bid, 100, 0, Delete), (bid, 99, 3, Overlay)],
        ),
        ("279=1|278=Q1|269=0|271=3|", vec![(bid, 100, 3, Overlay)]),
        ("279=1|278=Q1|271=0|", vec![(bid, 100, 0, Delete)]),
        ("279=2|278=Q1|", vec![(bid, 100, 0, Delete)]),
    ] {
        for symbol in ["55=EUR/USD|", ""] {
            let (mut world, _) = live(Dialect::Standard, ["278=Q1|", "278=Q2|"]);
            let request = request(&world);
            let events = world.send("X", &format!("262={request}|268=1|{fields}{symbol}"));
            assert_eq!(levels(&events), changed, "{fields}{symbol}");
            assert_eq!(
                world.feed.validity(Instrument(0)),
                Validity::Live,
                "{fields}"
            );
        }
    }
    // An entry that is not known has no side, and a new one needs its type.
    for fields in ["279=1|278=Q9|271=3|", "279=0|278=Q1|270=99|271=3|"] {
        let (mut world, _) = live(Dialect::Standard, ["278=Q1|", "278=Q2|"]);
        world.send("X", &format!("55=EUR/USD|268=1|{fields}"));
        assert_ne!(
            world.feed.validity(Instrument(0)),
            Validity::Live,
            "{fields}"
        );
    }
}

/// An MDEntryID names one entry: a change to the other side moves it, and its old level is gone. An id that has both sides, and a
/// quote's id (299), which may have both, keep the other side; so does a new entry.
#[test]
fn a_change_by_id_to_the_other_side_moves_the_entry() {
    use UpdateAction::{Delete, Overlay};
    let (bid, ask) = (0, 1);
    let from_bid = |price, quantity| vec![(bid, 100, 0, Delete), (ask, price, quantity, Overlay)];
    let ids = ["278=Q1|", "278=Q2|"];
    for (ids, fields, changed) in [
        (ids, "279=1|278=Q1|269=1|270=102|271=3|", from_bid(102, 3)),
        (ids, "279=1|278=Q1|269=1|270=102|", from_bid(102, 1)),
        (ids, "279=1|278=Q1|269=1|271=3|", from_bid(100, 3)),
        (ids, "279=1|299=E|278=Q1|269=1|270=102|", from_bid(102, 1)),
        (
            ids,
            "279=1|278=Q1|269=1|270=101|271=3|",
            vec![(bid, 100, 0, Delete), (ask, 101, 5, Overlay)],
        ),
        (
            ids,
            "279=1|278=Q1|269=1|271=0|",
            vec![(bid, 100, 0, Delete)],
        ),
        (
            ids,
            "279=0|278=Q1|269=1|270=102|271=3|",
            vec![(ask, 102, 3, Overlay)],
        ),
        (
            ["299=Q1|", "299=Q2|"],
            "279=1|299=Q1|269=1|270=102|271=3|",
            vec![(ask, 102, 3, Overlay)],
        ),
        (
            ["278=Q1|", "278=Q1|"],
            "279=1|278=Q1|269=1|270=102|",
            vec![(ask, 101, 0, Delete), (ask, 102, 2, Overlay)],
        ),
    ] {
        for dialect in BOTH {
            let (mut world, symbol) = live(dialect, ids);
            let events = world.send("X", &format!("55={symbol}|268=1|{fields}"));
            assert_eq!(levels(&events), changed, "{fields}");
            assert_eq!(world.feed.validity(Instrument(0)), Validity::Live);
        }
    }
}

/// A date of zeros counts as absent: the entry is used, without a time.
#[test]
fn an_entry_with_a_date_of_zeros_counts() {
    let (mut world, symbol) = live(Dialect::Standard, ["", ""]);
    let body = format!("55={symbol}|268=1|279=1|269=0|270=100|271=4|272=00000000|273=10:11:12|");
    let events = world.send("X", &body);
    assert_eq!(levels(&events).len(), 1);
    assert_eq!(events.last(), Some(&Event::EndOfEvent { transact_ns: 0 }));
}

/// Fields of the message may stand behind its entries; a snapshot without a symbol is that of its request.
#[test]
fn a_snapshot_is_of_the_symbol_wherever_it_stands() {
    const ENTRIES: &str = "268=2|269=0|270=100|271=1|269=1|270=101|271=2|";
    for dialect in [Dialect::Standard, Dialect::Deribit] {
        for fields in [
            "55=SYMBOL|262=REQUEST|ENTRIES",
            "262=REQUEST|ENTRIES55=SYMBOL|",
            "ENTRIES55=SYMBOL|262=REQUEST|",
            "ENTRIES262=REQUEST|55=SYMBOL|58=text|",
            "ENTRIES55=SYMBOL|",
            "262=REQUEST|ENTRIES",
            "ENTRIES262=REQUEST|",
        ] {
            let (mut world, symbol) = asked(dialect);
            let body = fields.replace("ENTRIES", ENTRIES);
            let body = body.replace("SYMBOL", symbol);
            let body = body.replace("REQUEST", &request(&world));
            let events = world.send("W", &body);
            assert_eq!(world.feed.validity(Instrument(0)), Validity::Live, "{body}");
            let wanted = [
                (0, 100, 1, UpdateAction::New),
                (1, 101, 2, UpdateAction::New),
            ];
            assert_eq!(levels(&events), wanted, "{body}");
        }
    }
}

/// The book of the snapshot is unknown: an operator must read that.
#[test]
fn a_snapshot_that_names_no_instrument_closes_the_connection() {
    for body in [
        "268=1|269=0|270=100|271=1|",
        "268=1|269=0|270=100|271=1|262=99|",
    ] {
        let (mut world, _) = asked(Dialect::Standard);
        world.send("W", body);
        assert_eq!(world.feed.counters().messages_malformed, 1);
        let reason = world.feed.reason();
        assert!(
            reason.contains("a message of the venue lacks a field"),
            "{reason}"
        );
    }
    let (mut world, _) = asked(Dialect::Standard);
    world.send("W", "268=1|269=0|270=100|271=1|55=GBP/USD|");
    assert_eq!(world.feed.counters().messages_unasked, 1);
    assert!(!world.feed.is_over());
}

/// Changes without a symbol belong to their request, also if the request's id is behind the entries.
#[test]
fn changes_are_of_the_request_wherever_it_stands() {
    let (mut world, _) = live(Dialect::Standard, ["", ""]);
    let request = request(&world);
    let events = world.send(
        "X",
        &format!("268=1|279=1|269=0|270=100|271=7|262={request}|"),
    );
    assert_eq!(levels(&events), [(0, 100, 7, UpdateAction::Change)]);
}
