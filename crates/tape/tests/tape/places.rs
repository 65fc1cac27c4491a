//! Reading from a place to a place gives the messages between them, with the books that the whole tape has there.

use crate::world::{BUS, Played, World, assert_equal, played};
use touchline_journal::format::kind;
use touchline_journal::records::{Gap, Stream};
use touchline_journal::verify;
use touchline_tape::{LastRun, ReadOptions, Reader, TapePlace, Taped};
use touchline_testing::random::Random;
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::Item;

/// A tape of several segments with an overrun, and the whole of it.
fn tape(seed: u64) -> (World, Played) {
    let mut world = World::recording(seed);
    world.record_hundreds(30);
    // More than the ring has.
    world.events(8_000);
    world.record_hundreds(30);
    world.close();
    let whole = world.played();
    assert!(world.segments() > 3);
    assert!(whole.lost > 0 && whole.sequences.len() > 2_000);
    (world, whole)
}

impl Played {
    /// Begin of the batch that has a message.
    fn batch_of(&self, at: usize) -> usize {
        let mut begins = (0..=at).rev().filter(|at| *at == 0 || self.is_end[*at - 1]);
        begins.next().expect("the first message begins one")
    }

    /// The first batch at or behind a message.
    fn begin_of_batch(&self, at: usize) -> usize {
        let mut ends = (at..self.is_end.len()).filter(|at| *at == 0 || self.is_end[*at - 1]);
        ends.next().unwrap_or(self.is_end.len())
    }
}

/// Messages of the whole tape from this one on.
fn tail(whole: &Played, first: usize) -> &[u64] {
    &whole.sequences[first..]
}

/// A recorder that was not running has stated so at the begin of its segment: a reader from there on has the loss.
#[test]
fn a_loss_at_the_place_is_of_the_tail() {
    for seed in 0..3 {
        let mut world = World::recording(seed);
        world.record_hundreds(5);
        world.close();
        let end = verify(&world.tape()).expect("a journal").position;
        world.events(300);
        world.record();
        world.record_hundreds(5);
        world.close();
        let whole = world.played();
        let place = Some(TapePlace::Position(end));
        let played = world.played_with(place, None);
        assert!(whole.lost > 0, "seed {seed}");
        assert_eq!(played.lost, whole.lost, "seed {seed}");
        assert!(
            matches!(played.events[0], SubscriptionEvent::Overrun { .. }),
            "{:?}",
            played.events
        );
        assert_equal(&played.books, &whole.books, "behind a loss");
    }
}

/// A reader that was given the publication before the place gets the restart to the one at the place; a loss there is stated, too.
#[test]
fn a_restart_before_the_place_is_not_swallowed() {
    for (has_loss, is_begun) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut world = World::recording(7);
        world.record_hundreds(5);
        if has_loss {
            world.close();
        }
        world.until_on_disk();
        let end = verify(&world.tape()).expect("a journal").position;
        let mut reader = world.reader_from(TapePlace::Position(end));
        // The place is not on the tape yet.
        if is_begun {
            let begun = reader.begin().expect("a tape").expect("a publication");
            assert_eq!(begun.generation, 1);
        }
        world.publisher = None;
        world.publish();
        match has_loss {
            true => world.record(),
            false => world.take_all(),
        }
        world.record_hundreds(5);
        world.close();
        if !is_begun {
            let begun = reader.begin().expect("a tape").expect("a publication");
            assert_eq!(begun.generation, 2, "that of the place");
        }
        let played = played(reader);
        let context = format!("{has_loss} {is_begun} {:?}", played.events);
        let mut expected = Vec::new();
        if is_begun {
            expected.push(SubscriptionEvent::Restarted { generation: 2 });
        }
        if has_loss {
            expected.push(SubscriptionEvent::Overrun {
                messages: 0,
                bytes: 0,
            });
        }
        expected.push(SubscriptionEvent::CaughtUp);
        assert_eq!(played.events, expected, "{context}");
        assert_equal(&played.books, &world.played().books, &context);
    }
}

