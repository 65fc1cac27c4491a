//! Restarts of publishers with attached readers.

use crate::world::{Buses, Reader, small};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, seeds};
use touchline_testing::until;
use touchline_transport::bus::Polled;
use touchline_transport::shm::{Error, Item, Join, Overview, Publisher, Settings, Subscriber};
use touchline_transport::{Publish, SubscriptionEvent};
use touchline_types::{Instrument, Timestamps, Validity};

#[test]
fn another_publisher_continues_the_numbers_and_starts_with_empty_books() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(200);
    let mut reader = buses.reader();
    let before = gateway.counts().messages_published;
    drop(gateway);
    reader.wait_for(SubscriptionEvent::PublisherGone);
    assert_eq!(reader.validity(0), Validity::Stale);
    let mut gateway = buses.gateway(2, 3);
    assert_eq!(gateway.publisher.generation(), 2);
    gateway.events(200);
    reader.drain();
    assert!(
        reader
            .events
            .contains(&SubscriptionEvent::Restarted { generation: 2 }),
        "{:?}",
        reader.events
    );
    gateway
        .market
        .assert_equal(&reader.mirror, "after the restart");
    // Sequence numbers continue: no message of either publisher was lost.
    let mut last = 0;
    gateway.events(1);
    while reader
        .subscriber
        .poll(|item| match item {
            Item::Update(received) => last = received.sequence,
            Item::Top { sequence, .. } => last = sequence,
            _ => {}
        })
        .given()
        .is_some()
    {}
    assert_eq!(last, before + gateway.counts().messages_published);
}

/// `CaughtUp` follows each restart, in the same ring and in other files.
#[test]
fn a_reader_is_notified_when_it_has_caught_up_with_the_next_publisher() {
    let buses = Buses::new();
    let publish = |settings: &Settings, seed| {
        let mut gateway = buses.gateway_with(settings, seed, 4);
        gateway.events(100);
        gateway
    };
    let gateway = publish(&small(), 1);
    let mut reader = buses.reader();
    assert_eq!(reader.events, [SubscriptionEvent::CaughtUp]);
    drop(gateway);
    let larger = Settings {
        ring_bytes: 128 * 1024,
        ..small()
    };
    for (settings, generation) in [(&small(), 2), (&larger, 1)] {
        reader.events.clear();
        let gateway = publish(settings, generation);
        let restarted = SubscriptionEvent::Restarted { generation };
        reader.wait_for(restarted);
        reader.drain();
        gateway
            .market
            .assert_equal(&reader.mirror, "behind the restart");
        let caught_up = reader.count(SubscriptionEvent::CaughtUp);
        assert_eq!(caught_up, 1, "{:?}", reader.events);
        assert_eq!(reader.events.last(), Some(&SubscriptionEvent::CaughtUp));
        drop(gateway);
    }
}

#[test]
fn joining_a_bus_without_a_publisher_gives_its_last_books_as_stale() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(200);
    let market = gateway.end();
    let mut reader = buses.reader();
    reader.wait_for(SubscriptionEvent::PublisherGone);
    assert_eq!(reader.mirror.inconsistent_updates(), 0);
    for instrument in (0..4).map(Instrument) {
        assert_eq!(reader.mirror.validity(instrument), Validity::Stale);
        market.assert_one_equal(&reader.mirror, instrument, "the last book");
    }
}

#[test]
fn an_overrun_over_a_restart_is_reported_with_the_restart_and_the_new_books() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(200);
    let mut reader = buses.reader();
    drop(gateway);
    let mut gateway = buses.gateway(2, 6);
    // Three to four rings long, so that the start of this publisher is overwritten.
    gateway.events(1_500);
    reader.drain();
    let told = &reader.events;
    assert!(
        told.iter()
            .any(|event| matches!(event, SubscriptionEvent::Overrun { .. })),
        "{told:?}"
    );
    assert!(
        told.contains(&SubscriptionEvent::Restarted { generation: 2 }),
        "{told:?}"
    );
    gateway
        .market
        .assert_equal(&reader.mirror, "after the restart");
}

#[test]
fn a_truncated_ring_is_reported_once_and_joined_again_when_recreated() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(200);
    let mut reader = buses.reader();
    drop(gateway);
    let ring = buses.path("ring");
    let file = std::fs::File::options().write(true).open(ring).unwrap();
    file.set_len(0).unwrap();
    let told_before = reader.events.len();
    let polls = (0..10_000).filter(|_| reader.take(1) > 0).count();
    assert_eq!(polls, 1, "{:?}", &reader.events[told_before..]);
    assert_eq!(reader.events[told_before..], [SubscriptionEvent::Damaged]);
    assert_eq!(reader.validity(0), Validity::Stale);
    let mut gateway = buses.gateway(2, 6);
    gateway.events(200);
    reader.wait_for(SubscriptionEvent::Restarted { generation: 1 });
    reader.drain();
    gateway
        .market
        .assert_equal(&reader.mirror, "on the new ring");
}

