//! Restarts of the publisher: handles stay, and no book of the previous one is shown as live.

use crate::world::{
    World, bid, define, definition, drain, level, quotes, small, timestamps, trade, whole, words,
};
use std::time::{Duration, Instant};
use touchline_client::{Bus, Connection, Event, Events, Instrument, Next, Side, State};
use touchline_testing::{PATIENCE, until};
use touchline_transport::shm::{Activity, Settings};
use touchline_transport::{Publish, boot_ns};
use touchline_types::{
    BookKind, BookUpdate, ChannelState, Gap, InstrumentDefinition, LevelAction, LevelChange, Phase,
    Price, ReferenceData, Symbol, Timestamps, Update, Validity,
};

fn state(bus: &Bus, instrument: Instrument) -> State {
    bus.book(instrument).expect("ours").state()
}

#[test]
fn handles_stay_when_the_next_publisher_assigns_other_indexes() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4", "ZNU4"]);
    for index in 0..3 {
        whole(
            &mut publisher,
            index,
            (450_025, 1 + i64::from(index)),
            (450_050, 7),
        );
    }
    trade(&mut publisher, 0, 450_050, 3);
    publisher.commit();
    let mut bus = world.reading(Events::TOPS | Events::TRADES);
    let [es, nq, zn] = ["ESU4", "NQU4", "ZNU4"].map(|name| bus.instrument(name).expect("defined"));
    assert_eq!([es, nq, zn].map(Instrument::index), [0, 1, 2]);

    drop(publisher);
    let mut publisher = world.publisher();
    // The other order, and one instrument does not return.
    define(&mut publisher, 0, "NQU4", 101);
    define(&mut publisher, 1, "ESU4", 100);
    whole(&mut publisher, 0, (450_000, 20), (450_050, 7));
    whole(&mut publisher, 1, (449_975, 10), (450_050, 7));
    publisher.commit();
    assert_eq!(
        words(&mut bus),
        [
            "ESU4 state recovering",
            "NQU4 state recovering",
            "ZNU4 state recovering",
            "publisher restarted (generation 2); books are reloaded",
            "NQU4 defined",
            "ESU4 defined",
            "NQU4 top live 20@4500 | 7@4500.5",
            "ESU4 top live 10@4499.75 | 7@4500.5.",
            "caught up, 2 instruments",
        ]
    );
    assert_eq!(bus.instrument("ESU4").expect("defined"), es);
    let quantities = [es, nq].map(|instrument| {
        let best = bus.book(instrument).expect("ours").best(Side::Bid);
        best.expect("a bid").quantity.mantissa()
    });
    assert_eq!(quantities, [10, 20]);
    assert_eq!(
        bus.last_trade(es).expect("ours"),
        None,
        "it was of the last publisher"
    );
    let book = bus.book(zn).expect("ours");
    assert_eq!(
        (book.state(), book.best(Side::Bid)),
        (State::Recovering, None)
    );
    assert_eq!(bus.top(zn).expect("ours").bid, None);
    assert_eq!(bus.symbol(zn), "ZNU4");
    assert_eq!(bus.stats().restarts, 1);
    bid(&mut publisher, 1, 449_975, 11);
    publisher.commit();
    assert_eq!(words(&mut bus), ["ESU4 top live 11@4499.75 | 7@4500.5."]);
}

/// Between the restart and the books of the new publisher, no old book is shown.
#[test]
fn books_are_empty_and_recovering_when_the_restart_is_reported() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::TOPS | Events::TRADES);
    let es = bus.instrument("ESU4").expect("defined");
    drop(publisher);
    let mut publisher = world.publisher();
    define(&mut publisher, 3, "ESU4", 100);
    whole(&mut publisher, 3, (450_025, 2), (450_050, 7));
    publisher.commit();
    loop {
        if let Some(Event::Connection(Connection::Restarted { generation })) = bus.poll() {
            assert_eq!(generation, 2);
            break;
        }
    }
    let book = bus.book(es).expect("ours");
    assert_eq!(
        (book.state(), book.direct(Side::Bid).len()),
        (State::Recovering, 0)
    );
    assert_eq!(bus.top(es).expect("ours").bid, None);
    drain(&mut bus);
    assert_eq!(state(&bus, es), State::Live);
}

