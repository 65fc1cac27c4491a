//! Several buses in one loop.

use crate::world::{World, define, small, whole, word};
use touchline_client::{Buses, Error};
use touchline_transport::Publish;

#[test]
fn buses_are_polled_in_turn_and_a_handle_belongs_to_one_bus() {
    let world = World::new();
    let mut publishers = ["one", "two"].map(|bus| world.publisher_with(bus, &small()));
    let mut buses = Buses::new();
    for (publisher, name) in publishers.iter_mut().zip(["one", "two"]) {
        define(publisher, 0, "ESU4", 100);
        publisher.commit();
        buses.add(world.options().join(name).expect("it is there"));
    }
    let mut seen = Vec::new();
    while let Some((bus, event)) = buses.poll() {
        seen.push(format!("{}: {}", bus.name(), word(bus, &event)));
    }
    seen.sort();
    assert_eq!(
        seen,
        [
            "one: ESU4 defined",
            "one: caught up, 1 instrument",
            "two: ESU4 defined",
            "two: caught up, 1 instrument",
        ]
    );
    // More than one bus's maximum of events in a row: the second bus gets its turn.
    for quantity in 1..=200 {
        whole(&mut publishers[0], 0, (450_025, quantity), (450_050, 7));
        publishers[0].commit();
    }
    whole(&mut publishers[1], 0, (450_000, 5), (450_050, 7));
    publishers[1].commit();
    let mut order = String::new();
    while let Some((bus, _)) = buses.poll() {
        order.push_str(&bus.name()[..1]);
    }
    assert_eq!(order.len(), 201);
    let second = order.find('t').expect("it has its turn");
    assert!(second <= 64, "{order}");
    let [one, two] = [0, 1].map(|bus| buses.all()[bus].instrument("ESU4").expect("defined"));
    assert_ne!(one, two);
    assert_eq!(
        buses.top(one).expect("ours").to_string(),
        "live 200@4500.25 | 7@4500.5"
    );
    assert_eq!(
        buses.top(two).expect("ours").to_string(),
        "live 5@4500 | 7@4500.5"
    );
    assert_eq!(buses.book(two).expect("ours").symbol(), "ESU4");
    let other = buses.all()[0].top(two).expect_err("of the other bus");
    assert_eq!(
        other,
        Error::OtherBus {
            bus: "one".to_owned()
        }
    );
    let stopper = buses.stopper();
    stopper.stop();
    assert!(buses.next().is_none());
}

/// A stopped bus gives no further event, and a loop over such buses ends.
#[test]
fn a_loop_ends_when_each_of_its_buses_has_stopped() {
    let world = World::new();
    let _publisher = world.publisher();
    let (first, second) = (world.join(world.options()), world.join(world.options()));
    let stoppers = [first.stopper(), second.stopper()];
    let mut buses = Buses::new();
    buses.add(first);
    buses.add(second);
    while buses.poll().is_some() {}
    stoppers.iter().for_each(touchline_client::Stopper::stop);
    assert!(buses.next().is_none());
}

/// One bus is stopped alone: the loop continues with the other, and gives no further event of the stopped one.
#[test]
fn a_bus_that_was_stopped_alone_gives_no_more_events() {
    let world = World::new();
    let mut publishers = ["one", "two"].map(|bus| world.publisher_with(bus, &small()));
    let mut buses = Buses::new();
    for (publisher, name) in publishers.iter_mut().zip(["one", "two"]) {
        define(publisher, 0, "ESU4", 100);
        publisher.commit();
        buses.add(world.options().join(name).expect("it is there"));
    }
    while buses.poll().is_some() {}
    buses.all()[0].stopper().stop();
    for quantity in 1..=100 {
        for publisher in &mut publishers {
            whole(publisher, 0, (450_025, quantity), (450_050, 7));
            publisher.commit();
        }
    }
    for _ in 1..=100 {
        let (bus, _) = buses.next().expect("the other goes on");
        assert_eq!(bus.name(), "two");
    }
}
