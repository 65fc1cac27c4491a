//! Snapshots: reads of a bus without its stream.

use crate::world::{World, define, whole};
use touchline_client::monitor::Monitor;
use touchline_client::{Error, Price, SecurityId, Side, State};
use touchline_transport::Publish;

#[test]
fn a_snapshot_shows_books_as_they_are_and_keeps_its_handles_over_a_restart() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    whole(&mut publisher, 1, (450_025, 12), (450_050, 7));
    publisher.commit();
    let mut snapshot = world.options().snapshot("test").expect("it is there");
    let book = snapshot.book("NQU4").expect("it was published");
    assert_eq!((book.symbol(), book.state()), ("NQU4", State::Live));
    let best = book.best(Side::Bid).expect("a bid");
    assert_eq!(
        (best.price, best.quantity),
        (Price(4_500_250_000_000), 12.into())
    );
    let nq = snapshot
        .instrument(SecurityId(101))
        .expect("it was defined");
    assert_eq!(
        snapshot.top(nq).expect("it was published").to_string(),
        "live 12@4500.25 | 7@4500.5"
    );
    let unseen = snapshot.book("ESU4").expect_err("it has no book");
    assert_eq!(
        unseen.to_string(),
        "bus test is not ready: ESU4: no book was published yet"
    );
    let found = snapshot.matching(["*U4"]).expect("a pattern");
    let symbols: Vec<_> = found.iter().map(|found| snapshot.symbol(*found)).collect();
    assert_eq!(symbols, ["ESU4", "NQU4"]);

    // The next publisher uses the reverse order.
    drop(publisher);
    assert!(!snapshot.refresh().expect("the files are there"));
    assert_eq!(
        snapshot.book(nq).expect("as it was left").state(),
        State::Stale
    );
    let mut publisher = world.publisher();
    define(&mut publisher, 0, "NQU4", 101);
    whole(&mut publisher, 0, (450_000, 1), (450_050, 7));
    publisher.commit();
    assert!(snapshot.refresh().expect("the files are there"));
    assert_eq!(
        snapshot.top(nq).expect("it was published").to_string(),
        "live 1@4500 | 7@4500.5"
    );
    let es = snapshot.instrument("ESU4").expect("it was defined once");
    assert!(matches!(snapshot.book(es), Err(Error::NotReady { .. })));
    assert_eq!(snapshot.instruments().count(), 1);
}

/// A changed definition is seen at the next refresh, and books use it.
#[test]
fn a_changed_definition_is_seen_at_the_next_refresh() {
    let world = World::new();
    let mut publisher = world.publishing(&[""]);
    publisher.commit();
    let mut snapshot = world.options().snapshot("test").expect("it is there");
    let es = snapshot
        .instrument(SecurityId(100))
        .expect("its id is known");
    assert_eq!(snapshot.symbol(es), "?");
    define(&mut publisher, 0, "ESU4", 100);
    publisher.commit();
    assert!(!snapshot.refresh().expect("the files are there"));
    assert_eq!(snapshot.symbol(es), "ESU4");
    assert_eq!(
        snapshot.instrument("ESU4").expect("its symbol is known"),
        es
    );
}

#[test]
fn a_monitor_lists_buses_and_their_publishers() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    publisher.commit();
    let monitor = Monitor::new(Some(world.root().path()));
    assert_eq!(monitor.buses().expect("it can be read"), ["test"]);
    let (overview, readers) = monitor.overview("test").expect("it is there");
    assert_eq!((overview.definitions, readers.len()), (1, 0));
    assert!(monitor.publisher("test").expect("ours").is_some());
    assert!(monitor.counters("test").expect("ours").is_none());
    assert!(matches!(
        monitor.overview("other"),
        Err(Error::NoBus { .. })
    ));
}
