//! A tape gives the events of the bus that it is of, and ends with it.

use crate::world::{World, bid, define, drain, small, trade, whole, word};
use std::time::{Duration, Instant};
use touchline_client::{Bus, Error, Event, Events, Next, TapePlace};
use touchline_journal::Options;
use touchline_tape::run::{Recording, RunSettings};
use touchline_tape::{Retention, Settings};
use touchline_testing::{PATIENCE, until};
use touchline_transport::Publish;
use touchline_transport::shm::Publisher;

/// Events of every kind that a market by price has.
fn events() -> Events {
    Events::TOPS | Events::TRADES | Events::BOOKS
}

impl World {
    /// A recorder that has joined.
    pub fn recording(&self) -> Recording {
        self.recording_of(&["test"])
    }

    /// A recorder that has joined these buses.
    pub fn recording_of(&self, buses: &[&str]) -> Recording {
        let mut recording = Recording::open(RunSettings {
            root: self.root(),
            buses: buses.iter().map(|bus| (*bus).to_owned()).collect(),
            lossless: false,
            name: "recorder".to_owned(),
            directory: self.tape(),
            journal: Options {
                segment_bytes: 1 << 20,
                ring_bytes: 1 << 20,
                ..Options::recording("tape")
            },
            recorder: Settings::default(),
            retention: Retention::default(),
            compress: false,
        })
        .expect("a tape");
        record(&mut recording);
        recording
    }

    pub fn tape(&self) -> std::path::PathBuf {
        self.root().path().join("tape")
    }
}

/// Records what the bus has.
pub fn record(recording: &mut Recording) {
    while recording.work().expect("the disk is writable") > 0 {}
}

/// Words of the events that a program has.
fn told(bus: &mut Bus) -> Vec<String> {
    let events = drain(bus);
    events.iter().map(|event| word(bus, event)).collect()
}

fn publish(publisher: &mut Publisher, round: i64) {
    for index in 0..2 {
        bid(publisher, index, 100 + round, 5 + round);
    }
    trade(publisher, 0, 100 + round, 1);
    publisher.commit();
}

#[test]
fn a_tape_gives_the_events_of_its_bus() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESZ6", "NQZ6"]);
    for index in 0..2 {
        whole(&mut publisher, index, (99, 1), (200, 1));
    }
    publisher.commit();
    let mut live = world.reading(events());
    let mut recording = world.recording();
    for round in 0..20 {
        publish(&mut publisher, round);
        record(&mut recording);
    }
    let expected = told(&mut live);
    assert!(expected.len() > 60, "{expected:?}");
    let options = world.options().events(events());
    // A tape that is recorded has no end.
    let mut recorded = options.open_journal(world.tape(), None).expect("a tape");
    drain(&mut recorded);
    assert_eq!(recorded.next_within(Duration::ZERO), Next::TimedOut);
    recording.close().expect("the disk is writable");
    let mut tape = options
        .open_journal(world.tape(), Some("test"))
        .expect("a tape");
    let all = told(&mut tape);
    let joined = all.iter().position(|word| word.contains("caught up"));
    let joined = joined.unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!(all[joined + 1..], expected);
    assert_eq!(tape.next(), None, "it has ended");
    tape.check_process().expect("it was read to its end");
    for symbol in ["ESZ6", "NQZ6"] {
        let top = |bus: &Bus| {
            let top = bus.top(bus.instrument(symbol).expect("defined"));
            let top = top.expect("an instrument of its own");
            (top.state, top.bid, top.ask, top.times)
        };
        assert_eq!(top(&tape), top(&live), "{symbol}");
    }
}

/// The time of a wait counts at the end of a tape: messages without an event, however many, do not end it before.
#[test]
fn a_wait_on_a_tape_ends_with_an_event_or_at_its_end() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESZ6"]);
    whole(&mut publisher, 0, (99, 1), (200, 1));
    publisher.commit();
    let mut recording = world.recording();
    trade(&mut publisher, 0, 100, 1);
    publisher.commit();
    // A record each; all of them fit the rings of a recorder whose disk is slow.
    for update in 0..1_000 {
        bid(&mut publisher, 0, 100, 1 + update);
        publisher.commit();
        record(&mut recording);
    }
    trade(&mut publisher, 0, 101, 2);
    publisher.commit();
    record(&mut recording);
    recording.close().expect("the disk is writable");
    let is_trade = |next: Next| match next {
        Next::Event(event) => Some(matches!(event, Event::Trade(_))),
        Next::TimedOut | Next::Stopped => None,
    };
    let options = world.options().events(Events::TRADES);
    let read = |next: &mut dyn FnMut(&mut Bus) -> Next| {
        let mut tape = options.open_journal(world.tape(), None).expect("a tape");
        let events = std::iter::from_fn(|| is_trade(next(&mut tape)));
        (
            events.filter(|is_trade| *is_trade).count(),
            tape.next_within(Duration::ZERO),
        )
    };
    let in_parts = &mut |tape: &mut Bus| {
        let parts = std::iter::from_fn(|| Some(tape.try_next_within(Duration::ZERO)));
        parts.flatten().next().expect("it has an end")
    };
    let whole = read(&mut |tape: &mut Bus| tape.next_within(Duration::ZERO));
    assert_eq!(whole, (2, Next::Stopped));
    assert_eq!(read(in_parts), (2, Next::Stopped));
}

