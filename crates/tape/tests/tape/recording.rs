//! The recorded messages are read again: each once, in order, with the same books.

use crate::world::{BUS, World, assert_equal, snapshot, whole_order_book};
use std::time::{Duration, Instant};
use touchline_journal::format::kind;
use touchline_journal::records::Gap;
use touchline_tape::{Messages, ReadOptions, Reader, Retention, Settings, Taped};
use touchline_testing::PATIENCE;
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::{Item, Received};
use touchline_types::native::{self, Flags, Message};
use touchline_types::{Instrument, Timestamps, Update, Validity};

#[test]
fn a_tape_has_the_messages_and_books_of_the_bus() {
    for seed in 0..4 {
        let mut world = World::recording(seed);
        world.record_hundreds(40);
        let live = world.joined();
        world.close();
        let played = world.played();
        assert_equal(&played.books, &live, "the whole tape");
        assert_eq!(played.events, [SubscriptionEvent::CaughtUp]);
        assert_ascend(&played.sequences);
    }
}

/// A message of a newer schema is on the tape, and a reader passes over it and counts it.
#[test]
fn a_message_of_a_newer_schema_is_counted() {
    let mut world = World::recording(3);
    world.record_hundreds(2);
    let next = world.subscriber().next_sequence();
    let mut bytes = vec![0; native::HEARTBEAT_BYTES];
    let at = Timestamps::default();
    native::write_heartbeat(next, Flags::END_OF_BATCH, &at, &mut &mut bytes[..]);
    bytes[2..4].copy_from_slice(&999_u16.to_le_bytes());
    world.item(&Item::Undecoded(&bytes));
    world.close();
    let mut reader = Reader::open(&world.tape(), None).expect("a tape");
    while reader.poll(|_| ()).expect("a tape") != Taped::End {}
    assert_eq!(reader.unknown_messages(), 1);
}

/// Each segment begins with the state at its place.
#[test]
fn each_segment_is_read_alone() {
    let mut world = World::recording(7);
    world.record_hundreds(60);
    let live = world.joined();
    world.close();
    let last = world.segments();
    assert!(last > 3, "{last} segments");
    for segment in 1..=last {
        let played = world.played_from(segment);
        assert_equal(&played.books, &live, &format!("from segment {segment}"));
        assert_eq!(played.events, [SubscriptionEvent::CaughtUp]);
        assert_ascend(&played.sequences);
    }
}

/// An update of several messages is never divided by the state at the start of a segment: a reader from there has it whole, or in the state.
#[test]
fn a_segment_does_not_divide_an_update() {
    let mut world = World::recording(16);
    world.recorder.as_mut().expect("it records").is_flushed = true;
    for round in 0..60 {
        world.whole_order_book(round);
        world.take_all();
    }
    let live = world.joined();
    let counts = world.close();
    assert!(
        counts.record_messages >= 2 * 60,
        "the books have parts: {counts:?}"
    );
    let last = world.segments();
    assert!(last > 5, "{last} segments");
    for segment in 1..=last {
        let played = world.played_from(segment);
        assert_equal(&played.books, &live, &format!("from segment {segment}"));
    }
    assert_eq!(segments_of_whole_updates(&world), last);
}

/// The last segment with messages; none begins within an update.
fn segments_of_whole_updates(world: &World) -> u64 {
    let mut begun = 0;
    touchline_journal::read(&world.tape(), false, |entry| {
        if entry.head.kind == kind::MESSAGES && entry.segment > begun {
            begun = entry.segment;
            let first = Messages::of(entry.body).next().expect("a message");
            let message = Message::parse(first).expect("a native message");
            assert!(!message.flags().has(Flags::CONTINUED), "segment {begun}");
        }
    })
    .expect("a tape");
    begun
}

