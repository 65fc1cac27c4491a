//! Readers of some instruments, which are defined again.

use crate::tape::record;
use crate::world::{World, bid, define, drain, trade, whole, words};
use touchline_client::{Bus, Events, Side, State};
use touchline_transport::Publish;

/// A reader of the bus and one of its tape, of these instruments.
fn readers(world: &World, events: Events, symbols: &[&str]) -> [Bus; 2] {
    let options = || {
        world
            .options()
            .events(events)
            .symbols(symbols.iter().copied())
    };
    let tape = options().open_journal(world.tape(), None);
    [world.join(options()), tape.expect("a tape")]
}

/// An instrument has no symbol before the venue defines it.
#[test]
fn an_instrument_that_was_selected_by_its_id_stays_selected_with_its_symbol() {
    let world = World::new();
    let mut publisher = world.publishing(&["", "NQU4"]);
    publisher.commit();
    let mut recording = world.recording();
    let mut readers = readers(&world, Events::TRADES, &["100"]);
    readers.iter_mut().for_each(|bus| drop(drain(bus)));
    define(&mut publisher, 0, "ESU4", 100);
    trade(&mut publisher, 0, 450_050, 3);
    trade(&mut publisher, 1, 450_050, 3);
    publisher.commit();
    record(&mut recording);
    for mut bus in readers {
        assert_eq!(words(&mut bus), ["ESU4 defined", "ESU4 trade 3@4500.5."]);
        assert_eq!(bus.instruments().count(), 1);
    }
}

/// The venue gives the index and the id of a selected instrument to another contract: the reader gets no further message of it.
#[test]
fn a_selected_instrument_that_becomes_another_one_is_not_current_any_more() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut recording = world.recording();
    for (events, told_last) in [
        (
            Events::BOOKS,
            &["ESU4 book recovering 4", "ESU4 state recovering."][..],
        ),
        (Events::TRADES, &["ESU4 state recovering."]),
    ] {
        let mut readers = readers(&world, events, &["ES*"]);
        for bus in &mut readers {
            drain(bus);
            let old = bus.instrument("ESU4").expect("it was defined");
            assert!(bus.is_current(old));
        }
        define(&mut publisher, 0, "ZNU4", 100);
        bid(&mut publisher, 0, 450_025, 2);
        publisher.commit();
        record(&mut recording);
        for mut bus in readers {
            let old = bus.instrument("ESU4").expect("it was defined");
            assert_eq!(words(&mut bus), told_last);
            assert!(!bus.is_current(old));
            let book = bus.book(old).expect("ours");
            assert_eq!(
                (book.state(), book.best(Side::Bid)),
                (State::Recovering, None)
            );
            assert_eq!(bus.instruments().count(), 1, "the other one has no handle");
        }
        define(&mut publisher, 0, "ESU4", 100);
        whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
        publisher.commit();
        record(&mut recording);
    }
}