/// A recorder that was killed within a packet: its last message is an event as each before it.
#[test]
fn a_tape_that_ends_within_a_packet_gives_its_last_event() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESZ6"]);
    publisher.commit();
    let mut recording = world.recording();
    // The publisher keeps the fourth until it knows whether it ends the packet.
    for quantity in 1..=4 {
        trade(&mut publisher, 0, 100, quantity);
    }
    record(&mut recording);
    drop(recording);
    let options = world.options().tape_wait(Duration::ZERO);
    let mut tape = options.open_journal(world.tape(), None).expect("a tape");
    let mut told = Vec::new();
    while let Some(event) = tape.next() {
        told.push(word(&tape, &event));
    }
    assert_eq!(
        told[told.len() - 3..],
        ["ESZ6 trade 1@1", "ESZ6 trade 2@1", "ESZ6 trade 3@1."]
    );
    tape.check_process().expect("it was read to its end");
    assert_eq!(tape.next(), None);
}

/// A program that follows a tape goes on with a recorder that starts again, and ends when none does for the stated time.
#[test]
fn a_followed_tape_goes_on_with_the_next_recorder() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESZ6", "NQZ6"]);
    for index in 0..2 {
        whole(&mut publisher, index, (99, 1), (200, 1));
    }
    publisher.commit();
    let mut recording = world.recording();
    publish(&mut publisher, 0);
    record(&mut recording);
    let options = world.options().events(events());
    let open = |wait: Duration| {
        let mut tape = options.clone().tape_wait(wait);
        tape = tape.idle(touchline_client::Idle::Spin);
        let mut tape = tape.open_journal(world.tape(), None).expect("a tape");
        drain(&mut tape);
        tape
    };
    let (mut patient, mut other) = (open(PATIENCE), open(Duration::ZERO));
    // As a kill does.
    drop(recording);
    told(&mut other);
    assert_eq!(other.next(), None, "without a wait it ends");
    told(&mut patient);
    let waits = patient.next_within(Duration::from_millis(200));
    assert_eq!(waits, Next::TimedOut);
    let mut recording = world.recording();
    publish(&mut publisher, 1);
    record(&mut recording);
    let mut trades = 0;
    until("the trade of the next recorder", PATIENCE, || {
        trades += told(&mut patient)
            .iter()
            .filter(|word| word.contains("trade"))
            .count();
        trades > 0
    });
    recording.close().expect("the disk is writable");
    let start = Instant::now();
    let mut later = open(Duration::from_secs(600));
    assert_eq!(later.next(), None, "nobody recorded it since");
    assert!(start.elapsed() < PATIENCE / 2);
}

/// A tape of several buses is read by the name of one, and without a name as the first one, from its begin to its end.
#[test]
fn a_bus_of_several_is_read_by_its_name() {
    let world = World::new();
    let symbols = [("test", "ESZ6"), ("other", "NQZ6")];
    let mut publishers = symbols.map(|(bus, symbol)| {
        let mut publisher = world.publisher_with(bus, &small());
        define(&mut publisher, 0, symbol, 100);
        whole(&mut publisher, 0, (99, 1), (200, 1));
        publisher.commit();
        publisher
    });
    let mut recording = world.recording_of(&["test", "other"]);
    for round in 1..20 {
        for (index, publisher) in publishers.iter_mut().enumerate() {
            trade(publisher, 0, 100 + round, 10 * round + index as i64);
            publisher.commit();
        }
        record(&mut recording);
    }
    recording.close().expect("the disk is writable");
    let buses = Bus::list_journal(world.tape()).expect("a tape");
    assert_eq!(buses, ["other", "test"]);
    let read = |bus: Option<&str>| {
        let options = world.options().events(Events::TRADES);
        let mut tape = options.open_journal(world.tape(), bus).expect("a tape");
        let name = tape.name().to_owned();
        (name, told(&mut tape))
    };
    for (index, (bus, symbol)) in symbols.into_iter().enumerate() {
        let (name, told) = read(Some(bus));
        assert_eq!(name, bus);
        let trades = told.iter().filter(|told| told.contains("trade"));
        let trades: Vec<_> = trades.cloned().collect();
        let expected = (1..20).map(|round| {
            let (quantity, price) = (10 * round + index as i64, (100 + round) as f64 / 100.0);
            format!("{symbol} trade {quantity}@{price}.")
        });
        assert_eq!(trades, expected.collect::<Vec<_>>());
    }
    let first = read(None);
    assert_eq!(first, read(Some(&first.0)));
}

