//! Joining at any moment gives the books of that moment, and everything after it once.

use crate::stage::{Market, Stage, counts, mirror};
use touchline_transport::shm::{Item, Join};
use touchline_transport::{Notice, Publish};
use touchline_types::{Instrument, Side, Update};

#[test]
fn whoever_joins_at_any_moment_holds_the_publishers_books() {
    for seed in touchline_lab::random::seeds(8) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 5);
        market.define(&mut publisher);
        let mut readers = Vec::new();
        for event in 0..4_000 {
            if event % 500 == 0 {
                readers.push((event, stage.join(Join::default()), mirror()));
            }
            match market.random.below(200) {
                0 => market.lose(&mut publisher),
                1 => market.reset(&mut publisher),
                _ => market.event(&mut publisher),
            }
            if event % 7 == 0 {
                for (_, subscriber, mirror) in &mut readers {
                    subscriber.drain(usize::MAX, mirror);
                }
            }
        }
        publisher.commit();
        readers.push((4_000, stage.join(Join::default()), mirror()));
        for (joined, subscriber, mirror) in &mut readers {
            while subscriber.drain(usize::MAX, mirror) > 0 {}
            market.assert_equal(mirror, &format!("SEED={seed}, joined at event {joined}"));
        }
        assert_eq!(counts(&publisher).images_cut, 0);
    }
}

/// Images are read while the publisher goes on, so they are ahead of the ring by different amounts,
/// with losses and resets in between.
#[test]
fn joining_slowly_while_everything_changes_ends_with_the_publishers_books() {
    for seed in touchline_lab::random::seeds(60) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 12);
        market.define(&mut publisher);
        (0..300).for_each(|_| market.event(&mut publisher));
        let mut subscriber = stage.join(Join::default());
        let mut mirror = mirror();
        for _ in 0..400 {
            subscriber.drain(1, &mut mirror);
            match market.random.below(12) {
                0 => market.lose(&mut publisher),
                1 => market.reset(&mut publisher),
                _ => market.event(&mut publisher),
            }
        }
        publisher.commit();
        while subscriber.drain(usize::MAX, &mut mirror) > 0 {}
        market.assert_equal(&mirror, &format!("SEED={seed}"));
    }
}

#[test]
fn definitions_come_first_then_books_then_the_stream() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(1, 3);
    market.define(&mut publisher);
    (0..2_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut subscriber = stage.join(Join::default());
    let mut told = String::new();
    while let Some(letter) = subscriber.poll(|item| match item {
        Item::Update(received) => match (received.update, received.is_image) {
            (Update::Definition(_), true) => 'd',
            (Update::BookSnapshot(_), true) => 'b',
            (_, true) => '?',
            (_, false) => '.',
        },
        Item::Top { .. } => '.',
        Item::BatchEnd => '|',
        Item::Notice(Notice::CaughtUp) => '!',
        Item::Notice(_) => '?',
    }) {
        told.push(letter);
    }
    let stream = told.strip_prefix("dbdbdb").expect(&told);
    assert!(
        stream.ends_with('!') && !stream.contains(['?', 'd', 'b']),
        "{told}"
    );
    market.event(&mut publisher);
    publisher.commit();
    assert!(
        subscriber
            .poll(|item| matches!(item, Item::Update(_) | Item::Top { .. }))
            .unwrap()
    );
}

#[test]
fn a_filter_lets_its_instruments_through_and_ends_each_batch() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(2, 4);
    let join = || Join {
        filter: Some(Box::new(|definition| definition.symbol.as_str() == "SYM2")),
        ..Join::default()
    };
    let (mut early, mut mirror_of_early) = (stage.join(join()), mirror());
    market.define(&mut publisher);
    (0..500).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let (mut late, mut mirror_of_late) = (stage.join(join()), mirror());
    early.drain(usize::MAX, &mut mirror_of_early);
    late.drain(usize::MAX, &mut mirror_of_late);
    for mirror in [&mirror_of_early, &mirror_of_late] {
        assert_eq!(mirror.misfits(), 0);
        market.assert_one_equal(mirror, Instrument(2), "wanted");
        for other in [0, 1, 3].map(Instrument) {
            assert!(
                mirror
                    .book(other)
                    .is_none_or(|book| book.best(Side::Bid).is_none()),
                "{other:?}"
            );
        }
    }
}