#[test]
fn a_bus_of_another_size_is_joined_again() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(200);
    let mut reader = buses.reader();
    drop(gateway);
    let larger = Settings {
        ring_bytes: 128 * 1024,
        ..small()
    };
    let mut gateway = buses.gateway_with(&larger, 2, 4);
    gateway.events(200);
    reader.wait_for(SubscriptionEvent::Restarted { generation: 1 });
    reader.drain();
    gateway
        .market
        .assert_equal(&reader.mirror, "on the larger ring");
}

#[test]
fn a_second_publisher_is_refused_with_the_process_of_the_first() {
    let buses = Buses::new();
    let _first = buses.publisher();
    let refused = Publisher::open(&buses.root(), "test", &small())
        .err()
        .unwrap();
    let said = refused.to_string();
    assert!(said.contains(&std::process::id().to_string()), "{said}");
    assert!(matches!(refused, Error::Segment(_)));
}

#[test]
fn a_ring_too_small_for_a_message_is_refused() {
    let buses = Buses::new();
    for (ring_bytes, reason) in [(1_000, "power of two"), (1_024, "4096")] {
        let settings = Settings {
            ring_bytes,
            ..small()
        };
        let said = Publisher::open(&buses.root(), "test", &settings)
            .err()
            .unwrap()
            .to_string();
        assert!(
            said.contains(reason) && said.contains("ring_bytes"),
            "{said}"
        );
    }
}

/// Tables of other sizes in files of the same length are new files: existing readers join again, and do not read the
/// new table with old sizes.
#[test]
fn a_writer_with_other_sizes_in_as_many_pages_begins_new_files() {
    let buses = Buses::new();
    let open = |image_levels_max, seed| {
        let settings = Settings {
            instruments_max: 1,
            image_levels_max,
            ..small()
        };
        buses.gateway_with(&settings, seed, 1)
    };
    let length = || {
        let images = std::fs::metadata(buses.path("images"));
        images.expect("a bus").len()
    };
    let mut gateway = open(12, 1);
    let before = length();
    gateway.reset();
    let mut reader = buses.reader();
    drop(gateway);

    let mut gateway = open(13, 2);
    assert_eq!(length(), before, "or nothing is shown");
    reader.wait_for(SubscriptionEvent::Restarted { generation: 1 });
    // More than the ring contains, so that the book comes from its slot.
    gateway.events(2_000);
    reader.drain();
    gateway
        .market
        .assert_equal(&reader.mirror, "from the new image");
}

/// Words of a ring's header with the same place in every layout: layout, schema version.
const LAYOUT: u64 = 1;
const SCHEMA: u64 = 4;

/// Writes a word to the header of the ring.
fn alter(buses: &Buses, word: u64, value: u64) {
    let file = std::fs::File::options()
        .write(true)
        .open(buses.path("ring"));
    let file = file.expect("our file");
    file.write_all_at(&value.to_le_bytes(), word * 8)
        .expect("our file");
}

/// A bus of another layout is refused with an error that names it and the fix.
#[test]
fn a_bus_of_another_layout_is_refused() {
    let buses = Buses::new();
    let publisher = buses.publisher();
    alter(&buses, LAYOUT, 30);
    // Another layout may have other files.
    std::fs::remove_file(buses.path("images")).expect("our file");
    let refused = Subscriber::join(&buses.root(), "test", Join::default()).map(drop);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        refused.expect_err("it cannot be read").to_string(),
        format!(
            "bus test has format 30 (touchline {version}); this program ({version}) reads 3: use the program of the \
             gateway's version, or start the gateway again with this one"
        )
    );
    drop(publisher);
    // The next publisher creates its own layout.
    let _publisher = buses.publisher();
    let _ = buses.join(Join::default());
}

/// A publisher of another layout starts: readers report it once, show no book as live, and join the next readable one.
#[test]
fn a_reader_waits_while_a_publisher_continues_in_another_layout() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(200);
    let mut reader = buses.reader();
    assert_eq!(reader.validity(0), Validity::Live);
    drop(gateway);
    // Other files under the same names, as of a publisher of that layout.
    std::fs::remove_file(buses.path("ring")).expect("our file");
    let publisher = buses.publisher();
    alter(&buses, LAYOUT, 9);
    let event = SubscriptionEvent::Incompatible { layout: 9 };
    reader.wait_for(event);
    reader.look();
    assert_eq!(reader.count(event), 1, "{:?}", reader.events);
    assert_eq!(reader.validity(0), Validity::Stale);
    drop(publisher);
    let mut gateway = buses.gateway(2, 6);
    gateway.events(200);
    let restarted = SubscriptionEvent::Restarted { generation: 1 };
    reader.wait_for(restarted);
    reader.drain();
    gateway
        .market
        .assert_equal(&reader.mirror, "in the layout that it reads");
}