/// What happens between two parts of an update divides it neither.
#[test]
fn events_between_two_parts_leave_the_update_whole() {
    let mut world = World::new(17);
    world.publish();
    // Each tick is to begin a segment.
    world.record_with(Settings {
        segment_ns_max: Some(1),
        ..Settings::default()
    });
    world.events(20);
    world.take_all();
    let first = world.subscriber().next_sequence();
    let orders = whole_order_book(0);
    let update = Update::OrdersSnapshot(snapshot(&orders));
    let parts: Vec<_> = native::parts(&update, 8_192).collect();
    assert!(parts.len() > 3);
    for (number, part) in (0..).zip(&parts) {
        let mut bytes = vec![0; part.len()];
        part.write(
            first + number,
            Flags::END_OF_BATCH,
            &Timestamps::default(),
            &mut &mut bytes[..],
        );
        world.item(&match part.more {
            true => Item::Undecoded(&bytes),
            false => Item::Update(Received {
                sequence: first + number,
                timestamps: Timestamps::default(),
                update,
                batch_end: true,
                is_image: false,
                bytes: Some(&bytes),
            }),
        });
        for event in [
            SubscriptionEvent::PublisherStalled,
            SubscriptionEvent::CaughtUp,
            SubscriptionEvent::PublisherResumed,
        ] {
            world.item(&Item::SubscriptionEvent(event));
        }
        let now = world.now();
        world.recorder().tick(now).expect("a journal");
    }
    world.events(20);
    world.close();
    segments_of_whole_updates(&world);
    let played = world.played();
    let count = played.books.orders().len_of(Instrument(3));
    assert_eq!(count, orders.len(), "{:?}", played.events);
    assert_eq!(played.books.channel().price, Validity::Live);
}

/// A recorder that the publisher has overrun says how many messages are missing, and has the books again.
#[test]
fn an_overrun_is_a_gap_with_its_count() {
    let mut world = World::recording(8);
    world.events(200);
    world.take_all();
    world.events(6_000);
    world.take_all();
    world.events(200);
    world.take_all();
    let live = world.joined();
    let counts = world.close();
    let played = world.played();
    assert_equal(&played.books, &live, "after an overrun");
    let overruns = played.events.iter().filter_map(|event| match event {
        SubscriptionEvent::Overrun { messages, .. } => Some(*messages),
        _ => None,
    });
    let lost: u64 = overruns.sum();
    assert!(lost > 1_000, "{lost}");
    assert_eq!(
        (counts.record_gaps, counts.record_lost, played.lost),
        (1, lost, lost)
    );
}

#[test]
fn a_publisher_that_starts_again_is_another_publication() {
    let mut world = World::recording(9);
    world.events(300);
    world.take_all();
    world.publisher = None;
    world.take_all();
    world.publish();
    world.events(300);
    world.take_all();
    let live = world.joined();
    world.close();
    let played = world.played();
    assert_equal(&played.books, &live, "after a restart of the publisher");
    let restarts =
        |event: &&SubscriptionEvent| matches!(event, SubscriptionEvent::Restarted { .. });
    assert_eq!(played.events.iter().filter(restarts).count(), 1);
}

/// A bus that was removed and made again counts its publishers and messages from 1, and is another publication all the same.
#[test]
fn a_bus_that_is_made_again_is_another_publication() {
    let mut world = World::recording(14);
    world.events(300);
    world.close();
    world.publisher = None;
    std::fs::remove_dir_all(world.folder().join(BUS)).expect("our bus");
    world.publish();
    world.record();
    world.events(300);
    world.take_all();
    let live = world.joined();
    world.close();
    let played = world.played();
    assert_equal(&played.books, &live, "after another bus of the same name");
    let begins = played
        .sequences
        .windows(2)
        .filter(|pair| pair[1] <= pair[0]);
    assert_eq!(begins.count(), 1, "the second one begins with low numbers");
}

/// A run without its bus, and one with another bus, do not make the tape forget the stream before.
#[test]
fn streams_of_earlier_runs_keep_their_numbers() {
    let mut world = World::recording(15);
    world.events(100);
    world.close();
    world.record_nothing();
    world.record_nothing();
    world.record();
    world.events(100);
    world.take_all();
    let live = world.joined();
    world.close();
    let played = world.played();
    assert_equal(&played.books, &live, "after runs without a bus");
    assert_ascend(&played.sequences);
    let restarts =
        |event: &&SubscriptionEvent| matches!(event, SubscriptionEvent::Restarted { .. });
    assert_eq!(
        played.events.iter().filter(restarts).count(),
        0,
        "it is the same publication"
    );
    assert_ascend(&world.recorded());
}

/// A recorder that starts again states its gap, and no message is in the tape twice.
#[test]
fn a_recorder_that_starts_again_leaves_a_gap_and_repeats_nothing() {
    for killed in [false, true] {
        let mut world = World::recording(10);
        world.events(300);
        world.take_all();
        match killed {
            true => world.kill(),
            false => drop(world.close()),
        }
        world.events(50);
        world.record();
        world.events(300);
        world.take_all();
        let live = world.joined();
        world.close();
        let played = world.played();
        assert_equal(&played.books, &live, &format!("killed: {killed}"));
        assert_ascend(&played.sequences);
        let overruns =
            |event: &&SubscriptionEvent| matches!(event, SubscriptionEvent::Overrun { .. });
        assert_eq!(
            played.events.iter().filter(overruns).count(),
            1,
            "{:?}",
            played.events
        );
    }
}

