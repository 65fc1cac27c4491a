//! The disk fails, and the ring of the recorder is lost with it: what the tape lacks is a gap.

use crate::world::{World, assert_equal, is_live};
use touchline_journal::format::kind;
use touchline_journal::records::Gap;
use touchline_testing::random::seeds;
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::Item;

/// What the lost records are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Messages of a stream that the tape has.
    Messages,
    /// A whole run, which had continued the stream of the run before.
    Run,
    /// A whole run, and its stream was new.
    Stream,
    /// Messages of a stream, and the stream of the next publisher.
    Restart,
}

fn cuts(world: &World) -> Vec<Gap> {
    let mut cuts = Vec::new();
    touchline_journal::read(&world.tape(), false, |entry| {
        let gap = Gap::decode(entry.body).filter(|_| entry.head.kind == kind::GAP);
        cuts.extend(gap.filter(|gap| gap.cause == Gap::CUT));
    })
    .expect("a tape");
    cuts
}

#[test]
fn what_is_lost_with_the_ring_is_a_gap() {
    for seed in seeds(3) {
        for lost in [Lost::Messages, Lost::Run, Lost::Stream, Lost::Restart] {
            // Also a gap that is lost again.
            for failures in [1, 2] {
                lose(seed, lost, failures);
            }
        }
    }
}

fn lose(seed: u64, lost: Lost, failures: usize) {
    let mut world = World::new(seed);
    let copy = world.folder().join("copy");
    world.publish();
    match lost {
        Lost::Stream => world.record_nothing(),
        _ => {
            world.record();
            world.record_hundreds(3);
        }
    }
    if lost == Lost::Run {
        world.close();
    }
    world.copy_to(&copy);
    let found = world.recorded().last().copied().unwrap_or(0);
    match lost {
        Lost::Run | Lost::Stream => world.record(),
        Lost::Messages | Lost::Restart => {}
    }
    world.record_hundreds(1);
    if lost == Lost::Restart {
        world.publisher = None;
        world.publish();
        world.take_all();
        world.record_hundreds(1);
    }
    let last = world.subscriber().next_sequence() - 1;
    for _ in 0..failures {
        world.lose_since(&copy);
    }
    world.record_hundreds(1);
    let counters = world.close();
    let context = format!("{lost:?}, {failures} failures");
    let cuts = cuts(&world);
    assert_eq!(cuts.len(), 1, "{context}: {cuts:?}");
    let Gap {
        first,
        last: stated,
        count,
        ..
    } = cuts[0];
    assert_eq!(stated, last, "{context}");
    match lost {
        Lost::Restart => assert_eq!((first, count), (0, Gap::UNKNOWN), "{context}"),
        Lost::Stream => assert_eq!(count, last - first + 1, "{context}"),
        Lost::Messages | Lost::Run => {
            assert_eq!((first, count), (found + 1, last - found), "{context}");
        }
    }
    assert!(count > 0 && counters.record_gaps > 0, "{context}");
    let books = world.joined();
    assert_equal(&world.played().books, &books, &context);
}

/// That a publisher has gone, or works again, has no number: a gap says that it was lost, and the state of the channel follows.
#[test]
fn a_change_of_the_publisher_that_is_lost_with_the_ring_is_a_gap() {
    for (seed, event) in [
        (1, SubscriptionEvent::PublisherGone),
        (2, SubscriptionEvent::PublisherResumed),
    ] {
        let mut world = World::recording(seed);
        world.record_hundreds(3);
        if event == SubscriptionEvent::PublisherResumed {
            world.item(&Item::SubscriptionEvent(
                SubscriptionEvent::PublisherStalled,
            ));
            world.flush();
        }
        let copy = world.folder().join("copy");
        world.copy_to(&copy);
        world.item(&Item::SubscriptionEvent(event));
        world.flush();
        world.lose_since(&copy);
        world.close();
        let cuts = cuts(&world);
        assert_eq!(cuts.len(), 1, "{event:?}: {cuts:?}");
        assert_eq!((cuts[0].first, cuts[0].count), (0, 0), "{event:?}");
        let works = event == SubscriptionEvent::PublisherResumed;
        assert_eq!(is_live(&world.played().books), works, "{event:?}");
    }
}

/// Another journal has its own positions: what it loses has a number, also below those of the journal before.
#[test]
fn another_journal_has_its_own_positions() {
    let mut world = World::recording(5);
    world.record_hundreds(3);
    world.publisher = None;
    world.publish();
    world.take_all();
    let (copy, empty) = (world.folder().join("copy"), world.folder().join("empty"));
    // As the recorder makes a directory, for its user alone.
    let mut private = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    private.create(&empty).expect("our folder");
    world.lose_since(&empty);
    world.record_hundreds(1);
    world.copy_to(&copy);
    let found = world.recorded().last().copied().expect("messages");
    world.record_hundreds(1);
    let last = world.subscriber().next_sequence() - 1;
    world.lose_since(&copy);
    world.close();
    let lost: Vec<_> = cuts(&world)
        .iter()
        .map(|gap| (gap.first, gap.count))
        .collect();
    assert_eq!(lost, [(found + 1, last - found)]);
}

/// The journal is opened again while messages of a publisher wait that another one has followed: readers have them.
#[test]
fn messages_that_wait_during_a_restart_are_of_their_stream() {
    let mut world = World::recording(7);
    world.record_hundreds(2);
    let copy = world.folder().join("copy");
    world.copy_to(&copy);
    world.events(100);
    world.restart_without_journal();
    world.lose_since(&copy);
    world.record_hundreds(1);
    world.close();
    let played = world.played();
    assert_eq!(played.sequences, world.recorded());
    let restarts =
        |event: &&SubscriptionEvent| matches!(event, SubscriptionEvent::Restarted { .. });
    assert_eq!(played.events.iter().filter(restarts).count(), 1);
}
