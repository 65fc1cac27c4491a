//! Overrun readers, and publishers with messages unknown to this client.

use crate::stage::{Stage, bid, define, drain, whole};
use std::time::Duration;
use touchline_client::{Connection, Event, Events, Next, Side, State};
use touchline_transport::Publish;

#[test]
fn an_overrun_is_reported_once_with_its_loss_and_books_return_at_once() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    define(&mut publisher, 0, "ESU4", 100);
    define(&mut publisher, 1, "NQU4", 101);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    whole(&mut publisher, 1, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = stage.join(stage.options().events(Events::TOPS | Events::BOOKS));
    drain(&mut bus);
    let es = bus.instrument("ESU4").expect("defined");
    for quantity in 1..=2_000 {
        bid(&mut publisher, 0, 450_025, quantity);
        publisher.commit();
    }
    let first = bus.next_within(Duration::from_secs(10));
    let Next::Event(Event::Connection(Connection::Overrun { messages, bytes })) = first else {
        panic!("{first:?}");
    };
    // A top and a change for each; messages still in the ring are lost too, because books are taken from their slots.
    assert!(
        messages > 3_000 && bytes > 64 * 1024,
        "{messages} messages, {bytes} bytes"
    );
    let book = bus.book(es).expect("ours");
    assert_eq!(
        (book.state(), book.levels(Side::Bid).len()),
        (State::Recovering, 0)
    );
    assert_eq!((bus.stats().overruns, bus.stats().lost), (1, messages));
    let events = drain(&mut bus);
    let caught_up =
        |event: &&Event| matches!(event, Event::Connection(Connection::CaughtUp { .. }));
    assert_eq!(events.iter().filter(caught_up).count(), 1, "{events:?}");
    let overruns = |event: &&Event| matches!(event, Event::Connection(Connection::Overrun { .. }));
    assert_eq!(events.iter().filter(overruns).count(), 0);
    let best = bus.book(es).expect("ours").best(Side::Bid).expect("a bid");
    assert_eq!(
        (best.quantity, bus.book(es).expect("ours").state()),
        (2_000.into(), State::Live)
    );
    assert_eq!(bus.stats().inconsistent, 0);
}

/// Messages of an instrument without a definition are skipped and counted.
#[test]
fn messages_of_undefined_instruments_are_counted() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    define(&mut publisher, 0, "ESU4", 100);
    publisher.commit();
    let mut bus = stage.join(stage.options().events(Events::ALL));
    drain(&mut bus);
    whole(&mut publisher, 5, (450_025, 1), (450_050, 7));
    publisher.commit();
    assert_eq!(drain(&mut bus), []);
    // Its top and its book.
    assert_eq!(bus.stats().undefined, 2);
}
