//! A tape gives the events of the bus that it is of, and ends with it.

use crate::world::{World, bid, define, drain, trade, whole, word};
use touchline_client::{Bus, Error, Event, Events, Next};
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
    fn recording(&self) -> Recording {
        let mut recording = Recording::open(RunSettings {
            root: self.root(),
            buses: vec!["test".to_owned()],
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
        })
        .expect("a tape");
        record(&mut recording);
        recording
    }

    fn tape(&self) -> std::path::PathBuf {
        self.root().path().join("tape")
    }
}

/// Records what the bus has.
fn record(recording: &mut Recording) {
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
    assert_eq!(
        recorded.next_within(std::time::Duration::ZERO),
        Next::TimedOut
    );
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
    assert!(error.to_string().contains("no bus other"), "{error}");
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
