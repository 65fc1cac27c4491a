//! Restarts of publishers with attached readers.

use crate::stage::{Market, Stage, counts, mirror, small};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, seeds};
use touchline_transport::bus::Polled;
use touchline_transport::shm::{Error, Item, Join, Overview, Publisher, Settings, Subscriber};
use touchline_transport::{Mirror, Publish, Subscribe, SubscriptionEvent};
use touchline_types::{Instrument, Timestamps, Validity};

/// Events of a subscriber.
#[derive(Default)]
pub struct Notified(pub Vec<SubscriptionEvent>);

impl Subscribe for Notified {
    fn update(&mut self, _: &touchline_transport::Envelope<'_>) {}

    fn event(&mut self, event: &SubscriptionEvent) {
        self.0.push(*event);
    }
}

pub fn drain(subscriber: &mut Subscriber, reader: &mut (Notified, Mirror)) {
    while subscriber.drain(usize::MAX, reader) > 0 {}
}

/// Polls until this event.
pub fn wait_for(
    subscriber: &mut Subscriber,
    reader: &mut (Notified, Mirror),
    event: SubscriptionEvent,
) {
    let start = Instant::now();
    while !reader.0.0.contains(&event) {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{event:?}: {:?}",
            reader.0.0
        );
        subscriber.drain(1_000, reader);
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn another_publisher_continues_the_numbers_and_starts_with_empty_books() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 4);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    let before = counts(&publisher).messages_published;
    drop(publisher);
    wait_for(
        &mut subscriber,
        &mut reader,
        SubscriptionEvent::PublisherGone,
    );
    assert_eq!(reader.1.validity(Instrument(0)), Validity::Stale);
    let mut publisher = stage.publisher();
    assert_eq!(publisher.generation(), 2);
    let mut market = Market::new(2, 3);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    drain(&mut subscriber, &mut reader);
    assert!(
        reader
            .0
            .0
            .contains(&SubscriptionEvent::Restarted { generation: 2 }),
        "{:?}",
        reader.0.0
    );
    market.assert_equal(&reader.1, "after the restart");
    // Sequence numbers continue: nothing of either publisher was lost.
    let mut last = 0;
    market.event(&mut publisher);
    publisher.commit();
    while subscriber
        .poll(|item| match item {
            Item::Update(received) => last = received.sequence,
            Item::Top { sequence, .. } => last = sequence,
            _ => {}
        })
        .given()
        .is_some()
    {}
    assert_eq!(last, before + counts(&publisher).messages_published);
}

/// `CaughtUp` follows each restart, in the same ring and in other files.
#[test]
fn a_reader_is_notified_when_it_has_caught_up_with_the_next_publisher() {
    let stage = Stage::new();
    let publish = |settings: &Settings, seed| {
        let mut publisher = Publisher::open(&stage.root(), "test", settings).unwrap();
        let mut market = Market::new(seed, 4);
        market.define(&mut publisher);
        (0..100).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        (publisher, market)
    };
    let (publisher, _) = publish(&small(), 1);
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    assert_eq!(reader.0.0, [SubscriptionEvent::CaughtUp]);
    drop(publisher);
    let larger = Settings {
        ring_bytes: 128 * 1024,
        ..small()
    };
    for (settings, generation) in [(&small(), 2), (&larger, 1)] {
        reader.0.0.clear();
        let (publisher, market) = publish(settings, generation);
        let restarted = SubscriptionEvent::Restarted { generation };
        wait_for(&mut subscriber, &mut reader, restarted);
        drain(&mut subscriber, &mut reader);
        market.assert_equal(&reader.1, "behind the restart");
        let told = |event| reader.0.0.iter().filter(|told| **told == event).count();
        assert_eq!(told(SubscriptionEvent::CaughtUp), 1, "{:?}", reader.0.0);
        assert_eq!(reader.0.0.last(), Some(&SubscriptionEvent::CaughtUp));
        drop(publisher);
    }
}

