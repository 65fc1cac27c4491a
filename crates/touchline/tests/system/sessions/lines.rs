//! R4: loss on one line changes no output.

use crate::sessions::path::{mirror_agrees, picture, run, subscriber};
use crate::sessions::watch::{Stream, Tops};
use crate::sessions::{same, same_books, seeds};
use touchline_feed::cme::{Counters, Join};
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Delivery, Fault, FaultPlan, deliver};
use touchline_lab::random::{Random, at_once};

#[test]
fn a_clean_session_gives_the_expected_books_exactly() {
    for seed in seeds(64) {
        let session = generate(&Options::varied(seed), seed);
        let delivery = deliver(&session, &FaultPlan::default(), seed);
        let path = run(&delivery.arrivals, Join::Snapshot, Tops::default());
        let picture = picture(&path, subscriber(&path).0.clone());
        same_books(&picture, &session.expected, &format!("seed {seed}"));
        same(
            &picture.tops_jsonl(),
            &session.expected.tops_jsonl(),
            &format!("tops, seed {seed}, {:?}", path.feed().counters()),
        );
        mirror_agrees(&path, &format!("seed {seed}"));
    }
}

/// Both lines lose, duplicate, reorder and delay independently, and every packet arrives on one of
/// them within the hold window: the published stream is that of the lossless run, byte for byte.
/// The counters of the path match the counts of the fault operators.
#[test]
fn loss_on_one_line_at_a_time_changes_nothing_that_is_published() {
    let packets = at_once(2, seeds(64), |seed| {
        let session = generate(&long(seed), seed);
        let clean = deliver(&session, &FaultPlan::default(), seed);
        let faulty = one_line_at_a_time(&session, seed);
        assert!(
            faulty.report.lost_on_both.is_empty(),
            "seed {seed}: the test loses too much"
        );
        let expected = run(&clean.arrivals, Join::Snapshot, Stream::default());
        let actual = run(&faulty.arrivals, Join::Snapshot, Stream::default());
        counters_add_up(actual.feed().counters(), &session, &faulty, seed);
        let (expected, actual) = (&subscriber(&expected).0, &subscriber(&actual).0);
        let differ = expected.iter().zip(actual).position(|(a, b)| a != b);
        if let Some(at) = differ {
            panic!(
                "seed {seed}, update {at}:\n expected {}\n actual   {}",
                expected[at], actual[at]
            );
        }
        assert_eq!(actual.len(), expected.len(), "seed {seed}");
        incremental(&faulty.arrivals)
    });
    let packets: u64 = packets.into_iter().sum();
    assert!(packets > 1000, "a test of {packets} packets shows nothing");
    println!("{packets} packets under loss on one line");
}

/// Each packet is counted once when it is received, delivered or discarded.
fn counters_add_up(counters: &Counters, session: &Session, delivery: &Delivery, seed: u64) {
    let received = counters.packets_a + counters.packets_b;
    assert_eq!(received, incremental(&delivery.arrivals), "seed {seed}");
    let sent = session
        .packets
        .iter()
        .filter(|packet| packet.feed == Feed::Incremental)
        .count() as u64;
    assert_eq!(
        counters.packets_delivered, sent,
        "seed {seed}: each packet once"
    );
    assert_eq!(counters.packets_lost, 0, "seed {seed}");
    let accounted = counters.packets_delivered
        + counters.packets_duplicate
        + counters.packets_late
        + counters.packets_old_epoch
        + counters.packets_implausible
        + counters.packets_invalid;
    assert_eq!(accounted, received, "seed {seed}: {counters:?}");
}

/// One packet far ahead must neither move the window nor empty a book.
#[test]
fn forged_packets_far_ahead_do_not_stop_the_channel() {
    for seed in seeds(32) {
        let session = generate(&long(seed), seed);
        let plan = FaultPlan::incremental([Fault::Forge {
            share: 0.01,
            ahead: 1 << 31,
        }]);
        let delivery = deliver(&session, &plan, seed);
        let forged: u64 = delivery.report.struck.values().sum();
        assert!(forged > 0, "seed {seed}: nothing was forged");
        let path = run(&delivery.arrivals, Join::Snapshot, Tops::default());
        let picture = picture(&path, Vec::new());
        same_books(&picture, &session.expected, &format!("seed {seed}"));
        mirror_agrees(&path, &format!("seed {seed}"));
    }
}

/// Without a sequence reset, after which gaps of the old epoch are given up at once. And without a
/// late definition: it is sent on two feeds, and delays decide which one is first.
pub fn long(seed: u64) -> Options {
    Options {
        weekly_resets: 0,
        renumber_after_channel_reset: false,
        late_definition: false,
        events: 8500,
        unknown_share: 0.02,
        ..Options::varied(seed)
    }
}

/// Loss, damage and reordering on one line only; duplicates and a short delay on both. The delay is
/// shorter than the pause after the first packet: a receiver that gets the second packet first has
/// joined late.
fn one_line_at_a_time(session: &Session, seed: u64) -> Delivery {
    let mut random = Random::from_seed(seed);
    let mut up_to = |percent: u64| random.below(percent + 1) as f64 / 100.0;
    let mut damage = FaultPlan::incremental([
        Fault::Drop { share: up_to(30) },
        Fault::DropBurst {
            share: up_to(1),
            packets_max: 500,
        },
        Fault::Corrupt { share: up_to(10) },
        Fault::Truncate { share: up_to(10) },
        Fault::Outage { packets: 100 },
        Fault::Reorder {
            share: up_to(20),
            by_max: 64,
        },
    ]);
    let disorder = FaultPlan::incremental([
        Fault::Duplicate { share: up_to(50) },
        Fault::Replay { share: up_to(5) },
        Fault::Delay {
            share: up_to(20),
            min_ns: 1_000,
            max_ns: 900_000,
        },
    ]);
    let line = *random.pick(&Line::BOTH);
    for rule in &mut damage.rules {
        rule.lines = vec![line];
    }
    deliver(session, &damage.then(disorder), seed)
}

fn incremental(arrivals: &[Arrival]) -> u64 {
    arrivals
        .iter()
        .filter(|arrival| arrival.feed == Feed::Incremental)
        .count() as u64
}
