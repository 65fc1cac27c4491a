//! A subscriber of live books receives nothing else.

use crate::world::{Buses, mirror};
use touchline_transport::shm::{Item, Join, Received};
use touchline_transport::{Mirror, Subscribe};
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
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 6);
        let mut subscriber = buses.join(join());
        let mut mirror = mirror();
        let mut withheld = 0;
        for _ in 0..3_000 {
            match gateway.market.random.below(60) {
                0 => gateway.lose(),
                1 => gateway.natural(),
                2 => withheld += drain(&mut subscriber, &mut mirror),
                _ => gateway.event(),
            }
        }
        gateway.commit();
        withheld += drain(&mut subscriber, &mut mirror);
        gateway
            .market
            .assert_live_equal(&mirror, &format!("SEED={seed}"));
        assert!(
            withheld > 10,
            "SEED={seed}: {withheld} times are not enough to show anything"
        );
    }
}

#[test]
fn a_late_joiner_receives_only_live_books() {
    for seed in touchline_lab::random::seeds(16) {
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 6);
        for _ in 0..500 {
            match gateway.market.random.below(20) {
                0 => gateway.lose(),
                1 => gateway.natural(),
                _ => gateway.event(),
            }
        }
        gateway.commit();
        let (mut subscriber, mut mirror) = (buses.join(join()), mirror());
        drain(&mut subscriber, &mut mirror);
        gateway
            .market
            .assert_live_equal(&mirror, &format!("SEED={seed}"));
    }
}
