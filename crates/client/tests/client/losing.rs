//! Overrun readers, and publishers with messages unknown to this client.

use crate::world::{World, bid, define, drain, trade, trade_of, whole, word};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use touchline_client::{Connection, Event, Events, Next, Side, State};
use touchline_lab::random::{Random, seeds};
use touchline_testing::until;
use touchline_transport::Publish;
use touchline_types::UpdateAction;

#[test]
fn an_overrun_is_reported_once_with_its_loss_and_books_return_at_once() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    whole(&mut publisher, 1, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut bus = world.reading(Events::TOPS | Events::BOOKS);
    let es = bus.instrument("ESU4").expect("defined");
    for quantity in 1..=2_000 {
        bid(&mut publisher, 0, 450_025, quantity);
        publisher.commit();
    }
    for name in ["ESU4", "NQU4"] {
        for what in ["book recovering 4", "state recovering"] {
            let Next::Event(event) = bus.next_within(Duration::from_secs(10)) else {
                panic!("no event of {name}");
            };
            assert_eq!(word(&bus, &event), format!("{name} {what}"));
        }
    }
    let next = bus.next_within(Duration::ZERO);
    let Next::Event(Event::Connection(Connection::Overrun { messages, bytes })) = next else {
        panic!("{next:?}");
    };
    // A top and a change for each; messages still in the ring are lost too, because books are taken from their slots.
    assert!(
        messages > 3_000 && bytes > 64 * 1024,
        "{messages} messages, {bytes} bytes"
    );
    let book = bus.book(es).expect("ours");
    assert_eq!(
        (book.state(), book.direct(Side::Bid).len()),
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

/// The message that busts the last trade may be among the lost ones.
#[test]
fn a_trade_that_was_busted_in_an_overrun_is_not_the_last_one() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    for index in 0..2 {
        trade(&mut publisher, index, 450_050, 3);
    }
    publisher.commit();
    let mut bus = world.reading(Events::TRADES);
    trade_of(&mut publisher, 0, (5, UpdateAction::Delete), 450_050, 3);
    for quantity in 1..=2_000 {
        bid(&mut publisher, 0, 450_025, quantity);
        publisher.commit();
    }
    drain(&mut bus);
    assert_eq!(bus.stats().overruns, 1);
    let is_kept = ["ESU4", "NQU4"].map(|symbol| {
        let instrument = bus.instrument(symbol).expect("it was defined");
        bus.last_trade(instrument).expect("ours").is_some()
    });
    assert_eq!(is_kept, [false, true]);
}

/// Messages of an instrument without a definition are skipped and counted.
#[test]
fn messages_of_undefined_instruments_are_counted() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    publisher.commit();
    let mut bus = world.reading(Events::ALL);
    whole(&mut publisher, 5, (450_025, 1), (450_050, 7));
    publisher.commit();
    assert_eq!(drain(&mut bus), []);
    // Its top and its book.
    assert_eq!(bus.stats().undefined, 2);
}

/// A ring overwritten in any way and at any position of the reader: a poll, a wait and a drain end, and the reader follows the next
/// publisher.
#[test]
fn a_reader_of_an_overwritten_ring_ends_each_call_and_follows_the_next_publisher() {
    let limit = Duration::from_secs(10);
    for seed in seeds(30) {
        let mut random = Random::from_seed(seed);
        let world = World::new();
        let mut publisher = world.publishing(&["ESU4"]);
        whole(&mut publisher, 0, (450_025, 12), (450_050, 7));
        publisher.commit();
        let kinds = [Events::TOPS, Events::TRADES, Events::ALL];
        let events = kinds[random.below(3) as usize];
        let mut bus = world.join(
            world
                .options()
                .events(events)
                .keep_books(random.chance(0.5)),
        );
        (0..random.below(3) * 10).for_each(|_| _ = bus.poll());
        for quantity in 0..random.below(3) as i64 * 400 {
            bid(&mut publisher, 0, 450_025, 1 + quantity);
        }
        publisher.commit();
        if random.chance(0.5) {
            // Its start is lost with the ring.
            drop(publisher);
            publisher = world.publisher();
        }
        let ring = File::options().write(true).open(world.path("ring"));
        let ring = ring.expect("our file");
        let begin = if random.chance(0.5) { 4_096 } else { 64 };
        let length = ring.metadata().expect("our file").len() - begin;
        let noise = (0..length).map(|_| match seed % 2 {
            0 => 0,
            _ => random.below(256) as u8,
        });
        ring.write_all_at(&noise.collect::<Vec<_>>(), begin)
            .expect("our file");
        let start = Instant::now();
        let polls = (0..10_000).take_while(|_| bus.poll().is_some());
        assert!(polls.count() < 10_000, "seed {seed}: events without end");
        // Its result reflects the messages read before, if the next message was not overwritten.
        let _ = bus.ready(Duration::from_millis(1));
        let waits = (0..10_000).take_while(|_| bus.next_within(Duration::ZERO) != Next::TimedOut);
        assert!(waits.count() < 10_000, "seed {seed}: events without end");
        assert!(
            start.elapsed() < limit,
            "seed {seed}: {:?}",
            start.elapsed()
        );
        drop(publisher);
        let restarts = bus.stats().restarts;
        let mut publisher = world.publisher();
        define(&mut publisher, 3, "ESU4", 100);
        let mut quantity = 0;
        until(&format!("seed {seed}: the restart"), limit, || {
            quantity += 1;
            whole(&mut publisher, 3, (450_025, quantity), (450_050, 7));
            publisher.commit();
            bus.next_within(Duration::from_millis(1));
            bus.stats().restarts != restarts
        });
        drain(&mut bus);
        let es = bus.instrument("ESU4").expect("defined");
        let top = bus.top(es).expect("ours").bid;
        if events != Events::TRADES {
            let top = top.map(|top| top.quantity.mantissa());
            assert_eq!(top, Some(quantity), "seed {seed}");
        }
    }
}