/// A recorder that starts again behind a gap does not state the same messages as lost.
#[test]
fn lost_messages_are_stated_once_over_a_restart() {
    let mut world = World::recording(29);
    world.events(50);
    world.take_all();
    world.events(5_000);
    // The overrun, and no message behind it.
    world.take_some(1);
    let now = world.now();
    let counters = {
        let recording = world.recorder.take().expect("it records");
        recording.recorder.close(now, PATIENCE)
    };
    assert!(counters.expect("room").record_lost > 0);
    world.events(5_000);
    world.record();
    world.close();
    let mut gaps = Vec::new();
    touchline_journal::read(&world.tape(), false, |entry| {
        if entry.head.kind == kind::GAP {
            gaps.extend(Gap::decode(entry.body));
        }
    })
    .expect("a tape");
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    assert_eq!(gaps[1].first, gaps[0].last + 1, "{gaps:?}");
}

#[test]
fn a_segment_ends_by_its_age() {
    let mut world = World::new(11);
    world.publish();
    world.record_with(Settings {
        segment_ns_max: Some(1_000_000_000),
        ..Settings::default()
    });
    for _ in 0..4 {
        world.events(10);
        world.take_all();
        world.clock_ns += 1_100_000_000;
        let now = world.now();
        let recording = world.recorder.as_mut().expect("it records");
        recording.recorder.tick(now).expect("a journal");
        world.take_all();
    }
    let live = world.joined();
    world.close();
    assert_eq!(world.segments(), 5);
    for segment in 1..=5 {
        let played = world.played_from(segment);
        assert_equal(&played.books, &live, &format!("from segment {segment}"));
    }
}