#[test]
fn joining_a_bus_without_a_publisher_gives_its_last_books_as_stale() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 4);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    drop(publisher);
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    wait_for(
        &mut subscriber,
        &mut reader,
        SubscriptionEvent::PublisherGone,
    );
    assert_eq!(reader.1.inconsistent_updates(), 0);
    for instrument in (0..4).map(Instrument) {
        assert_eq!(reader.1.validity(instrument), Validity::Stale);
        market.assert_one_equal(&reader.1, instrument, "the last book");
    }
}

#[test]
fn an_overrun_over_a_restart_is_reported_with_the_restart_and_the_new_books() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 4);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    drop(publisher);
    let mut publisher = stage.publisher();
    let mut market = Market::new(2, 6);
    market.define(&mut publisher);
    // Three to four rings long, so that the start of this publisher is overwritten.
    (0..1_500).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    drain(&mut subscriber, &mut reader);
    let told = &reader.0.0;
    assert!(
        told.iter()
            .any(|event| matches!(event, SubscriptionEvent::Overrun { .. })),
        "{told:?}"
    );
    assert!(
        told.contains(&SubscriptionEvent::Restarted { generation: 2 }),
        "{told:?}"
    );
    market.assert_equal(&reader.1, "after the restart");
}

#[test]
fn a_truncated_ring_is_reported_once_and_joined_again_when_recreated() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 4);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    drop(publisher);
    let ring = stage.root().path().join("test/ring");
    let file = std::fs::File::options().write(true).open(ring).unwrap();
    file.set_len(0).unwrap();
    let told_before = reader.0.0.len();
    let polls = (0..10_000).filter(|_| subscriber.drain(1, &mut reader) > 0);
    assert_eq!(polls.count(), 1, "{:?}", &reader.0.0[told_before..]);
    assert_eq!(reader.0.0[told_before..], [SubscriptionEvent::Damaged]);
    assert_eq!(reader.1.validity(Instrument(0)), Validity::Stale);
    let mut publisher = stage.publisher();
    let mut market = Market::new(2, 6);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    wait_for(
        &mut subscriber,
        &mut reader,
        SubscriptionEvent::Restarted { generation: 1 },
    );
    drain(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "on the new ring");
}

#[test]
fn a_bus_of_another_size_is_joined_again() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 4);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    drop(publisher);
    let larger = Settings {
        ring_bytes: 128 * 1024,
        ..small()
    };
    let mut publisher = Publisher::open(&stage.root(), "test", &larger).unwrap();
    let mut market = Market::new(2, 4);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    wait_for(
        &mut subscriber,
        &mut reader,
        SubscriptionEvent::Restarted { generation: 1 },
    );
    drain(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "on the larger ring");
}

#[test]
fn a_second_publisher_is_refused_with_the_process_of_the_first() {
    let stage = Stage::new();
    let _first = stage.publisher();
    let refused = Publisher::open(&stage.root(), "test", &small())
        .err()
        .unwrap();
    let said = refused.to_string();
    assert!(said.contains(&std::process::id().to_string()), "{said}");
    assert!(matches!(refused, Error::Segment(_)));
}