/// A newer schema of the same layout: additions are skipped and counted, everything else works.
#[test]
fn known_parts_of_a_newer_schema_are_read() {
    const TEMPLATE_AT: u64 = 2;
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    gateway.events(50);
    alter(&buses, SCHEMA, 99);
    let mut reader = buses.reader();
    assert_eq!(reader.subscriber.unknown_messages(), 0);
    // A message of an unknown template: the next one, changed in place before it is read.
    let before = ring_position(&buses);
    gateway.publisher.heartbeat(&Timestamps::default());
    let path = buses.path("ring");
    let file = std::fs::File::options().write(true).open(path);
    let at = HEADER_BYTES + before + 8 + TEMPLATE_AT;
    let template = 61_000_u16.to_le_bytes();
    file.expect("our file")
        .write_all_at(&template, at)
        .expect("our file");
    gateway.events(50);
    reader.drain();
    assert_eq!(reader.subscriber.unknown_messages(), 1);
    gateway
        .market
        .assert_equal(&reader.mirror, "beside what is not known");
}

/// Bytes of a ring's control page.
const HEADER_BYTES: u64 = 4096;

/// Bytes of the stream so far: in a ring that has not wrapped, the position of the next message.
fn ring_position(buses: &Buses) -> u64 {
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(overview.position < overview.ring_bytes);
    overview.position
}

/// A subscriber of an overwritten ring finds no message within a bound, at any position, and follows the next
/// publisher, in new files and over the old ones.
#[test]
fn a_subscriber_of_an_overwritten_ring_stops_and_follows_the_next_publisher() {
    for seed in seeds(60) {
        let mut random = Random::from_seed(seed);
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 4);
        gateway.events(random.below(3) * 200);
        let mut reader = Reader::new(buses.join(Join::default()));
        // Joining, in the middle, or at the end.
        for _ in 0..random.below(3) * 40 {
            reader.subscriber.poll(|_| ());
        }
        gateway.events(random.below(3) * 400);
        if random.chance(0.5) {
            // Its start is lost with the ring.
            drop(gateway);
            gateway = buses.gateway(seed, 4);
        }
        buses.overwrite("test/ring", &mut random, seed % 2 == 0);
        if random.chance(0.3) {
            buses.overwrite("test/images", &mut random, seed % 2 == 0);
        }
        let start = Instant::now();
        let is_idle = (0..20_000).any(|_| reader.subscriber.poll(|_| ()) == Polled::Nothing);
        assert!(is_idle, "seed {seed}: progress without end");
        assert!(
            start.elapsed() < LIMIT,
            "seed {seed}: {:?}",
            start.elapsed()
        );
        drop(gateway);
        if random.chance(0.5) {
            std::fs::remove_dir_all(buses.root().path().join("test")).expect("our files");
        }
        let mut gateway = buses.gateway(seed + 1, 4);
        let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
        let generation = overview.generation;
        // The restart before it may be read first.
        until(&format!("seed {seed}: the restart"), LIMIT, || {
            gateway.events(20);
            reader.take(10_000);
            let restarted = SubscriptionEvent::Restarted { generation };
            match reader.events.contains(&restarted) {
                true => Ok(()),
                false => Err(reader.events.clone()),
            }
        });
        reader.drain();
        gateway
            .market
            .assert_equal(&reader.mirror, &format!("seed {seed}: behind the restart"));
    }
}

/// Far more than a reader needs, on a host with other work.
const LIMIT: Duration = Duration::from_secs(10);

/// A publisher that continues a ring whose end was overwritten may begin behind a reader. The reader does not wait until the publisher
/// reaches its position: its books would be live and old meanwhile.
#[test]
fn a_reader_ahead_of_the_next_publisher_follows_it_at_once() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(3, 4);
    gateway.events(60);
    let mut reader = buses.reader();
    drop(gateway);
    let ring = buses.path("ring");
    let ring = std::fs::File::options().write(true).open(ring);
    let ring = ring.expect("our file");
    let length = ring.metadata().expect("our file").len() as usize;
    ring.write_all_at(&vec![0; length - 4_096], 4_096)
        .expect("our file");
    let mut gateway = buses.gateway(4, 4);
    gateway.events(1);
    let restarted = SubscriptionEvent::Restarted { generation: 2 };
    reader.wait_for(restarted);
    reader.drain();
    gateway
        .market
        .assert_equal(&reader.mirror, "behind the restart");
}