#[test]
fn from_any_place_a_tape_gives_its_tail() {
    for seed in 0..3 {
        let (world, whole) = tape(seed);
        let mut random = Random::from_seed(seed);
        for _ in 0..20 {
            let at = random.below(whole.sequences.len() as u64) as usize;
            let sequence = whole.sequences[at];
            let played = world.played_with(Some(TapePlace::Sequence(sequence)), None);
            let at = whole.batch_of(at);
            assert_eq!(played.sequences, tail(&whole, at), "from {sequence}");
            assert_equal(&played.books, &whole.books, "from a sequence");
            assert_eq!(played.events[0], SubscriptionEvent::CaughtUp);
            let at_ns = whole.received_ns[at];
            let played = world.played_with(Some(TapePlace::Time(at_ns)), None);
            let first = whole.received_ns.iter().position(|ns| *ns >= at_ns);
            let first = whole.begin_of_batch(first.expect("it is there"));
            assert_eq!(played.sequences, tail(&whole, first), "from {at_ns} ns");
            assert_equal(&played.books, &whole.books, "from a time");
        }
    }
}

#[test]
fn two_parts_of_a_tape_are_the_whole() {
    let (world, whole) = tape(5);
    let mut random = Random::from_seed(5);
    for _ in 0..10 {
        let at = random.below(whole.sequences.len() as u64) as usize;
        let place = Some(TapePlace::Sequence(whole.sequences[at]));
        let (one, other) = (
            world.played_with(None, place),
            world.played_with(place, None),
        );
        assert_eq!([one.sequences, other.sequences].concat(), whole.sequences);
    }
    let beyond = Some(TapePlace::Sequence(u64::MAX));
    assert!(world.played_with(beyond, None).sequences.is_empty());
    assert_eq!(world.played_with(None, beyond).sequences, whole.sequences);
}

/// A schedule that waits for the time of each item waits for no message behind the part.
#[test]
fn a_part_has_no_time_of_the_message_behind_it() {
    let (world, whole) = tape(6);
    let mut random = Random::from_seed(6);
    for _ in 0..10 {
        let at = random.below(whole.sequences.len() as u64) as usize;
        for to in [
            TapePlace::Sequence(whole.sequences[at]),
            TapePlace::Time(whole.received_ns[at]),
        ] {
            let options = ReadOptions {
                to: Some(to),
                ..ReadOptions::default()
            };
            let mut reader = Reader::open_with(&world.tape(), options).expect("a tape");
            let mut sequences = Vec::new();
            while reader.next_ns().expect("a tape").is_some() {
                let polled = reader.poll(|item| match item {
                    Item::Update(update) if !update.is_image => sequences.push(update.sequence),
                    Item::Top { sequence, .. } => sequences.push(sequence),
                    _ => {}
                });
                let polled = polled.expect("a tape");
                assert!(
                    !matches!(polled, Taped::End),
                    "{to:?}: a time without an item"
                );
            }
            assert_eq!(reader.poll(|_| ()).expect("a tape"), Taped::End);
            assert_eq!(sequences, world.played_with(None, Some(to)).sequences);
        }
    }
}

/// A host that lost power while the descriptions of a segment were written: the buses whose description is missing are known from the segment
/// before it.
#[test]
fn a_tape_that_ends_within_the_descriptions_of_a_segment_has_all_buses() {
    let mut world = World::recording(7);
    world.record_hundreds(2);
    world.close();
    let mut market = None;
    touchline_journal::read(&world.tape(), false, |entry| {
        let stream = Stream::decode(entry.body).filter(|_| entry.head.kind == kind::STREAM);
        market = stream.or(market.take());
    })
    .expect("a tape");
    let market = market.expect("the stream of the bus");
    let name = market.name.replacen(BUS, "other", 1);
    let other = Stream {
        name,
        ..market.clone()
    }
    .encode();
    let gap = Gap {
        cause: Gap::NOT_RUNNING,
        first: 1,
        last: 9,
        count: 9,
        from_ns: 1,
        to_ns: 2,
    };
    world.segment_of(&[
        (1, kind::STREAM, market.encode()),
        (2, kind::STREAM, other.clone()),
        (2, kind::GAP, gap.encode().to_vec()),
    ]);
    let whole = world.last_run();
    assert_eq!(whole.buses(), [BUS, "other"]);
    // A run without buses describes those of the runs before.
    world.record_nothing();
    world.segment_of(&[(2, kind::STREAM, other)]);
    let last = world.last_run();
    assert_eq!((last.buses(), last.next_stream()), (whole.buses(), 3));
    let sequence = |of: &LastRun| of.of(BUS).map(|bus| bus.sequence);
    assert_eq!(sequence(&last), sequence(&whole));
}
