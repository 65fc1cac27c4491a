//! Order of events at join and within a packet, and kept values at each event.

use crate::tape::record;
use crate::world::{
    World, bid, catch_up, define, drain, small, trade, trade_of, two, whole, word, words,
};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use touchline_client::{Aggressor, Bus, Error, Event, Events, Next, Price, Side, State};
use touchline_testing::PATIENCE;
use touchline_transport::Publish;
use touchline_transport::shm::{Overview, Settings};
use touchline_types::{Timestamps, UpdateAction};

#[test]
fn joining_gives_definition_top_and_book_of_each_instrument_then_caught_up() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
    publisher.commit();
    let mut bus = world.join(world.options().events(Events::TOPS | Events::BOOKS));
    assert_eq!(
        words(&mut bus),
        [
            "ESU4 defined",
            "ESU4 top live 12@4500.25 | 7@4500.5",
            "ESU4 book live 6",
            "NQU4 defined",
            "caught up, 2 instruments",
        ]
    );
}

#[test]
fn a_top_precedes_its_book_change_and_the_last_event_of_a_packet_is_marked() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
    publisher.commit();
    let mut all = world.join(world.options().events(Events::ALL));
    let mut tops = world.join(world.options());
    let mut tops_alone = world.join(world.options().events(Events::TOPS).keep_books(false));
    for bus in [&mut all, &mut tops, &mut tops_alone] {
        drain(bus);
    }
    bid(&mut publisher, 0, 450_025, 13);
    trade(&mut publisher, 0, 450_050, 3);
    bid(&mut publisher, 0, 450_025, 14);
    publisher.commit();
    assert_eq!(
        words(&mut all),
        [
            "ESU4 top live 13@4500.25 | 7@4500.5",
            "ESU4 book live 1",
            "ESU4 trade 3@4500.5",
            "ESU4 top live 14@4500.25 | 7@4500.5",
            "ESU4 book live 1.",
        ]
    );
    assert_eq!(
        words(&mut tops),
        [
            "ESU4 top live 13@4500.25 | 7@4500.5",
            "ESU4 trade 3@4500.5",
            "ESU4 top live 14@4500.25 | 7@4500.5.",
        ]
    );
    assert_eq!(
        words(&mut tops_alone),
        [
            "ESU4 top live 13@4500.25 | 7@4500.5",
            "ESU4 top live 14@4500.25 | 7@4500.5.",
        ]
    );
    let es = tops_alone.instrument("ESU4").expect("it was defined");
    assert_eq!(tops_alone.top(es).expect("ours").state, State::Live);
}

/// Later messages of a packet are not in the kept values before an earlier event is returned.
#[test]
fn kept_values_are_as_of_the_last_returned_event() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::ALL);
    let es = bus.instrument("ESU4").expect("it was defined");
    bid(&mut publisher, 0, 450_025, 13);
    trade(&mut publisher, 0, 450_050, 3);
    bid(&mut publisher, 0, 450_025, 14);
    publisher.commit();
    let mut seen = Vec::new();
    while let Some(event) = bus.poll() {
        let book = bus.book(es).expect("ours");
        let best = book.best(Side::Bid).expect("a bid").quantity.mantissa();
        let top = bus
            .top(es)
            .expect("ours")
            .bid
            .expect("a bid")
            .quantity
            .mantissa();
        let last = bus.last_trade(es).expect("ours").is_some();
        seen.push((
            word(&bus, &event).split(' ').nth(1).map(str::to_owned),
            top,
            best,
            last,
        ));
    }
    let expected = [
        ("top", 13, 12, false),
        ("book", 13, 13, false),
        ("trade", 13, 13, true),
        ("top", 14, 13, true),
        ("book", 14, 14, true),
    ]
    .map(|(kind, top, best, last)| (Some(kind.to_owned()), top, best, last));
    assert_eq!(seen, expected);
}

