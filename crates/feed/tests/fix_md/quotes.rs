//! Quotes with names, as banks and aggregators send them.

use crate::world::{World, is_rebuilt};
use touchline_feed::SessionFeed;
use touchline_feed::fix_md::Dialect;
use touchline_types::{Event, Instrument, UpdateAction, Validity};

const SNAPSHOT: &str = "55=EUR/USD|262=1|268=3|269=0|270=1.11941|271=1000000|299=0|106=7|\
                        269=0|270=1.11941|271=500000|299=1|106=7|269=1|270=1.11944|271=1000000|299=0|106=7|";

fn live() -> World {
    let mut world = World::new(Dialect::Standard);
    world.connect();
    world.send("W", SNAPSHOT);
    world.take_asked();
    world
}

/// Levels as price in 1e-5, quantity in units, number of quotes; absent for a delete.
fn levels(events: &[Event]) -> Vec<(bool, i64, i64, i32)> {
    let level = |event: &Event| match event {
        Event::Level(level, Validity::Live) | Event::RebuildLevel(level) => Some((
            level.action == UpdateAction::Delete,
            level.price.0 / 10_000,
            level.quantity.0 / 100_000_000,
            level.orders,
        )),
        _ => None,
    };
    events.iter().filter_map(level).collect()
}

#[test]
fn a_snapshot_of_quotes_is_a_book_of_levels() {
    let mut world = World::new(Dialect::Standard);
    world.connect();
    let events = world.send("W", SNAPSHOT);
    assert_eq!(
        levels(&events),
        [
            (false, 111_941, 1_500_000, 2),
            (false, 111_944, 1_000_000, 1)
        ]
    );
    assert!(is_rebuilt(&events, Instrument(0)));
}

#[test]
fn changes_by_id_change_the_levels_at_their_prices() {
    let mut world = live();
    let entry = "55=EUR/USD|";
    let events = world.send(
        "X",
        &format!("268=1|279=1|269=0|278=1|{entry}270=1.11940|271=700000|"),
    );
    assert_eq!(
        levels(&events),
        [(false, 111_941, 1_000_000, 1), (false, 111_940, 700_000, 1)]
    );
    let events = world.send(
        "X",
        &format!("268=2|279=2|278=1|{entry}279=0|269=1|278=9|{entry}270=1.11944|271=5|"),
    );
    assert_eq!(
        levels(&events),
        [(true, 111_940, 0, 0), (false, 111_944, 1_000_005, 2)]
    );
    let events = world.send("X", &format!("268=1|279=2|278=77|{entry}"));
    assert_eq!(events, [], "unknown symbol");
}

#[test]
fn a_mass_quote_contains_changes_and_is_answered() {
    let mut world = World::new(Dialect::Standard);
    world.connect();
    world.take_asked();
    // The first one is the complete book; its set has the number of our request.
    let first = "117=4|296=1|302=1|295=2|299=0|106=1|134=1000000|135=1000000|188=1.51218|190=1.51223|\
                 299=1|134=500000|135=500000|188=1.51217|190=1.51223|";
    let events = world.send("i", first);
    assert_eq!(events.first(), Some(&Event::RebuildBook(Instrument(0))));
    assert_eq!(
        levels(&events),
        [
            (false, 151_218, 1_000_000, 1),
            (false, 151_223, 1_500_000, 2),
            (false, 151_217, 500_000, 1),
        ]
    );
    assert_eq!(world.take_asked(), [("b".to_owned(), "117=4|".to_owned())]);
    let events = world.send("i", "296=1|302=1|295=2|299=1|190=1.51225|299=0|188=0|");
    assert_eq!(
        levels(&events),
        [
            (false, 151_223, 1_000_000, 1),
            (false, 151_225, 500_000, 1),
            (true, 151_218, 0, 0),
        ]
    );
    assert_eq!(events.last(), Some(&Event::EndOfEvent { transact_ns: 0 }));
    assert_eq!(world.take_asked(), []);
    assert_eq!(
        world.send("i", "296=1|302=5|295=1|299=0|188=1|134=1|"),
        [],
        "set 5 was not requested"
    );
}

#[test]
fn an_unreadable_mass_quote_closes_the_connection() {
    let mut world = live();
    let events = world.send("i", "296=1|302=1|295=2|299=0|188=1.5|");
    assert!(
        events
            .iter()
            .all(|event| !matches!(event, Event::Level(..))),
        "{events:?}"
    );
    assert!(world.feed.is_over() && world.feed.counters().messages_malformed == 1);
    world.disconnect();
    assert_eq!(world.feed.validity(Instrument(0)), Validity::Stale);
}

#[test]
fn a_quote_belongs_to_the_symbol_of_its_entry() {
    let mut world = live();
    let events = world.send(
        "i",
        "296=1|302=7|295=2|299=0|55=EUR/USD|188=1.1|299=1|55=GBP/USD|188=1.5|134=1|",
    );
    assert_eq!(
        levels(&events).last(),
        Some(&(false, 110_000, 1_000_000, 1)),
        "{events:?}"
    );
    assert!(
        !levels(&events)
            .iter()
            .any(|(_, price, ..)| *price == 150_000),
        "another instrument has it"
    );
}

#[test]
fn an_error_in_one_of_several_books_closes_the_connection() {
    let mut world = live();
    let events = world.send(
        "X",
        "268=2|279=0|269=0|278=5|55=EUR/USD|270=1.1|271=1|279=0|269=0|278=6|55=EUR/USD|270=1.12345678901|271=1|",
    );
    assert_eq!(levels(&events), [], "{events:?}");
    assert!(world.feed.is_over());
}