#[test]
fn the_end_of_a_publisher_is_reported_within_a_tenth_of_a_second_with_stale_books() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::TOPS | Events::TRADES);
    let es = bus.instrument("ESU4").expect("defined");
    assert_eq!(state(&bus, es), State::Live);
    drop(publisher);
    let gone = Instant::now();
    let event = bus.next_within(Duration::from_secs(20));
    assert!(matches!(event, Next::Event(Event::State(_))), "{event:?}");
    let event = bus.next_within(Duration::ZERO);
    let Next::Event(Event::Connection(Connection::PublisherGone)) = event else {
        panic!("{event:?}");
    };
    // The bus checks ten times a second; a loaded host may add to that.
    assert!(
        gone.elapsed() < Duration::from_secs(5),
        "{:?}",
        gone.elapsed()
    );
    assert_eq!(state(&bus, es), State::Stale);
    assert_eq!(bus.top(es).expect("ours").state, State::Stale);
    assert!(bus.top(es).expect("ours").bid.is_some(), "as it was left");
    assert_eq!(
        bus.next_within(Duration::from_millis(250)),
        Next::TimedOut,
        "one event"
    );
}

/// A venue and security id that is reused for another contract is another instrument; so is a symbol that returns with
/// another id.
#[test]
fn an_id_with_another_symbol_and_a_symbol_with_another_id_get_handles_of_their_own() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::TOPS | Events::TRADES);
    let old = bus.instrument("ESU4").expect("defined");
    drop(publisher);
    let mut publisher = world.publisher();
    define(&mut publisher, 0, "NQU4", 100);
    define(&mut publisher, 1, "ESU4", 200);
    whole(&mut publisher, 1, (450_000, 2), (450_050, 7));
    publisher.commit();
    drain(&mut bus);
    let (nq, es) = (
        bus.instrument("NQU4").expect("defined"),
        bus.instrument("ESU4").expect("defined"),
    );
    assert_eq!([old, nq, es].map(Instrument::index), [0, 1, 2]);
    assert_eq!(state(&bus, old), State::Recovering);
    assert_eq!(bus.book(old).expect("ours").best(Side::Bid), None);
    assert_eq!(state(&bus, es), State::Live);
    // Before its definition an instrument has an id and no symbol: it keeps its handle when the symbol arrives.
    drop(publisher);
    let mut publisher = world.publisher();
    define(&mut publisher, 0, "", 200);
    whole(&mut publisher, 0, (450_000, 3), (450_050, 7));
    publisher.commit();
    drain(&mut bus);
    assert_eq!(state(&bus, es), State::Live);
    define(&mut publisher, 0, "ESU4", 200);
    publisher.commit();
    assert_eq!(words(&mut bus), ["ESU4 defined."]);
    assert_eq!(bus.instrument("ESU4").expect("defined"), es);
}

/// An id that names another contract: the books of the one before are empty, and so are those that a program folds.
#[test]
fn the_books_of_a_displaced_handle_are_emptied_step_by_step() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::BOOKS | Events::ORDERS);
    define(&mut publisher, 0, "NQU4", 100);
    publisher.commit();
    let told = [
        "ESU4 book recovering 4",
        "ESU4 state recovering",
        "NQU4 defined.",
    ];
    assert_eq!(words(&mut bus), told);
}

/// A program that keeps tops is notified of each live book by itself when the publisher ends, and when the next one
/// starts, whichever books that one has.
#[test]
fn each_live_book_has_its_event_when_a_publisher_ends_and_when_the_next_one_starts() {
    for events in [Events::TOPS, Events::ALL, Events::TRADES] {
        let world = World::new();
        let mut publisher = world.publisher();
        for index in 0..3 {
            define(
                &mut publisher,
                index,
                ["ESU4", "NQU4", "ZNU4"][index as usize],
                100 + i64::from(index),
            );
        }
        whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
        whole(&mut publisher, 2, (450_025, 1), (450_050, 7));
        publisher.commit();
        let mut bus = world.reading(events);
        drop(publisher);
        let mut told = Vec::new();
        until("three events", PATIENCE, || {
            told.extend(words(&mut bus));
            match told.len() {
                3.. => Ok(()),
                _ => Err(told.clone()),
            }
        });
        let ended = [
            "ESU4 state stale",
            "ZNU4 state stale",
            "publisher gone; books are stale",
        ];
        assert_eq!(told, ended, "NQU4 was not live");
        let mut publisher = world.publisher();
        define(&mut publisher, 0, "NQU4", 101);
        publisher.commit();
        let started = words(&mut bus);
        for symbol in ["ESU4", "ZNU4"] {
            let event = format!("{symbol} state recovering");
            assert!(started.contains(&event), "{started:?}");
        }
    }
}