/// Without events of books, too: their changes behind a trade wait with it for the end of the packet.
#[test]
fn books_at_a_trade_are_those_before_what_follows_it() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    for index in 0..2 {
        whole(&mut publisher, index, (450_025, 12), (450_050, 7));
    }
    publisher.commit();
    let mut bus = world.reading(Events::TRADES);
    let bids = |bus: &Bus| {
        ["ESU4", "NQU4"].map(|symbol| {
            let instrument = bus.instrument(symbol).expect("it was defined");
            let best = bus.book(instrument).expect("ours").best(Side::Bid);
            let best = best.expect("a bid").quantity.mantissa();
            let top = bus.top(instrument).expect("ours").bid;
            assert_eq!(top.expect("a bid").quantity.mantissa(), best, "{symbol}");
            best
        })
    };
    bid(&mut publisher, 0, 450_025, 13);
    trade(&mut publisher, 0, 450_050, 1);
    bid(&mut publisher, 0, 450_025, 14);
    bid(&mut publisher, 1, 450_025, 15);
    trade(&mut publisher, 0, 450_050, 2);
    // More than a reader has memory for at first.
    for quantity in 100..200 {
        bid(&mut publisher, 0, 450_025, quantity);
    }
    whole(&mut publisher, 1, (450_025, 16), (450_050, 7));
    publisher.commit();
    trade(&mut publisher, 0, 450_050, 3);
    publisher.commit();
    let mut seen = Vec::new();
    while let Some(event) = bus.poll() {
        seen.push((word(&bus, &event), bids(&bus)));
    }
    let expected = [
        ("ESU4 trade 1@4500.5", [13, 12]),
        ("ESU4 trade 2@4500.5.", [14, 15]),
        ("ESU4 trade 3@4500.5.", [199, 16]),
    ];
    assert_eq!(seen, expected.map(|(word, bids)| (word.to_owned(), bids)));
}

/// A reader of tops, too, of a bus and of its tape: a change that alters no top waits behind the trade, one that does is an event behind it.
#[test]
fn books_of_a_reader_of_tops_at_a_trade_are_those_before_what_follows_it() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    for index in 0..2 {
        two(&mut publisher, index, 12, 5);
    }
    publisher.commit();
    let mut recording = world.recording();
    let options = || world.options();
    let tape = options().open_journal(world.tape(), None);
    let mut readers = [world.join(options()), tape.expect("a tape")];
    readers.iter_mut().for_each(catch_up);
    trade(&mut publisher, 0, 450_050, 1);
    two(&mut publisher, 0, 12, 6);
    two(&mut publisher, 1, 12, 7);
    trade(&mut publisher, 0, 450_050, 2);
    two(&mut publisher, 0, 12, 8);
    two(&mut publisher, 0, 13, 9);
    publisher.commit();
    record(&mut recording);
    for mut bus in readers {
        let mut seen = Vec::new();
        // The disk has the end of the tape a little later.
        while let Next::Event(event) = bus.next_within(PATIENCE) {
            let seconds = ["ESU4", "NQU4"].map(|symbol| {
                let instrument = bus.instrument(symbol).expect("it was defined");
                let book = bus.book(instrument).expect("ours");
                let second = book.direct(Side::Bid).nth(1).expect("a level");
                second.quantity.mantissa()
            });
            seen.push((word(&bus, &event), seconds));
            if event.end_of_batch() {
                break;
            }
        }
        let expected = [
            ("ESU4 trade 1@4500.5", [5, 5]),
            ("ESU4 trade 2@4500.5", [6, 7]),
            ("ESU4 top live 13@4500.25 | 7@4500.5.", [9, 7]),
        ];
        assert_eq!(
            seen,
            expected.map(|(word, seconds)| (word.to_owned(), seconds))
        );
    }
}

#[test]
fn prices_are_in_display_format_and_convert_back() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
    trade(&mut publisher, 0, 450_050, 3);
    publisher.commit();
    let mut bus = world.reading(Events::ALL);
    trade(&mut publisher, 0, 450_050, 4);
    bid(&mut publisher, 0, 450_025, 13);
    publisher.commit();
    let events = drain(&mut bus);
    let Event::Trade(trade) = events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(trade.price, Price(4_500_500_000_000));
    assert_eq!(
        (trade.quantity.to_string(), trade.aggressor),
        ("4".to_owned(), Aggressor::Sell)
    );
    assert_eq!(bus.changes()[0].level.price, Price(4_500_250_000_000));
    let es = bus.instrument("ESU4").expect("it was defined");
    let definition = bus.definition(es).expect("ours");
    assert_eq!(definition.tick, Some(Price(250_000_000)));
    assert_eq!(
        definition.venue_price(trade.price),
        Some(Price(450_050_000_000_000))
    );
    let book = bus.book(es).expect("ours");
    assert_eq!(
        book.best(Side::Bid).expect("a bid").price,
        Price(4_500_250_000_000)
    );
    assert_eq!(
        book.depth_price(Side::Ask, 7),
        Some(Price(4_500_500_000_000))
    );
    assert_eq!(book.depth_price(Side::Ask, 8), None);
}

