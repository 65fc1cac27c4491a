//! A client does not allocate after joining. A program of its own, because its allocator counts.

#[path = "../client/world.rs"]
#[allow(
    dead_code,
    reason = "the fixture of the other tests, of which this uses a part"
)]
mod world;

use touchline_client::{Bus, Connection, Event, Events, Side};
use touchline_lab::frozen::{Count, Frozen};
use touchline_transport::Publish;
use world::{World, bid, define, trade, whole};

#[global_allocator]
static ALLOCATOR: Frozen = Frozen;

/// Reads all pending events with their books and tops, while the thread may not allocate.
fn read(bus: &mut Bus, told: &mut [u64; 3]) -> Count {
    let mut quiet = 0;
    Frozen::freeze();
    // Some polls that find no message check the publisher.
    while quiet < 300 {
        match bus.poll() {
            Some(event) => {
                quiet = 0;
                if let Some(instrument) = event.instrument() {
                    let best = bus.book(instrument).map(|book| book.best(Side::Bid));
                    let _ =
                        std::hint::black_box((best, bus.top(instrument), bus.symbol(instrument)));
                    let _ = std::hint::black_box((bus.last_trade(instrument), bus.changes()));
                }
                match event {
                    Event::Connection(Connection::Overrun { .. }) => told[1] += 1,
                    Event::Connection(Connection::Restarted { .. }) => told[2] += 1,
                    _ => told[0] += 1,
                }
            }
            None => quiet += 1,
        }
    }
    Frozen::thaw()
}

#[test]
fn polling_allocates_nothing_after_the_join() {
    let world = World::new();
    let mut publisher = world.publisher();
    for index in 0..8 {
        define(
            &mut publisher,
            index,
            &format!("SYM{index}"),
            100 + i64::from(index),
        );
        whole(&mut publisher, index, (450_025, 1), (450_050, 7));
    }
    publisher.commit();
    let mut buses = [Events::TOPS | Events::TRADES, Events::ALL]
        .map(|events| (world.join(world.options().events(events)), [0; 3]));
    for round in 1..=6 {
        for (bus, told) in &mut buses {
            assert_eq!(read(bus, told), Count::default(), "round {round}");
        }
        // One round is longer than the ring, another starts with a new publisher.
        let messages = if round == 3 { 1_500 } else { 40 };
        if round == 4 {
            drop(publisher);
            publisher = world.publisher();
            for index in 0..8 {
                define(
                    &mut publisher,
                    index,
                    &format!("SYM{}", 7 - index),
                    107 - i64::from(index),
                );
                whole(&mut publisher, index, (450_025, 1), (450_050, 7));
            }
        }
        for message in 0..messages {
            let index = message as u32 % 8;
            bid(&mut publisher, index, 450_025, 2 + message);
            trade(&mut publisher, index, 450_050, 1);
            publisher.commit();
        }
    }
    for (bus, told) in &mut buses {
        assert_eq!(read(bus, told), Count::default());
        assert!(
            told[0] > 400 && told[1] > 0 && told[2] > 0,
            "{told:?}: no test"
        );
        assert_eq!(bus.stats().inconsistent, 0);
    }
}

/// The allocator detects an allocation: the other test can fail.
#[test]
fn an_allocation_is_counted() {
    Frozen::freeze();
    std::hint::black_box(vec![1_u8; 64]);
    assert_ne!(Frozen::thaw(), Count::default());
}
