//! The bus without market data: messages as bytes, keyed latest values, late join.

use crate::world::{Buses, Market, definition};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use touchline_lab::random::Random;
use touchline_testing::{PATIENCE, until};
use touchline_transport::Publish;
use touchline_transport::bus::{
    BusEvent, END_OF_BATCH, Flags, Found, Layout, Lock, Lossless, Polled, Publication, Shape,
    Subscription, TableWriter,
};
use touchline_types::native;

const SLOTS: usize = 8;

fn layout() -> Layout<1> {
    let latest = Shape {
        slots: SLOTS,
        content_words: 4,
    };
    Layout {
        ring_bytes: 4096,
        message_bytes_min: 64,
        schema: 0,
        tables: [("latest", latest)],
        lossless: None,
        huge_pages: false,
        lock: Lock::No,
    }
}

fn open(buses: &Buses) -> (Publication, TableWriter) {
    let (publication, [table]) =
        Publication::open(&buses.root(), "raw", &layout()).expect("no other process writes it");
    (publication, table)
}

fn join(buses: &Buses) -> Subscription<1> {
    Subscription::join(&buses.root(), "raw", ["latest"], false).expect("the bus is there")
}

#[test]
fn a_ring_without_room_for_a_message_is_refused_with_the_size_that_has_room() {
    let buses = Buses::new();
    let layout = |ring_bytes| Layout {
        ring_bytes,
        message_bytes_min: 60_009,
        ..layout()
    };
    let refused = Publication::open(&buses.root(), "raw", &layout(262_144));
    let refused = refused.expect_err("an eighth of it is the longest message");
    assert_eq!(
        refused.to_string(),
        "ring_bytes: a ring of 262144 bytes cannot hold the longest message of this bus, 60009 bytes; give 524288 or more"
    );
    Publication::open(&buses.root(), "raw", &layout(524_288)).expect("the size of the error");
}

/// Publishes a message of a key: the key, a value and noise of any length; its slot holds key and value.
fn publish(bus: &mut (Publication, TableWriter), key: u64, value: u64, random: &mut Random) {
    let noise: Vec<u8> = (0..random.below(40))
        .map(|_| random.below(256) as u8)
        .collect();
    let (publication, table) = bus;
    publication.stage(16 + noise.len(), |frame| {
        frame.put(&key);
        frame.put(&value);
        frame.put(&noise[..]);
        frame.finish();
    });
    let end = publication.staged().expect("it was staged").end;
    table.change(key as usize, end, |content| {
        content[0].store(key, Ordering::Relaxed);
        content[1].store(value, Ordering::Relaxed);
    });
    publication.release(END_OF_BATCH);
}

/// A reader's value of each key, with the position after it.
type Held = [Option<(u64, u64)>; SLOTS];

/// Reads the tables at join.
fn take_latest(subscription: &Subscription<1>) -> Held {
    std::array::from_fn(|slot| {
        let mut content = [0; 4];
        match subscription.latest(0, slot, &mut content) {
            Found::Content { position } => Some((content[1], position)),
            Found::Nothing => None,
            other => panic!("nobody writes meanwhile: {other:?}"),
        }
    })
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("it has 8 bytes"))
}

/// Reads the ring to its end; skips messages contained in the tables. Returns messages and losses.
fn follow(subscription: &mut Subscription<1>, held: &mut Held) -> (u64, u64) {
    let (mut taken, mut lost) = (0, 0);
    loop {
        let polled = subscription.poll(|message| {
            assert!(message.is_batch_end && message.bytes.len() >= 16);
            let (key, value) = (word(message.bytes, 0), word(message.bytes, 8));
            (key as usize, value, message.end)
        });
        match polled {
            Ok(Polled::Given((key, value, end))) => {
                taken += 1;
                if held[key].is_none_or(|(_, position)| position < end) {
                    held[key] = Some((value, end));
                }
            }
            Ok(Polled::Passed(_)) => {}
            Ok(Polled::Nothing) => return (taken, lost),
            Err(BusEvent::Overrun { messages, .. }) => {
                lost += messages;
                *held = take_latest(subscription);
            }
            Err(event) => panic!("nothing else happens: {event:?}"),
        }
    }
}

