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
    with_places(2, wait_max)
}

fn with_places(readers_max: u32, wait_max: Duration) -> Settings {
    Settings {
        lossless: Some(Lossless {
            readers_max,
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
        thread::sleep(Duration::from_millis(200));
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
    // The message that it blocked waited, once.
    assert_eq!(counts(&publisher).waits, 1);
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

/// A reader that joined to be waited for reads on where the next publisher waits for no reader, gets an event that says so, and is waited
/// for again by the next publisher that waits: in the same files and in others.
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

/// The bus is created again where the reader may not read it: it gets one event, and reads on when it may.
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

/// Places in one page, and in two.
const PLACES: [u32; 2] = [32, 33];

/// A reader that is behind when its publisher starts again with more places, or with fewer, loses nothing: the next publisher waits for it.
#[test]
fn a_restart_with_another_number_of_places_forgets_no_reader() {
    let long = Duration::from_secs(60);
    for [before, after] in [PLACES, [PLACES[1], PLACES[0]]] {
        let buses = Buses::new();
        let mut gateway = buses.gateway_with(&with_places(before, long), 1, 4);
        let mut reader = Reader::new(buses.join(named()));
        reader.drain();
        gateway.events(200);
        drop(gateway);
        let mut gateway = buses.gateway_with(&with_places(after, long), 2, 4);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                gateway.events(4_000);
                done.store(true, Ordering::Release);
            });
            // The ring is full before the reader begins.
            thread::sleep(Duration::from_millis(50));
            while !done.load(Ordering::Acquire) {
                reader.take(100);
            }
        });
        reader.drain();
        let overruns =
            |event: &&SubscriptionEvent| matches!(event, SubscriptionEvent::Overrun { .. });
        assert_eq!(
            reader.events.iter().find(overruns),
            None,
            "{before} to {after}"
        );
        let told = reader.count(SubscriptionEvent::Restarted { generation: 2 });
        assert_eq!(told, 1, "{:?}", reader.events);
        gateway
            .market
            .assert_equal(&reader.mirror, "after the last event");
    }
}

/// The next publisher has no such place as that of the reader, which takes another; or none at all, which is an event.
#[test]
fn a_reader_whose_place_the_next_publisher_does_not_have_takes_another() {
    for is_full in [false, true] {
        let buses = Buses::new();
        let short = Duration::from_millis(20);
        let mut gateway = buses.gateway_with(&with_places(PLACES[1], short), 1, 4);
        let mut others: Vec<_> = (0..PLACES[0]).map(|_| buses.join(named())).collect();
        let mut reader = Reader::new(buses.join(named()));
        gateway.events(10);
        reader.drain();
        if !is_full {
            others.clear();
        }
        drop(gateway);
        let mut gateway = buses.gateway_with(&with_places(PLACES[0], short), 2, 4);
        gateway.events(10);
        reader.wait_for(SubscriptionEvent::Restarted { generation: 2 });
        reader.drain();
        let told = reader.count(SubscriptionEvent::NotWaitedFor);
        assert_eq!(told, usize::from(is_full), "{:?}", reader.events);
        others.clear();
        gateway.publisher.check().expect("the bus is there");
        assert_eq!(is_waited_for(&mut gateway), !is_full);
    }
}

/// A bus is created again with limits for which this process has no memory: the reader gets an event, and does not end by an allocation that
/// fails.
#[test]
fn a_reader_without_memory_for_the_larger_bus_is_told() {
    let buses = Buses::new();
    let gateway = buses.gateway(1, 4);
    let join = Join {
        memory: |instruments, _| match instruments > small().instruments_max {
            true => 1 << 60,
            false => 0,
        },
        ..Join::default()
    };
    let mut reader = buses.reader_with(join);
    drop(gateway);
    let more = Settings {
        instruments_max: 2 * small().instruments_max,
        ..small()
    };
    let gateway = buses.gateway_with(&more, 2, 4);
    reader.wait_for(SubscriptionEvent::Refused);
    let reason = reader.subscriber.refusal().expect("it was refused");
    assert!(matches!(reason, Error::Memory { .. }), "{reason}");
    drop(gateway);
    let gateway = buses.gateway(3, 4);
    reader.wait_for(SubscriptionEvent::Restarted { generation: 1 });
    reader.drain();
    gateway
        .market
        .assert_equal(&reader.mirror, "on the smaller bus");
}
