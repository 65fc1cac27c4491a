//! R5: loss on both lines is detected, reported and recovered.

use crate::sessions::path::{
    Path, channel, mirror_agrees, path, picture, run, settings, subscriber,
};
use crate::sessions::watch::{History, Tops, hash_of};
use crate::sessions::{same_books, seeds};
use std::collections::{HashMap, HashSet};
use touchline_feed::cme::{Join, Line::B};
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Delivery, Fault, FaultPlan, Rule, deliver};
use touchline_lab::random::Random;

/// After the faults stop and complete snapshot cycles have arrived, every book is live and correct;
/// every top printed before was correct.
#[test]
fn books_recover_and_no_wrong_book_is_published() {
    let (mut lost, mut recovered) = (0, 0);
    for seed in seeds(64) {
        let session = generate(&Options::varied(seed), seed);
        let delivery = everything_at_once(&session, seed);
        lost += delivery.report.lost_on_both.len();
        let path = run(&delivery.arrivals, Join::Snapshot, Tops::default());
        recovered += path.feed().counters().snapshots_used;
        let picture = picture(&path, subscriber(&path).0.clone());
        same_books(&picture, &session.expected, &format!("seed {seed}"));
        let expected_books: HashSet<_> = session
            .expected
            .tops_jsonl()
            .lines()
            .map(str::to_owned)
            .collect();
        for top in picture.tops_jsonl().lines() {
            assert!(
                expected_books.contains(top),
                "seed {seed}: {top} was never true"
            );
        }
        mirror_agrees(&path, &format!("seed {seed}"));
    }
    assert!(
        lost > 0 && recovered > 0,
        "{lost} packets lost, {recovered} books recovered: no test"
    );
    println!("{lost} packets lost on both lines, {recovered} books recovered");
}

/// Every book that a subscriber has as live is one of the venue's: at the end of an event the book
/// of that event, after recovery one of its books.
#[test]
fn no_wrong_book_is_ever_live() {
    let mut checked = 0;
    for seed in seeds(64) {
        let session = generate(&Options::varied(seed), seed);
        let clean = deliver(&session, &FaultPlan::default(), seed);
        let (lossless, between) = every_book(&clean.arrivals);
        let expected_books = subscriber(&lossless);
        let faulty = run(
            &everything_at_once(&session, seed).arrivals,
            Join::Snapshot,
            History::default(),
        );
        let seen = subscriber(&faulty);
        checked += seen.live;
        for claim in &seen.claims {
            assert!(
                is_right(claim, expected_books, &between),
                "seed {seed}: a wrong book is called live: {claim:?}"
            );
        }
    }
    assert!(checked > 1000, "only {checked} live books were seen");
    println!("{checked} claims of live books checked");
}

/// Whether a live book is one of the venue's.
pub fn is_right(
    (security_id, event_end, state): &(i64, Option<u64>, u64),
    expected_books: &History,
    between: &HashMap<i64, HashSet<u64>>,
) -> bool {
    let known = match event_end {
        Some(sending_ns) => expected_books.by_packet.get(&(*security_id, *sending_ns)),
        None => between.get(security_id),
    };
    known.is_some_and(|states| states.contains(state))
}

/// Natural refresh shows fewer levels, never wrong ones: known levels are levels of the expected
/// book.
#[test]
fn natural_refresh_recovers_books() {
    for seed in seeds(64) {
        let session = generate(&Options::varied(seed), seed);
        let delivery = everything_at_once(&session, seed);
        let path = run(&delivery.arrivals, Join::Natural, Tops::default());
        let picture = picture(&path, Vec::new());
        same_books(&picture, &session.expected, &format!("seed {seed}"));
        mirror_agrees(&path, &format!("seed {seed}"));
    }
}

/// Loss on one line and on both, bursts, an outage, damage, reordering, a late join, on all feeds
/// except the definitions: without its definition a book has the default depth, by the rules.
pub fn everything_at_once(session: &Session, seed: u64) -> Delivery {
    let mut plan = FaultPlan::all_feeds([
        Fault::Drop {
            share: Random::from_seed(seed).below(31) as f64 / 100.0,
        },
        Fault::DropOnAllLines {
            share: 0.01,
            packets_max: 20,
        },
        Fault::Corrupt { share: 0.02 },
        Fault::Truncate { share: 0.02 },
        Fault::Duplicate { share: 0.2 },
        Fault::Reorder {
            share: 0.1,
            by_max: 8,
        },
        Fault::Delay {
            share: 0.05,
            min_ns: 1_000,
            max_ns: 60_000_000,
        },
        Fault::Outage { packets: 60 },
    ]);
    let heard = |rule: &mut Rule| rule.feeds.retain(|feed| *feed != Feed::Definitions);
    plan.rules.iter_mut().for_each(heard);
    let late = FaultPlan::incremental([Fault::JoinLate { share: 0.3 }]);
    let plan = if seed.is_multiple_of(3) {
        late.then(plan)
    } else {
        plan
    };
    deliver(session, &plan, seed)
}

/// A run with every book that the venue had between two packets or events: a snapshot may show any
/// of them.
pub fn every_book(arrivals: &[Arrival]) -> (Path<History>, HashMap<i64, HashSet<u64>>) {
    let mut path = path(settings(Join::Snapshot), History::default());
    let mut books: HashMap<i64, HashSet<u64>> = HashMap::new();
    for arrival in arrivals.iter().filter(|arrival| arrival.line == Line::A) {
        // Its copy arrives at once, as confirmation of a sequence reset.
        let (feed, line) = channel(arrival);
        path.packet((feed, line), &arrival.payload, arrival.time_ns, 0);
        path.packet((feed, B), &arrival.payload, arrival.time_ns, 0);
        for instrument in path.instruments().iter() {
            let security_id = path.instruments().definition(instrument).security_id;
            let book = hash_of(path.prices().get(instrument));
            // Every book was empty once, if only for a part of the packet with its definition.
            let seen = books
                .entry(security_id)
                .or_insert_with(|| [hash_of(None)].into());
            seen.insert(book);
        }
    }
    path.finish();
    // One packet may contain several events, and so books from between them.
    for ((security_id, _), states) in &subscriber(&path).by_packet {
        books.entry(*security_id).or_default().extend(states);
    }
    (path, books)
}