#[test]
fn a_selection_of_symbols_is_of_the_tape_alone() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESZ6", "NQZ6"]);
    publisher.commit();
    let mut recording = world.recording();
    for round in 0..3 {
        publish(&mut publisher, round);
    }
    record(&mut recording);
    recording.close().expect("the disk is writable");
    let options = world.options().events(events()).symbols(["NQ*"]);
    let mut tape = options.open_journal(world.tape(), None).expect("a tape");
    let events = drain(&mut tape);
    let symbols = events.iter().filter_map(Event::instrument);
    let symbols: Vec<_> = symbols.map(|of| tape.symbol(of).to_owned()).collect();
    assert!(
        !symbols.is_empty() && symbols.iter().all(|symbol| symbol == "NQZ6"),
        "{symbols:?}"
    );
}

#[test]
fn what_is_no_tape_or_a_damaged_one_is_said() {
    let world = World::new();
    let refused = |bus| {
        let opened = world.options().open_journal(world.tape(), bus);
        opened.expect_err("no tape")
    };
    let error = refused(None);
    assert!(matches!(error, Error::Tape(_)), "{error}");
    assert!(
        error.to_string().contains("no segment of a tape"),
        "{error}"
    );
    let mut publisher = world.publisher();
    define(&mut publisher, 0, "ESZ6", 100);
    publisher.commit();
    let mut recording = world.recording();
    let mut publish = |recording: &mut Recording| {
        for round in 0..100 {
            bid(&mut publisher, 0, 100 + round, 5);
            publisher.commit();
            record(recording);
        }
    };
    publish(&mut recording);
    // Only what a later record calls durable is damage, and not the end that a crash left.
    until("the records are on the disk", PATIENCE, || {
        record(&mut recording);
        let counters = recording.counters();
        counters.record_durable > 9_000 && counters.record_durable == counters.record_position
    });
    publish(&mut recording);
    recording.close().expect("the disk is writable");
    let error = refused(Some("other"));
    let said = "no bus is called other; buses here: test";
    assert_eq!(error.to_string(), said);
    let segment = world.tape().join("0000000001.tlj");
    let mut bytes = std::fs::read(&segment).expect("a segment");
    bytes[9_000] ^= 1;
    std::fs::write(&segment, bytes).expect("room");
    let mut tape = world
        .options()
        .open_journal(world.tape(), None)
        .expect("its begin");
    drain(&mut tape);
    assert_eq!(tape.next(), None);
    let error = tape.check_process().expect_err("it is damaged");
    assert!(error.to_string().contains("damaged"), "{error}");
}

/// Events of the tape from a place on are the last ones of the whole tape, with the same books.
#[test]
fn a_tape_is_read_from_a_place_to_a_place() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESZ6", "NQZ6"]);
    publisher.commit();
    let mut recording = world.recording();
    for round in 0..20 {
        publish(&mut publisher, round);
        record(&mut recording);
    }
    let middle = TapePlace::Sequence(40);
    recording.close().expect("the disk is writable");
    let read = |options: touchline_client::Options| {
        let options = options.events(events());
        let mut tape = options.open_journal(world.tape(), None).expect("a tape");
        let words = told(&mut tape);
        let joined = words.iter().position(|word| word.contains("caught up"));
        let top = tape.top(tape.instrument("ESZ6").expect("defined"));
        (
            words[joined.expect("it has joined") + 1..].to_vec(),
            top.expect("an instrument of its own").bid,
        )
    };
    let (whole, bid) = read(world.options());
    let (tail, bid_of_tail) = read(world.options().tape_from(middle));
    let (head, bid_of_head) = read(world.options().tape_to(middle));
    assert!(tail.len() > 20 && head.len() > 20, "{tail:?} {head:?}");
    assert_eq!([head, tail].concat(), whole);
    assert_eq!(bid, bid_of_tail);
    assert_ne!(bid, bid_of_head);
}
