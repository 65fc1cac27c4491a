//! A subscriber of live books receives nothing else.

use crate::stage::{Market, Stage, mirror};
use touchline_transport::shm::{Item, Join, Received};
use touchline_transport::{Mirror, Publish, Subscribe};
use touchline_types::{Update, Validity};

fn join() -> Join {
    Join {
        live_only: true,
        ..Join::default()
    }
}

/// Reads everything, and fails at contents of a book that is not live.
fn drain(subscriber: &mut touchline_transport::shm::Subscriber, mirror: &mut Mirror) -> u64 {
    let mut withheld = 0;
    while subscriber
        .poll(|item| match item {
            Item::Update(Received {
                sequence,
                timestamps,
                update,
                ..
            }) => {
                match update {
                    Update::Book(book) => assert_eq!(book.validity, Validity::Live),
                    Update::BookSnapshot(book) => assert_eq!(book.validity, Validity::Live),
                    Update::State(state) => withheld += u64::from(state.validity != Validity::Live),
                    Update::Gap(_) => withheld += 1,
                    _ => {}
                }
                mirror.update(&touchline_transport::Envelope {
                    sequence,
                    timestamps: &timestamps,
                    update: &update,
                });
            }
            Item::Top { top, .. } => assert_eq!(top.validity, Validity::Live),
            Item::BatchEnd | Item::Undecoded(_) => {}
            Item::SubscriptionEvent(event) => mirror.event(&event),
        })
        .given()
        .is_some()
    {}
    withheld
}

#[test]
fn books_that_are_not_live_are_withheld_and_sent_completely_later() {
    for seed in touchline_lab::random::seeds(16) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 6);
        market.define(&mut publisher);
        let mut subscriber = stage.join(join());
        let mut mirror = mirror();
        let mut withheld = 0;
        for _ in 0..3_000 {
            match market.random.below(60) {
                0 => market.lose(&mut publisher),
                1 => market.natural(&mut publisher),
                2 => withheld += drain(&mut subscriber, &mut mirror),
                _ => market.event(&mut publisher),
            }
        }
        publisher.commit();
        withheld += drain(&mut subscriber, &mut mirror);
        market.assert_live_equal(&mirror, &format!("SEED={seed}"));
        assert!(
            withheld > 10,
            "SEED={seed}: {withheld} times are not enough to show anything"
        );
    }
}

#[test]
fn a_late_joiner_receives_only_live_books() {
    for seed in touchline_lab::random::seeds(16) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 6);
        market.define(&mut publisher);
        for _ in 0..500 {
            match market.random.below(20) {
                0 => market.lose(&mut publisher),
                1 => market.natural(&mut publisher),
                _ => market.event(&mut publisher),
            }
        }
        publisher.commit();
        let (mut subscriber, mut mirror) = (stage.join(join()), mirror());
        drain(&mut subscriber, &mut mirror);
        market.assert_live_equal(&mirror, &format!("SEED={seed}"));
    }
}
