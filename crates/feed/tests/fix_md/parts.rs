//! Quote sets in several messages.

use crate::world::World;
use touchline_feed::fix_md::Dialect;
use touchline_feed::{Feed, SessionFeed};
use touchline_types::{Event, Instrument, Validity};

const FIRST: &str =
    "296=1|302=1|304=3|295=2|299=0|134=1|135=1|188=1.1|190=1.2|299=1|134=2|188=1.0|";
const LAST: &str = "296=1|302=1|304=3|295=1|299=2|135=5|190=1.3|";
const EUR: Instrument = Instrument(0);

fn connected() -> World {
    let mut world = World::new(Dialect::Standard);
    world.connect();
    world
}

/// The complete book arrived.
fn live() -> World {
    let mut world = connected();
    world.send("i", "296=1|302=1|295=1|299=0|134=9|135=9|188=1.0|190=1.5|");
    assert_eq!(world.feed.validity(EUR), Validity::Live);
    world
}

fn count(events: &[Event]) -> (usize, usize, usize) {
    let of = |is: fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    (
        of(|event| matches!(event, Event::RebuildLevel(_))),
        of(|event| matches!(event, Event::Level(..))),
        of(|event| matches!(event, Event::EndOfEvent { .. })),
    )
}

#[test]
fn a_book_in_parts_is_complete_with_its_last_part() {
    let mut world = connected();
    assert_eq!(world.send("i", FIRST), []);
    assert_ne!(world.feed.validity(EUR), Validity::Live);
    assert!(!world.feed.is_defined());
    let events = world.send("i", LAST);
    assert_eq!(events.first(), Some(&Event::RebuildBook(EUR)));
    assert_eq!(count(&events), (4, 0, 1), "{events:?}");
    assert_eq!(world.feed.validity(EUR), Validity::Live);
    assert_eq!(world.feed.counters().quotes_in_parts, 1);
}

#[test]
fn a_change_in_parts_is_published_once() {
    let first = "296=1|302=1|893=N|295=1|299=0|188=1.1|";
    let middle = "296=1|302=1|893=N|295=1|299=0|188=1.2|";
    for last in [
        "296=1|302=1|893=Y|295=1|299=1|134=1|188=1.0|",
        // This message publishes no event by itself.
        "296=1|302=1|893=Y|295=1|299=7|188=0|",
    ] {
        let mut world = live();
        assert_eq!(world.send("i", first), []);
        assert_eq!(world.send("i", middle), []);
        let events = world.send("i", last);
        let (rebuilt, levels, ends) = count(&events);
        assert!(rebuilt == 0 && levels >= 4 && ends == 1, "{events:?}");
        assert!(matches!(events.last(), Some(Event::EndOfEvent { .. })));
        assert!(!world.feed.is_over());
    }
}

#[test]
fn an_invalid_continuation_of_a_set_closes_the_connection() {
    let cases = [
        ("i", "296=1|302=9|304=1|295=1|299=0|55=EUR/USD|188=1.1|"),
        ("i", "296=1|302=1|304=3|295=2|299=2|188=1.1|299=3|188=1.1|"),
        ("W", "55=EUR/USD|262=1|268=1|269=0|270=1.1|271=5|"),
        ("X", "55=EUR/USD|268=1|279=0|269=0|278=5|270=1.1|271=5|"),
    ];
    for (kind, body) in cases {
        let mut world = live();
        assert_eq!(world.send("i", FIRST), []);
        let events = world.send(kind, body);
        assert_eq!(count(&events), (0, 0, 0), "{kind} {body}: {events:?}");
        assert!(world.feed.is_over(), "{kind} {body}");
        world.disconnect();
        world.connect();
        let number = world.feed.counters().requests;
        let whole = FIRST.replace("302=1|304=3", &format!("302={number}|304=2"));
        let events = world.send("i", &whole);
        assert_eq!(
            count(&events),
            (3, 0, 1),
            "no event of it remains: {events:?}"
        );
    }
    // Another set after an incomplete one.
    let mut world = live();
    world.send(
        "i",
        &format!(
            "{}302=2|295=1|299=0|188=1|",
            FIRST.replace("296=1", "296=2")
        ),
    );
    assert!(world.feed.is_over());
}

#[test]
fn a_missing_last_part_closes_the_connection() {
    let mut world = live();
    world.send("i", FIRST);
    world.pass(3);
    world.send("0", "");
    assert!(!world.feed.is_over());
    world.pass(3);
    world.send("0", "");
    world.pass(3);
    assert!(world.feed.is_over());
    let reason = world.feed.reason();
    assert!(
        reason.starts_with("the rest of a quote set is missing"),
        "{reason}"
    );
}

#[test]
fn an_entry_with_only_a_position_invalidates_its_book() {
    let mut world = live();
    let events = world.send("X", "55=EUR/USD|268=1|279=2|269=0|290=1|");
    assert_eq!(count(&events), (0, 0, 0));
    assert!(world.feed.is_over());
    let reason = world.feed.reason();
    assert!(reason.contains("EUR/USD lacks a field"), "{reason}");
}