/// A reader that joins the bus of a publisher that has ended or is stalled sees nothing live: neither a provider's quotes,
/// which have no table and come from the ring, nor a state of the channel.
#[test]
fn nothing_of_a_publisher_that_ended_or_stalled_is_live_for_a_reader_that_joins_later() {
    for (is_stalled, has_channel) in [(false, true), (false, false), (true, true)] {
        let world = World::new();
        // A ring that is large enough to hold every message when the reader joins.
        let settings = Settings {
            ring_bytes: 1 << 20,
            ..small()
        };
        let mut publisher = world.publisher_with("test", &settings);
        define(&mut publisher, 0, "EUR/USD", 100);
        whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
        if has_channel {
            publisher.publish(&Update::Channel(&ChannelState::LIVE), &timestamps());
        }
        quotes(&mut publisher, 0, 450_025);
        publisher.commit();
        let mut publisher = Some(publisher);
        match is_stalled {
            true => publisher.iter_mut().for_each(|publisher| {
                publisher.state_activity(Activity {
                    at_ns: boot_ns() - 2,
                    timeout_ns: 1,
                })
            }),
            false => drop(publisher.take()),
        }
        let wanted = Events::TOPS | Events::QUOTES;
        let mut bus = world.join(world.options().events(wanted));
        let mut told = words(&mut bus);
        if let Some(publisher) = &mut publisher {
            // The publisher continues with old packets, and is still behind.
            quotes(publisher, 0, 450_026);
            publisher.publish(&Update::Channel(&ChannelState::LIVE), &timestamps());
            publisher.commit();
            told.extend(words(&mut bus));
        }
        let has = |word: &str| told.iter().any(|told| told.starts_with(word));
        assert!(
            has("EUR/USD quotes stale") && has("EUR/USD top stale"),
            "{told:?}"
        );
        assert_eq!(
            has("channel State { price: Stale, orders: Stale"),
            has_channel,
            "{told:?}"
        );
        let is_live = |told: &&String| told.to_lowercase().contains("live");
        assert_eq!(told.iter().find(is_live), None, "{told:?}");
        // The next publisher's are live, and so are those of one that works again.
        match &mut publisher {
            Some(publisher) => publisher.state_activity(Activity {
                at_ns: boot_ns(),
                timeout_ns: u64::MAX / 4,
            }),
            None => {
                let publisher = publisher.insert(world.publisher_with("test", &settings));
                define(publisher, 0, "EUR/USD", 100);
                publisher.commit();
            }
        }
        bus.look_again();
        let told = words(&mut bus);
        let is_told = told
            .iter()
            .any(|told| told.contains("channel State { price: Live, orders: Live"));
        assert_eq!(is_told, is_stalled, "{told:?}");
        publisher.iter_mut().for_each(|publisher| {
            quotes(publisher, 0, 450_027);
            publisher.commit();
        });
        assert_eq!(words(&mut bus), ["EUR/USD quotes live 1."]);
    }
}

/// The state events of a message of all books come first: the message's own event still ends its packet.
#[test]
fn a_change_of_all_books_is_an_event_of_each_and_its_own_ends_the_packet() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    whole(&mut publisher, 1, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::TOPS | Events::TRADES);
    let gap = Gap {
        first: 5,
        last: 6,
        orders: Validity::Recovering,
    };
    publisher.publish(&Update::Gap(gap), &Timestamps::default());
    publisher.commit();
    let lost = "channel Gap { first: 5, last: 6, orders: Recovering }.";
    assert_eq!(
        words(&mut bus),
        ["ESU4 state gapped", "NQU4 state gapped", lost]
    );
    let mut state = ChannelState {
        price: Validity::Stale,
        ..ChannelState::LIVE
    };
    whole(&mut publisher, 0, (450_025, 2), (450_050, 7));
    publisher.publish(&Update::Channel(&state), &Timestamps::default());
    publisher.commit();
    let told = words(&mut bus);
    let first = ["ESU4 top live 2@4500.25 | 7@4500.5", "ESU4 state stale"];
    assert_eq!(told[..2], first, "{told:?}");
    assert!(
        told.len() == 3 && told[2].starts_with("channel State"),
        "NQU4 was not live: {told:?}"
    );
    state.price = Validity::Live;
    publisher.publish(&Update::Channel(&state), &Timestamps::default());
    publisher.commit();
    let told = words(&mut bus);
    assert_eq!(told[0], "ESU4 state live");
    assert!(told.len() == 2 && told[1].ends_with('.'), "{told:?}");
    publisher.publish(&Update::Reset, &Timestamps::default());
    publisher.commit();
    let emptied = [
        "ESU4 top live - | -",
        "NQU4 top live - | -",
        "channel Reset.",
    ];
    assert_eq!(words(&mut bus), emptied);
}

/// A publisher that was stopped and works again with the same top: the top is live again by an event of its state.
#[test]
fn a_top_that_did_not_change_in_a_stall_is_an_event_behind_it() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let activity = |ago_ns, timeout_ns| Activity {
        at_ns: boot_ns() - ago_ns,
        timeout_ns,
    };
    publisher.state_activity(activity(0, u64::MAX / 4));
    let mut bus = world.reading(Events::TOPS | Events::TRADES);
    publisher.state_activity(activity(2, 1));
    bus.look_again();
    let stalled = ["ESU4 state stale", "publisher stalled; books are stale"];
    assert_eq!(words(&mut bus), stalled);
    publisher.state_activity(activity(0, u64::MAX / 4));
    bus.look_again();
    let told = words(&mut bus);
    assert_eq!(
        told[..2],
        [
            "publisher resumed; the state of each live book follows",
            "ESU4 state live",
        ],
        "{told:?}"
    );
}