#[test]
fn a_ring_too_small_for_a_message_is_refused() {
    let stage = Stage::new();
    for (ring_bytes, reason) in [(1_000, "power of two"), (1_024, "4096")] {
        let settings = Settings {
            ring_bytes,
            ..small()
        };
        let said = Publisher::open(&stage.root(), "test", &settings)
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
    let stage = Stage::new();
    let open = |image_levels_max| {
        let settings = Settings {
            instruments_max: 1,
            image_levels_max,
            ..small()
        };
        Publisher::open(&stage.root(), "test", &settings).expect("no other process writes it")
    };
    let length = || {
        let images = stage.root().path().join("test/images");
        std::fs::metadata(images).expect("a bus").len()
    };
    let mut publisher = open(12);
    let before = length();
    let mut market = Market::new(1, 1);
    market.define(&mut publisher);
    market.reset(&mut publisher);
    let (mut subscriber, mut reader) =
        (stage.join(Join::default()), (Notified::default(), mirror()));
    drain(&mut subscriber, &mut reader);
    drop(publisher);

    let mut publisher = open(13);
    assert_eq!(length(), before, "or nothing is shown");
    let mut market = Market::new(2, 1);
    market.define(&mut publisher);
    let start = Instant::now();
    let is_restart =
        |event: &SubscriptionEvent| matches!(event, SubscriptionEvent::Restarted { .. });
    while !reader.0.0.iter().any(is_restart) {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            reader.0.0
        );
        drain(&mut subscriber, &mut reader);
    }
    // More than the ring contains, so that the book comes from its slot.
    (0..2_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    drain(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "from the new image");
}

/// Words of a ring's header with the same place in every layout: layout, schema version.
const LAYOUT: u64 = 1;
const SCHEMA: u64 = 4;

/// Writes a word to the header of the ring.
fn alter(stage: &Stage, word: u64, value: u64) {
    let path = stage.root().path().join("test/ring");
    let file = std::fs::File::options().write(true).open(path);
    let file = file.expect("our file");
    file.write_all_at(&value.to_le_bytes(), word * 8)
        .expect("our file");
}

/// A bus of another layout is refused with an error that names it and the fix.
#[test]
fn a_bus_of_another_layout_is_refused() {
    let stage = Stage::new();
    let publisher = stage.publisher();
    alter(&stage, LAYOUT, 30);
    // Another layout may have other files.
    let folder = stage.root().path().join("test");
    std::fs::remove_file(folder.join("images")).expect("our file");
    let refused = Subscriber::join(&stage.root(), "test", Join::default()).map(drop);
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
    let _publisher = stage.publisher();
    let _ = stage.join(Join::default());
}

/// A publisher of another layout starts: readers report it once, show no book as live, and join the next readable one.
#[test]
fn a_reader_waits_while_a_publisher_continues_in_another_layout() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 4);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    assert_eq!(reader.1.validity(Instrument(0)), Validity::Live);
    drop(publisher);
    // Other files under the same names, as of a publisher of that layout.
    std::fs::remove_file(stage.root().path().join("test/ring")).expect("our file");
    let publisher = stage.publisher();
    alter(&stage, LAYOUT, 9);
    let event = SubscriptionEvent::Incompatible { layout: 9 };
    wait_for(&mut subscriber, &mut reader, event);
    subscriber.look_again();
    drain(&mut subscriber, &mut reader);
    let told = reader.0.0.iter().filter(|told| **told == event).count();
    assert_eq!(told, 1, "{:?}", reader.0.0);
    assert_eq!(reader.1.validity(Instrument(0)), Validity::Stale);
    drop(publisher);
    let mut publisher = stage.publisher();
    let mut market = Market::new(2, 6);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let restarted = SubscriptionEvent::Restarted { generation: 1 };
    wait_for(&mut subscriber, &mut reader, restarted);
    drain(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "in the layout that it reads");
}

/// A newer schema of the same layout: additions are skipped and counted, everything else works.
#[test]
fn known_parts_of_a_newer_schema_are_read() {
    const TEMPLATE_AT: u64 = 2;
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 4);
    market.define(&mut publisher);
    (0..50).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    alter(&stage, SCHEMA, 99);
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    assert_eq!(subscriber.unknown_messages(), 0);
    // A message of an unknown template: the next one, changed in place before it is read.
    let before = ring_position(&stage);
    publisher.heartbeat(&Timestamps::default());
    let path = stage.root().path().join("test/ring");
    let file = std::fs::File::options().write(true).open(path);
    let at = HEADER_BYTES + before + 8 + TEMPLATE_AT;
    let template = 61_000_u16.to_le_bytes();
    file.expect("our file")
        .write_all_at(&template, at)
        .expect("our file");
    (0..50).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    drain(&mut subscriber, &mut reader);
    assert_eq!(subscriber.unknown_messages(), 1);
    market.assert_equal(&reader.1, "beside what is not known");
}

