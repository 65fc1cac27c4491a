//! Restarts of the publisher: handles stay, and no book of the previous one is shown as live.

use crate::stage::{Stage, bid, define, drain, trade, whole, words};
use std::time::{Duration, Instant};
use touchline_client::{Bus, Connection, Event, Events, Instrument, Next, Side, State};
use touchline_transport::Publish;

fn state(bus: &Bus, instrument: Instrument) -> State {
    bus.book(instrument).expect("ours").state()
}

#[test]
fn handles_stay_when_the_next_publisher_assigns_other_indexes() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    define(&mut publisher, 0, "ESU4", 100);
    define(&mut publisher, 1, "NQU4", 101);
    define(&mut publisher, 2, "ZNU4", 102);
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
    let mut bus = stage.join(stage.options().events(Events::TOPS | Events::TRADES));
    drain(&mut bus);
    let [es, nq, zn] = ["ESU4", "NQU4", "ZNU4"].map(|name| bus.instrument(name).expect("defined"));
    assert_eq!([es, nq, zn].map(Instrument::index), [0, 1, 2]);

    drop(publisher);
    let mut publisher = stage.publisher();
    // The other order, and one instrument does not return.
    define(&mut publisher, 0, "NQU4", 101);
    define(&mut publisher, 1, "ESU4", 100);
    whole(&mut publisher, 0, (450_000, 20), (450_050, 7));
    whole(&mut publisher, 1, (449_975, 10), (450_050, 7));
    publisher.commit();
    assert_eq!(
        words(&mut bus),
        [
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
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    define(&mut publisher, 0, "ESU4", 100);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = stage.join(stage.options());
    drain(&mut bus);
    let es = bus.instrument("ESU4").expect("defined");
    drop(publisher);
    let mut publisher = stage.publisher();
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
        (book.state(), book.levels(Side::Bid).len()),
        (State::Recovering, 0)
    );
    assert_eq!(bus.top(es).expect("ours").bid, None);
    drain(&mut bus);
    assert_eq!(state(&bus, es), State::Live);
}

#[test]
fn the_end_of_a_publisher_is_reported_within_a_tenth_of_a_second_with_stale_books() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    define(&mut publisher, 0, "ESU4", 100);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = stage.join(stage.options());
    drain(&mut bus);
    let es = bus.instrument("ESU4").expect("defined");
    assert_eq!(state(&bus, es), State::Live);
    drop(publisher);
    let gone = Instant::now();
    let event = bus.next_within(Duration::from_secs(20));
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
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    define(&mut publisher, 0, "ESU4", 100);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = stage.join(stage.options());
    drain(&mut bus);
    let old = bus.instrument("ESU4").expect("defined");
    drop(publisher);
    let mut publisher = stage.publisher();
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
    let mut publisher = stage.publisher();
    define(&mut publisher, 0, "", 200);
    whole(&mut publisher, 0, (450_000, 3), (450_050, 7));
    publisher.commit();
    drain(&mut bus);
    assert_eq!(state(&bus, es), State::Live);
    define(&mut publisher, 0, "ESU4", 200);
    publisher.commit();
    assert_eq!(words(&mut bus), ["ESU4 defined"]);
    assert_eq!(bus.instrument("ESU4").expect("defined"), es);
}