/// A late joiner has the last trade as a kept value, not as an event.
#[test]
fn a_late_joiner_has_the_last_trade_as_a_kept_value_only() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    trade(&mut publisher, 0, 450_050, 3);
    publisher.commit();
    // The trade is then older than the next reader's start position.
    for quantity in 1..=500 {
        whole(&mut publisher, 0, (450_025, quantity), (450_050, 7));
        publisher.commit();
    }
    let mut bus = world.join(world.options());
    let events = drain(&mut bus);
    assert!(
        !events.iter().any(|event| matches!(event, Event::Trade(_))),
        "{events:?}"
    );
    let es = bus.instrument("ESU4").expect("it was defined");
    let last = bus.last_trade(es).expect("ours").expect("it was traded");
    assert_eq!(
        (last.price, last.quantity),
        (Price(4_500_500_000_000), 3.into())
    );
    let mut snapshot = world.options().snapshot("test").expect("it is there");
    let es = snapshot.instrument("ESU4").expect("it was defined");
    let seen = snapshot
        .last_trade(es)
        .expect("ours")
        .expect("it was traded");
    assert_eq!((seen.price, seen.sequence), (last.price, last.sequence));
}

/// The table of last values keeps a corrected trade as the correction.
#[test]
fn a_late_joiner_has_a_corrected_trade_and_none_that_was_busted() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    for index in 0..2 {
        trade_of(&mut publisher, index, (7, UpdateAction::New), 450_050, 3);
    }
    trade_of(&mut publisher, 0, (7, UpdateAction::Change), 450_075, 3);
    trade_of(&mut publisher, 1, (7, UpdateAction::Delete), 450_050, 3);
    publisher.commit();
    for quantity in 1..=500 {
        whole(&mut publisher, 0, (450_025, quantity), (450_050, 7));
        publisher.commit();
    }
    let bus = world.reading(Events::ALL);
    let last = ["ESU4", "NQU4"].map(|symbol| {
        let instrument = bus.instrument(symbol).expect("it was defined");
        let last = bus.last_trade(instrument).expect("ours");
        last.map(|trade| (trade.price, trade.action))
    });
    let corrected = (Price(4_500_750_000_000), UpdateAction::Change);
    assert_eq!(last, [Some(corrected), None]);
}

/// Skipped messages do not end a poll: a reader of few kinds gets its next event from the same poll.
#[test]
fn a_poll_skips_messages_without_an_event() {
    let world = World::new();
    let settings = Settings {
        ring_bytes: 1 << 20,
        ..small()
    };
    let mut publisher = world.publisher_with("test", &settings);
    define(&mut publisher, 0, "ESU4", 100);
    whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
    publisher.commit();
    let options = || world.options().events(Events::TRADES);
    let mut buses = [options(), options().keep_books(false)].map(|options| world.join(options));
    buses.iter_mut().for_each(|bus| drop(drain(bus)));
    for quantity in 1..=1_000 {
        bid(&mut publisher, 0, 450_025, quantity);
        publisher.commit();
    }
    trade(&mut publisher, 0, 450_050, 3);
    publisher.commit();
    for bus in &mut buses {
        let event = bus.poll();
        assert!(matches!(event, Some(Event::Trade(_))), "{event:?}");
        assert_eq!(bus.poll(), None);
    }
}

/// A poll is bounded: behind a publisher without pause a program still looks at its stop and its time.
#[test]
fn a_poll_ends_after_a_bounded_number_of_messages_without_an_event() {
    let world = World::new();
    let settings = Settings {
        ring_bytes: 1 << 26,
        ..small()
    };
    let mut publisher = world.publisher_with("test", &settings);
    define(&mut publisher, 0, "ESU4", 100);
    publisher.commit();
    let mut bus = world.join(world.options().events(Events::TRADES).keep_books(false));
    drain(&mut bus);
    for quantity in 1..=60_000 {
        bid(&mut publisher, 0, 450_025, quantity);
        publisher.commit();
    }
    trade(&mut publisher, 0, 450_050, 3);
    publisher.commit();
    let before = bus.lag().messages;
    assert!(before > 100_000, "{before}");
    assert_eq!(bus.poll(), None);
    let read = before - bus.lag().messages;
    assert!((1..=65_536).contains(&read), "{read}");
    let event = bus.poll();
    assert!(matches!(event, Some(Event::Trade(_))), "{event:?}");
}