/// The oldest segments go, the rest is read alone, and a holder keeps its part.
#[test]
fn a_limit_of_size_removes_the_oldest_segments() {
    let mut world = World::recording(13);
    world.record_hundreds(60);
    let live = world.joined();
    world.close();
    let tape = world.tape();
    let last = world.segments();
    let limit = |bytes| Retention {
        bytes_max: Some(bytes),
        ..Retention::default()
    };
    let all = touchline_journal::bytes_of_segments(&tape).expect("a tape");
    assert_eq!(limit(all).apply(&tape, |_| 0).expect("a tape"), 0);
    std::fs::create_dir(tape.join("holders")).expect("our folder");
    let hold = |position: u64| {
        let holder = tape.join("holders/export");
        std::fs::write(holder, position.to_le_bytes()).expect("our folder");
    };
    hold(0);
    assert_eq!(
        limit(0).apply(&tape, |_| 0).expect("a tape"),
        0,
        "it is held"
    );
    hold(u64::MAX);
    touchline_journal::compress(&tape).expect("a tape");
    let all = touchline_journal::bytes_of_segments(&tape).expect("a tape");
    let mut overtaken = Reader::open(&tape, None).expect("a tape");
    overtaken.begin().expect("its first records");
    let removed = limit(all - 1).apply(&tape, |_| 0).expect("a tape");
    assert!((1..last).contains(&removed), "{removed} of {last}");
    assert!(touchline_journal::bytes_of_segments(&tape).expect("a tape") < all);
    assert_equal(&world.played().books, &live, "the segments that are left");
    assert_eq!(world.segments(), last, "the tape is clean");
    limit(0).apply(&tape, |_| 0).expect("a tape");
    assert_equal(&world.played().books, &live, "the newest three segments");
    let names = std::fs::read_dir(&tape).expect("the tape").flatten();
    let cut = names.filter(|name| name.file_name().to_string_lossy().contains("cut"));
    assert_eq!(cut.count(), 0, "a compressed segment goes as a whole");
    let error = loop {
        match overtaken.poll(|_| ()) {
            Ok(Taped::Nothing | Taped::End) => panic!("it passes over the removed segments"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(
        error.to_string().contains("was removed before it was read"),
        "{error}"
    );
}

/// Books of a publisher that has ended are not live, for a reader of the tape as for one of the bus.
#[test]
fn the_end_of_a_publisher_is_in_the_tape() {
    let mut world = World::recording(12);
    world.events(100);
    world.take_all();
    world.publisher = None;
    let recording = world.recorder.as_mut().expect("it records");
    recording.subscriber.look_again();
    world.take_all();
    world.take_all();
    world.close();
    let played = world.played();
    let channel = *played.books.channel();
    assert_eq!(channel.price, Validity::Stale);
}

#[track_caller]
fn assert_ascend(sequences: &[u64]) {
    let wrong = sequences.windows(2).find(|pair| pair[1] <= pair[0]);
    assert_eq!(wrong, None);
}

/// A state that begins at the end of a segment goes on in the next one. A reader that begins there takes the whole state behind its rest.
#[test]
fn the_rest_of_a_state_is_not_a_state() {
    let mut divided = 0;
    for seed in 0..4 {
        let mut world = World::new(seed);
        world.publish();
        world.record_with(Settings {
            body_bytes_max: 4_096,
            ..Settings::default()
        });
        let mut round = 0;
        for _ in 0..12 {
            // The last ones are more than the ring has.
            for number in 0..10 + seed % 3 {
                let is_recorded = number < 1 + seed % 3;
                round += 1;
                world.whole_order_book(round);
                if is_recorded {
                    world.take_all();
                }
            }
            world.take_all();
        }
        let live = world.joined();
        world.close();
        let mut is_first = true;
        touchline_journal::read(&world.tape(), false, |entry| {
            is_first |= entry.head.kind == kind::BEGIN;
            if entry.head.kind == kind::DEFINITIONS && std::mem::take(&mut is_first) {
                let first = Messages::of(entry.body).next().expect("a message");
                let message = Message::parse(first).expect("a native message");
                divided += u64::from(!matches!(message.body, native::Body::Channel(_)));
            }
        })
        .expect("a tape");
        for segment in 1..=world.segments() {
            let played = world.played_from(segment);
            if !played.events.is_empty() {
                assert_equal(&played.books, &live, &format!("from segment {segment}"));
            }
        }
    }
    assert!(divided > 0, "no segment begins within a state");
}

/// The state of a join that was behind the tables has the number of the last message that is in it.
#[test]
fn the_state_of_a_join_has_the_number_of_its_last_message() {
    let mut world = World::new(21);
    world.publish();
    world.events(50);
    world.record();
    let next = world.subscriber().next_sequence();
    world.close();
    let mut numbers = Vec::new();
    touchline_journal::read(&world.tape(), false, |entry| {
        if entry.head.kind == kind::DEFINITIONS
            && let Some(first) = Messages::of(entry.body).next()
        {
            numbers.push(Message::parse(first).expect("a message").sequence());
        }
    })
    .expect("a tape");
    assert_eq!(numbers.first(), Some(&(next - 1)), "{numbers:?}");
}

/// A recorder whose bus is never idle has the state again after an overrun.
#[test]
fn a_recorder_of_a_busy_bus_has_the_state_after_an_overrun() {
    let mut world = World::recording(22);
    world.events(6_000);
    for _ in 0..60 {
        world.take_some(20);
        world.events(20);
    }
    assert_eq!(world.recorder().counters().record_gaps, 1);
    // Closing would find the bus idle.
    world.kill();
    let events = world.played().events;
    let after = events
        .iter()
        .skip_while(|event| !matches!(event, SubscriptionEvent::Overrun { .. }));
    let caught_up = after.filter(|event| **event == SubscriptionEvent::CaughtUp);
    assert_eq!(caught_up.count(), 1, "{events:?}");
}

/// The time in which a recorder may come back begins with its end, also for a reader that did not see it come back before.
#[test]
fn a_recorder_that_ends_again_is_waited_for_from_then_on() {
    let wait = Duration::from_secs(2);
    let mut world = World::recording(44);
    world.record_hundreds(1);
    let options = ReadOptions {
        recorder_wait: wait,
        ..ReadOptions::default()
    };
    let mut reader = Reader::open_with(&world.tape(), options).expect("a tape");
    // More polls than from one look at the recorder to the next.
    let mut looks = || {
        let mut without = 0;
        while without < 300 {
            match reader.poll(|_| ()).expect("a tape") {
                Taped::Given(()) | Taped::Passed => without = 0,
                Taped::Nothing => without += 1,
                Taped::End => return false,
            }
        }
        true
    };
    assert!(looks());
    world.kill();
    let away = Instant::now();
    assert!(looks());
    world.record();
    world.record_hundreds(1);
    world.close();
    std::thread::sleep((away + wait).saturating_duration_since(Instant::now()));
    assert!(looks(), "it has ended less than {wait:?} ago");
}
