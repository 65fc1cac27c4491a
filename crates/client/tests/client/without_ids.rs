//! Venues without ids, which number their instruments in each publication.

use crate::tape::record;
use crate::world::{World, define, drain, trade, whole};
use touchline_client::{Bus, Event, Events, Instrument, SecurityId, State};
use touchline_transport::Publish;
use touchline_transport::shm::Publisher;

/// A venue without ids: its numbers are rows of one publication, so they are others' after a restart, live and on a tape.
#[test]
fn instruments_without_ids_keep_their_handles_by_symbol() {
    let world = World::new();
    let mut publisher = world.publisher();
    let publish = |publisher: &mut Publisher, symbols: [&str; 3]| {
        for (symbol, row) in symbols.iter().zip(0..) {
            define(publisher, row, symbol, i64::from(row) + 1);
        }
        for row in 0..3 {
            whole(publisher, row, (100 + i64::from(row), 1), (200, 1));
        }
        publisher.commit();
    };
    publish(&mut publisher, ["A", "B", "C"]);
    let events = Events::TOPS | Events::TRADES;
    let mut live = world.reading(events);
    let mut snapshot = world.options().snapshot("test").expect("it is there");
    let mut recording = world.recording();
    let handles = |bus: &Bus| ["A", "B", "C"].map(|name| bus.instrument(name).expect("defined"));
    let [a, b, c] = handles(&live);
    let key = |bus: &Bus, of| bus.definition(of).expect("ours").key();
    let key_of_b = key(&live, b);
    record(&mut recording);
    drop(publisher);

    let mut publisher = world.publisher();
    // D takes the number of C before C is defined again.
    define(&mut publisher, 2, "D", 3);
    publish(&mut publisher, ["B", "C", "D"]);
    trade(&mut publisher, 1, 150, 2);
    publisher.commit();
    record(&mut recording);
    recording.close().expect("the disk is writable");
    drain(&mut live);
    assert!(snapshot.refresh().expect("the files are there"));
    let options = world.options().events(events);
    let mut tape = options.open_journal(world.tape(), None).expect("a tape");
    drain(&mut tape);
    for bus in [&live, &tape] {
        assert_eq!(handles(bus).map(Instrument::index), [0, 1, 2]);
        assert_eq!(bus.instruments().count(), 4);
        let [a, b, c] = handles(bus);
        let d = bus.instrument("D").expect("defined");
        assert_eq!(
            [a, b, c, d].map(|of| bus.is_current(of)),
            [false, true, true, true]
        );
        assert_eq!(
            [a, b, c, d].map(|of| bus.definition(of).expect("ours").security_id),
            [1, 1, 2, 3]
        );
        let recovering = [State::Recovering, State::Live, State::Live, State::Live];
        assert_eq!(
            [a, b, c, d].map(|of| bus.state(of).expect("ours")),
            recovering
        );
        assert!(bus.last_trade(c).expect("ours").is_some());
        // A number is that of the present publication.
        let of_number = [1, 2, 3].map(|id| bus.instrument(SecurityId(id)).expect("defined"));
        assert_eq!(of_number, [b, c, d]);
        assert_eq!(bus.instrument(key(bus, c)).expect("defined"), c);
    }
    assert_eq!(live.instrument(key_of_b).expect("defined"), c);
    assert_eq!(handles(&live), [a, b, c]);
    assert_eq!(
        snapshot.instrument(SecurityId(1)).expect("defined").index(),
        b.index()
    );
    trade(&mut publisher, 0, 151, 3);
    publisher.commit();
    let trades: Vec<_> = drain(&mut live).iter().map(Event::instrument).collect();
    assert_eq!(trades, [Some(b)]);

    // With fewer instruments the last number is none's.
    drop(publisher);
    let mut publisher = world.publisher();
    define(&mut publisher, 0, "C", 1);
    publisher.commit();
    drain(&mut live);
    assert_eq!(live.instrument(SecurityId(1)).expect("defined"), c);
    assert!(live.instrument(SecurityId(2)).is_err());
    assert!(live.instrument(key_of_b).is_err());
}
