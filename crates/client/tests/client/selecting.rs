//! Readers of some instruments, which are defined again.

use crate::tape::record;
use crate::world::{World, bid, catch_up, define, trade, whole, word, words};
use std::time::Duration;
use touchline_client::{Bus, Events, Options, Side, State};
use touchline_transport::Publish;

/// The end of a tape, and this number of words of its last events.
fn end_of_tape(world: &World, options: &Options, last: usize) -> (Bus, Vec<String>) {
    let options = options.clone().tape_wait(Duration::ZERO);
    let mut tape = options.open_journal(world.tape(), None).expect("a tape");
    let mut told = Vec::new();
    while let Some(event) = tape.next() {
        told.push(word(&tape, &event));
    }
    let told = told.split_off(told.len().saturating_sub(last));
    (tape, told)
}

/// An instrument has no symbol before the venue defines it.
#[test]
fn an_instrument_that_was_selected_by_its_id_stays_selected_with_its_symbol() {
    let world = World::new();
    let mut publisher = world.publishing(&["", "NQU4"]);
    publisher.commit();
    let mut recording = world.recording();
    let options = world.options().events(Events::TRADES).symbols(["100"]);
    let mut live = world.join(options.clone());
    catch_up(&mut live);
    define(&mut publisher, 0, "ESU4", 100);
    trade(&mut publisher, 0, 450_050, 3);
    trade(&mut publisher, 1, 450_050, 3);
    publisher.commit();
    record(&mut recording);
    recording.close().expect("the disk is writable");
    let told = words(&mut live);
    for (bus, told) in [(live, told), end_of_tape(&world, &options, 2)] {
        assert_eq!(told, ["ESU4 defined", "ESU4 trade 3@4500.5."]);
        assert_eq!(bus.instruments().count(), 1);
    }
}

/// The venue gives the index and the id of a selected instrument to another contract: the reader gets no further message of it.
#[test]
fn a_selected_instrument_that_becomes_another_one_is_not_current_any_more() {
    for (events, expected) in [
        (
            Events::BOOKS,
            &["ESU4 book recovering 4", "ESU4 state recovering."][..],
        ),
        (Events::TRADES, &["ESU4 state recovering."]),
    ] {
        let world = World::new();
        let mut publisher = world.publishing(&["ESU4", "NQU4"]);
        whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
        publisher.commit();
        let mut recording = world.recording();
        let options = world.options().events(events).symbols(["ES*"]);
        let mut live = world.join(options.clone());
        catch_up(&mut live);
        let old = live.instrument("ESU4").expect("it was defined");
        assert!(live.is_current(old));
        define(&mut publisher, 0, "ZNU4", 100);
        bid(&mut publisher, 0, 450_025, 2);
        publisher.commit();
        record(&mut recording);
        recording.close().expect("the disk is writable");
        let told = words(&mut live);
        let tape = end_of_tape(&world, &options, expected.len());
        for (bus, told) in [(live, told), tape] {
            assert_eq!(told, expected);
            let old = bus.instrument("ESU4").expect("it was defined");
            assert!(!bus.is_current(old));
            let book = bus.book(old).expect("ours");
            let best = book.best(Side::Bid);
            assert_eq!((book.state(), best), (State::Recovering, None));
            assert_eq!(bus.instruments().count(), 1, "the other one has no handle");
        }
    }
}