#[test]
fn joining_at_any_moment_gives_the_latest_value_of_each_key() {
    for seed in touchline_lab::random::seeds(16) {
        let mut random = Random::from_seed(seed);
        let buses = Buses::new();
        let mut bus = open(&buses);
        let (mut early, mut early_held) = (join(&buses), [None; SLOTS]);
        let (mut expected, mut published, mut seen) = ([None; SLOTS], 0, 0);
        for _ in 0..40 {
            for _ in 0..random.below(120) {
                let (key, value) = (random.below(SLOTS as u64), random.below(u64::MAX));
                publish(&mut bus, key, value, &mut random);
                expected[key as usize] = Some(value);
                published += 1;
            }
            let mut late = join(&buses);
            let mut late_held = take_latest(&late);
            follow(&mut late, &mut late_held);
            let (taken, lost) = follow(&mut early, &mut early_held);
            seen += taken + lost;
            for held in [&early_held, &late_held] {
                assert_eq!(
                    held.map(|held| held.map(|(value, _)| value)),
                    expected,
                    "SEED={seed}"
                );
            }
            assert_eq!(early.sequence_next(), published + 1, "SEED={seed}");
            assert_eq!(late.position(), early.position(), "SEED={seed}");
        }
        assert_eq!(seen, published, "SEED={seed}: each is read or told as lost");
    }
}

#[test]
fn another_publisher_is_reported_with_empty_tables() {
    let buses = Buses::new();
    let mut random = Random::from_seed(1);
    let mut bus = open(&buses);
    publish(&mut bus, 3, 33, &mut random);
    let (mut reader, mut held) = (join(&buses), [None; SLOTS]);
    assert_eq!(follow(&mut reader, &mut held), (1, 0));
    // A staged message that is not released does not exist.
    bus.0.stage(64, |frame| frame.put(&[7_u64; 8]));
    drop(bus);
    let mut bus = open(&buses);
    publish(&mut bus, 4, 44, &mut random);
    let event = loop {
        match reader.poll(|_| ()) {
            Err(BusEvent::PublisherGone) => {}
            Err(event) => break event,
            Ok(polled) => assert_eq!(polled.given(), None, "the staged one never was"),
        }
    };
    assert_eq!(event, BusEvent::Restarted { generation: 2 });
    assert_eq!(reader.generation(), 2);
    let mut held = take_latest(&reader);
    assert_eq!(held[3], None);
    follow(&mut reader, &mut held);
    assert_eq!(held[4].map(|(value, _)| value), Some(44));
}

/// A recorder of market data reads bytes: messages of the native format, in order.
#[test]
fn market_data_is_read_as_bytes() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    let mut market = Market::new(7, 4);
    let mut reader = Subscription::join(&buses.root(), "test", ["definitions"], false)
        .expect("the bus is there");
    market.define(&mut publisher);
    (0..20).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut content = [0; 64];
    assert!(matches!(
        reader.latest(0, 2, &mut content),
        Found::Content { .. }
    ));
    assert_eq!(reader.slots(0), 4);
    let mut messages = 0;
    while let Ok(Polled::Given(sequence)) = reader.poll(|message| {
        let parsed = native::Message::parse(message.bytes).expect("a message");
        assert_eq!(parsed.sequence(), message.sequence);
        let is_last = parsed.flags().has(native::Flags::END_OF_BATCH);
        assert_eq!(is_last, message.is_batch_end);
        if message.sequence == 3 {
            let native::Body::InstrumentDefinition(view) = parsed.body else {
                panic!("definitions come first");
            };
            assert_eq!(view.value(), definition(2));
        }
        message.sequence
    }) {
        messages += 1;
        assert_eq!(sequence, messages);
    }
    assert_eq!(messages, publisher.counters().messages_published);
}