/// Words of a ring's file: its schema version, and the first byte behind its control page.
const SCHEMA_WORD: u64 = 4;
const FIRST_MESSAGE: u64 = 4096;

/// A client older than its publisher reads the templates that it knows, and counts the others.
#[test]
fn messages_of_a_newer_schema_are_passed_over_and_counted() {
    const TEMPLATE: u64 = 8 + 2;
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
    publisher.commit();
    let path = world.path("ring");
    let ring = File::options().write(true).open(path).expect("our file");
    let alter = |at: u64, bytes: &[u8]| ring.write_all_at(bytes, at).expect("our file");
    alter(8 * SCHEMA_WORD, &99_u64.to_le_bytes());
    let mut bus = world.join(world.options());
    assert_eq!(
        words(&mut bus).last().map(String::as_str),
        Some("caught up, 1 instrument")
    );
    let next = Overview::of(&world.root(), "test")
        .expect("the bus is there")
        .position;
    publisher.heartbeat(&Timestamps::default());
    alter(FIRST_MESSAGE + next + TEMPLATE, &61_000_u16.to_le_bytes());
    bid(&mut publisher, 0, 450_025, 13);
    publisher.commit();
    assert_eq!(words(&mut bus), ["ESU4 top live 13@4500.25 | 7@4500.5."]);
    assert_eq!(bus.stats().unknown, 1);
}

/// A program that waits in slices, or has read the event itself, is ready when the books are.
#[test]
fn a_bus_is_ready_whoever_read_that_it_caught_up() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    publisher.commit();
    let mut bus = world.join(world.options());
    let slice = Duration::from_millis(500);
    let early = bus.ready(slice).expect_err("it has no book");
    assert!(early.to_string().contains("1 book of 1"), "{early}");
    drain(&mut bus);
    whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
    publisher.commit();
    bus.ready(slice).expect("its book came in a later slice");
    bus.ready(Duration::ZERO).expect("it stays so");
}

/// An attempt does not wait for a publisher that starts: it comes within a second, or has ended or hangs.
#[test]
fn a_publisher_that_starts_is_no_reason_to_wait_in_an_attempt() {
    let world = World::new();
    drop(world.publisher());
    // The table is assigned to no publisher.
    let table = world.path("definitions");
    let table = std::fs::OpenOptions::new().write(true).open(table);
    let table = table.expect("a file of the bus");
    table.write_all_at(&[0; 8], 16 * 8).expect("written");
    let start = Instant::now();
    // The host may stop this process within one of them.
    let quick = (0..5).any(|_| {
        let asked = Instant::now();
        let early = world.options().try_join("test", Duration::ZERO);
        assert!(early.expect("it may come").is_none());
        asked.elapsed() < Duration::from_millis(500)
    });
    assert!(quick, "an attempt waits");
    let late = world.options().try_join("test", Duration::from_secs(1));
    let late = late.map(drop).expect_err("it does not come");
    assert!(matches!(late, Error::HalfStarted { .. }), "{late}");
    let joined = world.options().join("test").map(drop);
    assert!(matches!(joined, Err(Error::HalfStarted { .. })));
    assert!(start.elapsed() > Duration::from_secs(1), "a join waits");
}

/// Waiting is for a bus and for its publisher; a mistake is refused at once.
#[test]
fn a_wait_ends_with_a_publisher_or_a_mistake() {
    let world = World::new();
    let options = || world.options().wait(Duration::from_secs(60));
    let none = options().try_join("test", Duration::ZERO);
    assert!(none.expect("it may come").is_none());
    drop(world.publisher());
    let old = options().try_join("test", Duration::ZERO);
    assert!(old.expect("a publisher may come").is_none());
    let last = options().try_join("test", Duration::from_secs(60));
    assert!(last.expect("the old one").is_some());
    let error = options().symbols(["/(/"]).join("test");
    assert!(
        error
            .map(drop)
            .expect_err("at once")
            .to_string()
            .contains("/(/")
    );
    let publisher = world.publisher();
    let live = options().try_join("test", Duration::ZERO);
    assert!(live.expect("it is there").is_some());
    drop(publisher);
}