/// Bytes of a ring's control page.
const HEADER_BYTES: u64 = 4096;

/// Bytes of the stream so far: in a ring that has not wrapped, the position of the next message.
fn ring_position(stage: &Stage) -> u64 {
    let overview = Overview::of(&stage.root(), "test").expect("the bus is there");
    assert!(overview.position < overview.ring_bytes);
    overview.position
}

/// A subscriber whose ring was overwritten finds nothing within a bound, wherever it was, and follows the next
/// publisher, in new files and over the old ones.
#[test]
fn a_subscriber_of_an_overwritten_ring_stops_and_follows_the_next_publisher() {
    for seed in seeds(60) {
        let mut random = Random::from_seed(seed);
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 4);
        market.define(&mut publisher);
        (0..random.below(3) * 200).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        let mut subscriber = stage.join(Join::default());
        let mut reader = (Notified::default(), mirror());
        // Joining, in the middle, or at the end.
        for _ in 0..random.below(3) * 40 {
            subscriber.poll(|_| ());
        }
        (0..random.below(3) * 400).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        if random.chance(0.5) {
            // Its start is lost with the ring.
            drop(publisher);
            publisher = stage.publisher();
            market = Market::new(seed, 4);
            market.define(&mut publisher);
            publisher.commit();
        }
        stage.overwrite("test/ring", &mut random, seed % 2 == 0);
        if random.chance(0.3) {
            stage.overwrite("test/images", &mut random, seed % 2 == 0);
        }
        let start = Instant::now();
        let is_idle = (0..20_000).any(|_| subscriber.poll(|_| ()) == Polled::Nothing);
        assert!(is_idle, "seed {seed}: progress without end");
        assert!(
            start.elapsed() < LIMIT,
            "seed {seed}: {:?}",
            start.elapsed()
        );
        drop(publisher);
        if random.chance(0.5) {
            std::fs::remove_dir_all(stage.root().path().join("test")).expect("our files");
        }
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed + 1, 4);
        market.define(&mut publisher);
        let overview = Overview::of(&stage.root(), "test").expect("the bus is there");
        let generation = overview.generation;
        let start = Instant::now();
        loop {
            (0..20).for_each(|_| market.event(&mut publisher));
            publisher.commit();
            subscriber.drain(10_000, &mut reader);
            // The restart before it may be read now.
            if reader
                .0
                .0
                .contains(&SubscriptionEvent::Restarted { generation })
            {
                break;
            }
            assert!(start.elapsed() < LIMIT, "seed {seed}: {:?}", reader.0.0);
        }
        drain(&mut subscriber, &mut reader);
        market.assert_equal(&reader.1, &format!("seed {seed}: behind the restart"));
    }
}

/// Far more than a reader needs, on a host with other work.
const LIMIT: Duration = Duration::from_secs(10);

/// A publisher that continues a ring whose end was overwritten may begin behind a reader. The reader does not wait until it
/// is overtaken: its books would be live and old.
#[test]
fn a_reader_ahead_of_the_next_publisher_follows_it_at_once() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(3, 4);
    market.define(&mut publisher);
    (0..60).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut subscriber = stage.join(Join::default());
    let mut reader = (Notified::default(), mirror());
    drain(&mut subscriber, &mut reader);
    drop(publisher);
    let ring = stage.root().path().join("test/ring");
    let ring = std::fs::File::options().write(true).open(ring);
    let ring = ring.expect("our file");
    let length = ring.metadata().expect("our file").len() as usize;
    ring.write_all_at(&vec![0; length - 4_096], 4_096)
        .expect("our file");
    let mut publisher = stage.publisher();
    let mut market = Market::new(4, 4);
    market.define(&mut publisher);
    market.event(&mut publisher);
    publisher.commit();
    let restarted = SubscriptionEvent::Restarted { generation: 2 };
    wait_for(&mut subscriber, &mut reader, restarted);
    drain(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "behind the restart");
}