/// A publisher that has started names an instrument by its id before the venue has defined it again.
#[test]
fn symbol_and_scale_of_a_known_instrument_stay_until_it_is_defined_again() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::TOPS | Events::TRADES);
    let es = bus.instrument("ESU4").expect("defined");
    drop(publisher);
    let mut publisher = world.publisher();
    let unknown = InstrumentDefinition {
        defined: false,
        symbol: Symbol::new(b""),
        tick: Price::NULL,
        reference: ReferenceData {
            display_factor: None,
            ..definition(0, "", 100).reference
        },
        ..definition(0, "", 100)
    };
    publisher.publish(&Update::Definition(&unknown), &Timestamps::default());
    whole(&mut publisher, 0, (450_025, 2), (450_050, 7));
    publisher.commit();
    let told = words(&mut bus);
    assert!(told.contains(&"ESU4 defined".to_owned()), "{told:?}");
    assert!(
        told.iter()
            .any(|word| word.starts_with("ESU4 top live 2@4500.25")),
        "{told:?}"
    );
    assert_eq!((bus.symbol(es), bus.instruments().count()), ("ESU4", 1));
    // The venue's next definition replaces the old one.
    define(&mut publisher, 0, "ESU4", 100);
    publisher.commit();
    assert_eq!(words(&mut bus), ["ESU4 defined."]);
    let mut snapshot = world.options().snapshot("test").expect("it is there");
    snapshot.refresh().expect("it is there");
    assert_eq!(
        snapshot
            .instruments()
            .map(|of| snapshot.symbol(of).to_owned())
            .collect::<Vec<_>>(),
        ["ESU4"]
    );
}

/// A reader that joins at the start of a gateway, or reads its restart, has caught up when the instruments are known.
#[test]
fn a_reader_has_caught_up_when_the_instruments_are_known() {
    let world = World::new();
    let mut publisher = world.publisher();
    publisher.commit();
    let mut bus = world.join(world.options());
    assert_eq!(words(&mut bus), [""; 0], "nothing is known");
    define(&mut publisher, 0, "ESU4", 100);
    define(&mut publisher, 1, "NQU4", 101);
    publisher.commit();
    let known = ["ESU4 defined", "NQU4 defined.", "caught up, 2 instruments"];
    assert_eq!(words(&mut bus), known);
    drop(publisher);
    let mut publisher = world.publisher();
    publisher.publish(&Update::Download(Phase::Begun), &Timestamps::default());
    define(&mut publisher, 0, "ESU4", 100);
    publisher.commit();
    let told = words(&mut bus);
    assert_eq!(
        told.last().map(String::as_str),
        Some("ESU4 defined."),
        "{told:?}"
    );
    define(&mut publisher, 1, "NQU4", 101);
    publisher.publish(&Update::Download(Phase::Ended), &Timestamps::default());
    publisher.commit();
    let known = [
        "NQU4 defined",
        "channel DownloadEnded.",
        "caught up, 2 instruments",
    ];
    assert_eq!(words(&mut bus), known);
    // A selection without an instrument has caught up with all of them.
    let mut none = world.join(world.options().symbols(["ZZ*"]));
    let told = words(&mut none);
    assert_eq!(
        told.last().map(String::as_str),
        Some("caught up, 0 instruments"),
        "{told:?}"
    );
}

/// A publisher with other sizes begins with new books, and the counts go on.
#[test]
fn inconsistent_steps_are_counted_over_other_sizes() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::BOOKS);
    // The book has one level.
    let change = LevelChange {
        level: level(450_000, 1),
        book: BookKind::Direct,
        side: Side::Bid,
        action: LevelAction::Replace,
        index: 5,
    };
    let update = BookUpdate {
        instrument: touchline_types::Instrument(0),
        security_id: 0,
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes: &[change],
        best_bid: None,
        best_ask: None,
    };
    publisher.publish(&Update::Book(update), &timestamps());
    publisher.commit();
    drain(&mut bus);
    let inconsistent = bus.stats().inconsistent;
    assert!(inconsistent > 0);
    drop(publisher);
    let larger = Settings {
        instruments_max: 2 * small().instruments_max,
        ..small()
    };
    let mut publisher = world.publisher_with("test", &larger);
    define(&mut publisher, 0, "ESU4", 100);
    publisher.commit();
    until("the restart is read", PATIENCE, || {
        drain(&mut bus);
        bus.stats().restarts == 1
    });
    assert_eq!(bus.stats().inconsistent, inconsistent);
}
