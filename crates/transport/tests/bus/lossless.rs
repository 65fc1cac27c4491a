//! A lossless bus waits for its registered readers only, for a limited time.

use crate::world::{Buses, Gateway, Market, Reader, counts, mirror, small};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use touchline_transport::shm::{Error, Join, Lossless, Publisher, Settings, Subscriber};
use touchline_transport::{Publish, SubscriptionEvent};

pub fn lossless(wait_max: Duration) -> Settings {
    Settings {
        lossless: Some(Lossless {
            readers_max: 2,
            wait_max,
        }),
        ..small()
    }
}

pub fn named() -> Join {
    Join {
        registered: true,
        ..Join::default()
    }
}

#[test]
fn a_named_reader_that_is_slow_loses_nothing() {
    let buses = Buses::new();
    let settings = lossless(Duration::from_secs(60));
    let mut publisher = Publisher::open(&buses.root(), "test", &settings).unwrap();
    let mut market = Market::new(1, 6);
    let mut subscriber = buses.join(named());
    market.define(&mut publisher);
    let done = AtomicBool::new(false);
    let mut mirror = mirror();
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..10_000).for_each(|_| market.event(&mut publisher));
            publisher.commit();
            done.store(true, Ordering::Release);
        });
        // The ring is full before the reader begins: how often it is later depends on the host.
        while subscriber.lag_bytes() == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(50));
        let mut received = 0;
        loop {
            let is_done = done.load(Ordering::Acquire);
            let now = subscriber.drain(100, &mut mirror);
            received += now;
            if received % 10_000 < 100 {
                thread::sleep(Duration::from_micros(200));
            }
            if is_done && now == 0 {
                break;
            }
        }
    });
    let counters = counts(&publisher);
    assert!(
        counters.waits > 0,
        "the ring was never full, so nothing was shown"
    );
    assert_eq!(counters.readers_left_behind, 0);
    market.assert_equal(&mirror, "after the last event");
}

#[test]
fn a_registered_reader_that_stops_for_too_long_is_overrun_and_notified() {
    let buses = Buses::new();
    let settings = lossless(Duration::from_millis(20));
    let mut publisher = Publisher::open(&buses.root(), "test", &settings).unwrap();
    let mut market = Market::new(1, 6);
    let mut subscriber = buses.join(named());
    market.define(&mut publisher);
    (0..4_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    assert_eq!(counts(&publisher).readers_left_behind, 1);
    let mut mirror = mirror();
    while subscriber.drain(usize::MAX, &mut mirror) > 0 {}
    market.assert_equal(&mirror, "back by images");
}

#[test]
fn the_publisher_does_not_wait_for_a_reader_that_left() {
    let buses = Buses::new();
    let settings = lossless(Duration::from_secs(60));
    let mut publisher = Publisher::open(&buses.root(), "test", &settings).unwrap();
    drop(buses.join(named()));
    let mut market = Market::new(1, 6);
    (0..4_000).for_each(|_| market.event(&mut publisher));
    assert_eq!(counts(&publisher).waits, 0);
}

#[test]
fn registration_fails_on_a_lossy_bus_and_beyond_the_last_slot() {
    let buses = Buses::new();
    let publisher = buses.publisher();
    let refused = Subscriber::join(&buses.root(), "test", named())
        .err()
        .unwrap();
    assert!(matches!(refused, Error::NotLossless { .. }), "{refused}");
    drop(publisher);
    let settings = lossless(Duration::from_millis(1));
    let _publisher = Publisher::open(&buses.root(), "test", &settings).unwrap();
    // As many as configured, although the file of their places is a whole page.
    let _all = [buses.join(named()), buses.join(named())];
    let refused = Subscriber::join(&buses.root(), "test", named())
        .err()
        .unwrap();
    let refused = refused.to_string();
    assert!(refused.contains("all 2 places for readers"), "{refused}");
}

fn larger(settings: Settings) -> Settings {
    Settings {
        ring_bytes: 2 * small().ring_bytes,
        ..settings
    }
}

/// Whether the publisher waits for a reader that stands still.
fn is_waited_for(gateway: &mut Gateway) -> bool {
    let before = gateway.counts().readers_left_behind;
    gateway.events(4_000);
    gateway.counts().readers_left_behind > before
}

/// A reader that joined to be waited for reads on where nobody is, is told so, and is waited for again by the next publisher that waits:
/// in the same files and in others.
#[test]
fn a_lossless_reader_reads_on_when_the_next_publisher_waits_for_nobody() {
    let waits = || lossless(Duration::from_millis(20));
    for others in [
        [small(), waits()],
        [larger(small()), waits()],
        [small(), larger(waits())],
    ] {
        let buses = Buses::new();
        let mut gateway = buses.gateway_with(&waits(), 1, 4);
        gateway.events(100);
        let mut reader = Reader::new(buses.join(named()));
        reader.drain();
        for (settings, seed) in others.into_iter().zip(2..) {
            let is_lossless = settings.lossless.is_some();
            drop(gateway);
            gateway = buses.gateway_with(&settings, seed, 4);
            gateway.events(100);
            reader.events.clear();
            let generation = gateway.publisher.generation();
            reader.wait_for(SubscriptionEvent::Restarted { generation });
            reader.look();
            let told = reader.count(SubscriptionEvent::NotWaitedFor);
            assert_eq!(told, usize::from(!is_lossless), "{:?}", reader.events);
            gateway
                .market
                .assert_equal(&reader.mirror, "behind the restart");
            assert_eq!(is_waited_for(&mut gateway), is_lossless);
            reader.drain();
        }
    }
}

/// The bus is created again where the reader may not read it: the reader is told once, and reads on when it may.
#[test]
fn a_reader_is_told_once_that_it_cannot_join_the_bus_that_was_created_again() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(100);
    let mut reader = buses.reader();
    drop(gateway);
    let mut gateway = buses.gateway_with(&larger(small()), 2, 4);
    gateway.events(100);
    let allow = |mode| fs::set_permissions(buses.path("ring"), Permissions::from_mode(mode));
    allow(0o666).expect("our file");
    reader.wait_for(SubscriptionEvent::Refused);
    (0..3).for_each(|_| reader.look());
    assert_eq!(reader.count(SubscriptionEvent::Refused), 1);
    let reason = reader.subscriber.refusal().expect("it was refused");
    assert!(reason.to_string().contains("has mode 0666"), "{reason}");
    assert_eq!(reader.validity(0), touchline_types::Validity::Stale);
    allow(0o600).expect("our file");
    reader.wait_for(SubscriptionEvent::Restarted { generation: 1 });
    reader.drain();
    assert!(reader.subscriber.refusal().is_none());
    gateway
        .market
        .assert_equal(&reader.mirror, "once it may be read");
}