#[test]
fn a_message_is_written_once_with_its_flags() {
    let buses = Buses::new();
    let (mut publication, _table) = open(&buses);
    let mut reader = join(&buses);
    publication.stage(11, |frame| {
        frame.put(b"eleven byte");
        frame.finish();
    });
    let staged = publication.staged().expect("it is staged");
    let words: Vec<u64> = staged.words().iter().map(load).collect();
    assert_eq!(words.len(), 2);
    assert_eq!(&words[1].to_le_bytes(), b"yte\0\0\0\0\0");
    assert_eq!(
        reader.poll(|_| ()),
        Ok(Polled::Nothing),
        "nobody sees it yet"
    );
    publication.release(Flags::default());
    let read = reader.poll(|message| (message.bytes.to_vec(), message.is_batch_end));
    assert_eq!(
        read,
        Ok(Polled::Given((b"eleven byte"[..].to_vec(), false)))
    );
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// A reader of an overwritten ring makes no endless progress: within a bound it finds no message, and then follows the next publisher.
#[test]
fn a_reader_of_an_overwritten_ring_stops_and_follows_the_next_publisher() {
    let first = touchline_lab::random::amount("SEED", 0);
    for seed in first..first + touchline_lab::random::amount("SEEDS", 60) {
        println!("seed {seed}");
        let mut random = Random::from_seed(seed);
        let buses = Buses::new();
        let mut bus = open(&buses);
        let mut subscription = join(&buses);
        let behind = random.below(3) * 150;
        for number in 0..behind {
            publish(&mut bus, number % SLOTS as u64, number, &mut random);
        }
        if random.chance(0.5) {
            // The start of this one is lost with the ring.
            drop(bus);
            bus = open(&buses);
            publish(&mut bus, 0, 0, &mut random);
        }
        buses.overwrite("raw/ring", &mut random, seed % 2 == 0);
        let idle = |subscription: &mut Subscription<1>| {
            let mut polls = (0..20_000).map(|_| subscription.poll(|_| ()));
            polls.any(|polled| matches!(polled, Ok(Polled::Nothing)))
        };
        assert!(idle(&mut subscription), "seed {seed}: progress without end");
        drop(bus);
        std::fs::remove_dir_all(buses.root().path().join("raw")).expect("our files");
        let mut bus = open(&buses);
        publish(&mut bus, 1, 7, &mut random);
        let until = Instant::now() + Duration::from_secs(10);
        let is_back = loop {
            match subscription.poll(|_| ()) {
                Err(BusEvent::Restarted { .. }) => break true,
                _ if Instant::now() > until => break false,
                _ => {}
            }
        };
        assert!(is_back, "seed {seed}: the next publisher is not followed");
    }
}

/// A registered subscription whose next publisher waits for no reader reads on, and says so; a bus that it may not read is reported once.
#[test]
fn a_registered_subscription_reports_a_publisher_that_does_not_wait_for_it() {
    let buses = Buses::new();
    let waits = Layout {
        lossless: Some(Lossless {
            readers_max: 1,
            wait_max: Duration::from_secs(60),
        }),
        ..layout()
    };
    let lossy = |ring_bytes| Layout {
        ring_bytes,
        ..layout()
    };
    let begin = |layout: &Layout<1>| {
        Publication::open(&buses.root(), "raw", layout).expect("no other process writes it")
    };
    for next in [lossy(4_096), lossy(8_192)] {
        let first = begin(&waits);
        let mut reader = Subscription::join(&buses.root(), "raw", ["latest"], true)
            .expect("the only place is free");
        drop(first);
        let _second = begin(&next);
        let mut events = Vec::new();
        until("the report", PATIENCE, || {
            events.extend(reader.poll(|_| ()).err());
            events.last() == Some(&BusEvent::NotWaitedFor)
        });
        let restarted = |event: &BusEvent| matches!(event, BusEvent::Restarted { .. });
        assert!(events.iter().any(restarted), "{events:?}");
    }
    let mut reader = join(&buses);
    let _third = begin(&lossy(16_384));
    let ring = buses.root().path().join("raw/ring");
    std::fs::set_permissions(&ring, Permissions::from_mode(0o666)).expect("our file");
    let mut is_refused = || reader.poll(|_| ()) == Err(BusEvent::Refused);
    until("a refusal", PATIENCE, &mut is_refused);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) {
        assert!(!is_refused(), "it is reported once");
    }
}
