//! The reference handler on generated sessions, without and with every fault, compared with the expected books of the
//! generator.
//!
//! A failure prints its seed; `SEED=n` runs only this seed, `SEEDS=n` runs n seeds of each kind.

use std::collections::{HashMap, HashSet};
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_lab::picture::{BookRow, OrdersRow, Picture, State};
use touchline_lab::random::seeds;
use touchline_lab::reference::cme::{Flaw, Handler, Settings, packet, run};

#[test]
fn a_session_depends_on_its_seed_alone() {
    let options = Options::varied(1);
    assert_eq!(generate(&options, 1), generate(&options, 1));
    assert_ne!(generate(&options, 1), generate(&options, 2));
}

#[test]
fn clean_sessions_are_reproduced_exactly() {
    for seed in seeds(40) {
        let session = generate(&Options::varied(seed), seed);
        let delivery = deliver(&session, &FaultPlan::default(), seed);
        let picture = run(&delivery.arrivals, Settings::default());
        same(
            seed,
            "books",
            &picture.books_jsonl(),
            &session.expected.books_jsonl(),
        );
        same(
            seed,
            "orders",
            &picture.orders_jsonl(),
            &session.expected.orders_jsonl(),
        );
        same(
            seed,
            "tops",
            &picture.tops_jsonl(),
            &session.expected.tops_jsonl(),
        );
    }
}

/// Loss on one line costs no book: the other line has the lost packet in time.
#[test]
fn faults_on_one_line_only_change_nothing() {
    for seed in seeds(40) {
        let session = generate(&Options::varied(seed), seed);
        let mut plan = FaultPlan::all_feeds([
            Fault::DropBurst {
                share: 0.05,
                packets_max: 50,
            },
            Fault::Corrupt { share: 0.1 },
            Fault::Truncate { share: 0.05 },
            Fault::Duplicate { share: 0.3 },
            Fault::Replay { share: 0.1 },
        ]);
        plan.rules
            .iter_mut()
            .for_each(|rule| rule.lines.truncate(1));
        let delivery = deliver(&session, &plan, seed);
        assert!(delivery.report.lost_on_both.is_empty(), "seed {seed}");
        let picture = run(&delivery.arrivals, Settings::default());
        same(
            seed,
            "books",
            &picture.books_jsonl(),
            &session.expected.books_jsonl(),
        );
        same(
            seed,
            "orders",
            &picture.orders_jsonl(),
            &session.expected.orders_jsonl(),
        );
        same(
            seed,
            "tops",
            &picture.tops_jsonl(),
            &session.expected.tops_jsonl(),
        );
    }
}

#[test]
fn books_are_correct_during_and_after_recovery() {
    let mut lost = 0;
    for seed in seeds(200) {
        // Definitions are known from the start: a book without one is kept to the default depth, which may be wrong.
        let options = Options {
            late_definition: false,
            ..Options::varied(seed)
        };
        let session = generate(&options, seed);
        let delivery = deliver(&session, &hard_plan(seed, &BOOK_FEEDS), seed);
        lost += delivery.report.lost_on_both.len();
        let picture = run(&delivery.arrivals, Settings::default());
        assert_eq!(difference(&session, &picture), None, "seed {seed}");
    }
    assert!(
        lost > 0,
        "no packet was lost on both lines, so nothing was tested"
    );
}

#[test]
fn books_are_correct_after_late_definitions() {
    for seed in seeds(100) {
        let session = generate(&Options::varied(seed), seed);
        let delivery = deliver(&session, &hard_plan(seed, &Feed::ALL), seed);
        let mut picture = run(&delivery.arrivals, Settings::default());
        picture.tops.clear();
        assert_eq!(difference(&session, &picture), None, "seed {seed}");
    }
}

/// A live book is a book that the market really had, and is at most as old as the processed packets.
#[test]
fn a_live_book_is_never_wrong() {
    let mut checked = 0;
    for seed in seeds(30) {
        let options = Options {
            late_definition: false,
            events: 200,
            ..Options::varied(seed)
        };
        let session = generate(&options, seed);
        let expected_books = history(&session);
        let delivery = deliver(&session, &hard_plan(seed, &BOOK_FEEDS), seed);
        let mut handler = Handler::new(Settings::default());
        for arrival in &delivery.arrivals {
            handler.arrive(arrival);
            for row in live_rows(&handler.picture()) {
                let last_ns = expected_books.get(&row).copied();
                let last_ns = last_ns.unwrap_or_else(|| panic!("seed {seed}: never was: {row}"));
                assert!(
                    last_ns >= handler.processed_ns(),
                    "seed {seed}: outdated: {row}"
                );
                checked += 1;
            }
        }
    }
    assert!(
        checked > 1_000,
        "only {checked} live rows were seen, so little was tested"
    );
}

/// Every row of books and orders that a subscriber without losses sees, with the SendingTime of the last packet that
/// left it standing.
fn history(session: &Session) -> HashMap<String, u64> {
    let mut handler = Handler::new(Settings::default());
    let (mut rows, mut definitions) = (HashMap::new(), Vec::new());
    for sent in &session.packets {
        // Its copy comes at once: one line alone is in order, and no packet waits for confirmation.
        let copies = Line::BOTH.map(|line| Arrival {
            time_ns: sent.time_ns,
            feed: sent.feed,
            line,
            payload: sent.payload.clone(),
        });
        if sent.feed == Feed::Incremental && sent.sequence == 1 {
            // A new numbering is believed some packets late; one that begins with it is seen packet by packet.
            handler = Handler::new(Settings::default());
            definitions.iter().for_each(|known| handler.arrive(known));
            let sending_time = packet::read(&sent.payload).map(|packet| packet.sending_time);
            let empty = empty_rows(&handler.picture());
            rows.extend(
                empty
                    .into_iter()
                    .map(|row| (row, sending_time.unwrap_or(0))),
            );
        }
        copies.iter().for_each(|copy| handler.arrive(copy));
        if sent.feed == Feed::Definitions {
            let [copy, _] = copies;
            definitions.push(copy);
        }
        let mut picture = handler.picture();
        if picture.orders.is_empty() {
            // Orders show only once there was one; until then every instrument has none.
            picture.orders = picture.books.iter().map(no_orders).collect();
        }
        let now = live_rows(&picture);
        rows.extend(now.into_iter().map(|row| (row, handler.processed_ns())));
    }
    rows
}

/// Rows of every book at the start of an epoch: empty.
fn empty_rows(picture: &Picture) -> Vec<String> {
    let mut empty = picture.clone();
    empty
        .books
        .iter_mut()
        .for_each(|book| book.state = State::Live);
    empty.orders = empty.books.iter().map(no_orders).collect();
    live_rows(&empty)
}

fn no_orders(book: &BookRow) -> OrdersRow {
    let BookRow {
        security_id, state, ..
    } = *book;
    OrdersRow {
        security_id,
        symbol: book.symbol.clone(),
        state,
        bids: vec![],
        asks: vec![],
    }
}

fn live_rows(picture: &Picture) -> Vec<String> {
    let text = picture.books_jsonl() + &picture.orders_jsonl();
    text.lines()
        .filter(|row| row.contains("\"state\":\"live\""))
        .map(String::from)
        .collect()
}

/// Lost resets are noticed, unless RptSeq happens to go on at the old number; on these seeds it does not.
#[test]
fn books_are_correct_after_lost_resets() {
    for seed in seeds(60) {
        let options = Options {
            spare_resets: false,
            late_definition: false,
            ..Options::varied(seed)
        };
        let session = generate(&options, seed);
        let delivery = deliver(&session, &hard_plan(seed, &BOOK_FEEDS), seed);
        let picture = run(&delivery.arrivals, Settings::default());
        assert_eq!(difference(&session, &picture), None, "seed {seed}");
    }
}

#[test]
fn books_are_correct_after_natural_refresh() {
    for seed in seeds(40) {
        let session = generate(&Options::varied(seed), seed);
        let delivery = deliver(&session, &hard_plan(seed, &BOOK_FEEDS), seed);
        let settings = Settings {
            natural: true,
            ..Settings::default()
        };
        let mut picture = run(&delivery.arrivals, settings);
        // Tops of a book that is still being filled differ from the expected ones.
        picture.tops.clear();
        assert_eq!(difference(&session, &picture), None, "seed {seed}");
    }
}

#[test]
fn a_forged_sequence_number_does_not_stop_the_channel() {
    for seed in seeds(20) {
        let session = generate(&Options::varied(seed), seed);
        for ahead in [1 << 31, 5_000] {
            let plan = FaultPlan::incremental([Fault::Forge { share: 0.01, ahead }]);
            let delivery = deliver(&session, &plan, seed);
            let mut picture = run(&delivery.arrivals, Settings::default());
            picture.tops.clear();
            assert_eq!(
                difference(&session, &picture),
                None,
                "seed {seed}, {ahead} ahead"
            );
        }
    }
}

/// The comparisons above would notice a broken handler.
#[test]
fn each_injected_defect_is_detected_on_some_seed() {
    for flaw in Flaw::ALL {
        let settings = Settings {
            flaw: Some(flaw),
            ..Settings::default()
        };
        let noticed = (0..40).any(|seed| {
            let session = generate(&Options::varied(seed), seed);
            let clean = run(
                &deliver(&session, &FaultPlan::default(), seed).arrivals,
                settings,
            );
            let hard = run(
                &deliver(&session, &hard_plan(seed, &BOOK_FEEDS), seed).arrivals,
                settings,
            );
            clean.tops_jsonl() != session.expected.tops_jsonl()
                || difference(&session, &clean).is_some()
                || difference(&session, &hard).is_some()
        });
        assert!(noticed, "{flaw:?} went unnoticed on 40 seeds");
    }
}

/// The feeds that change books.
const BOOK_FEEDS: [Feed; 3] = [Feed::Incremental, Feed::Snapshot, Feed::OrderSnapshot];

/// Everything that can go wrong without a forger, on both lines.
fn hard_plan(seed: u64, feeds: &[Feed]) -> FaultPlan {
    let late_join = if seed.is_multiple_of(3) { 0.4 } else { 0.0 };
    let mut plan = FaultPlan::all_feeds([
        Fault::JoinLate { share: late_join },
        Fault::Drop { share: 0.05 },
        Fault::DropOnAllLines {
            share: 0.01,
            packets_max: 12,
        },
        Fault::Outage { packets: 40 },
        Fault::Duplicate { share: 0.1 },
        Fault::Reorder {
            share: 0.05,
            by_max: 6,
        },
        Fault::Delay {
            share: 0.03,
            min_ns: 1_000,
            max_ns: 15_000_000,
        },
        Fault::Corrupt { share: 0.05 },
        Fault::Truncate { share: 0.02 },
        Fault::Replay { share: 0.05 },
    ]);
    plan.rules
        .iter_mut()
        .for_each(|rule| rule.feeds = feeds.to_vec());
    plan
}

/// Compares final books and orders, and searches each top in the expected ones.
fn difference(session: &Session, picture: &Picture) -> Option<String> {
    let expected_books = &session.expected;
    for (what, ours, expected_books) in [
        ("books", picture.books_jsonl(), expected_books.books_jsonl()),
        (
            "orders",
            picture.orders_jsonl(),
            expected_books.orders_jsonl(),
        ),
    ] {
        if let Some((ours, expected_books)) = ours
            .lines()
            .zip(expected_books.lines())
            .find(|(ours, expected_books)| ours != expected_books)
        {
            return Some(format!("{what}\nours  {ours}\ntruth {expected_books}"));
        }
        if ours.lines().count() != expected_books.lines().count() {
            return Some(format!("{what}: another number of instruments"));
        }
    }
    let expected_books = expected_books.tops_jsonl();
    let expected_books: HashSet<&str> = expected_books.lines().collect();
    let ours = picture.tops_jsonl();
    ours.lines()
        .find(|line| !expected_books.contains(line))
        .map(|line| format!("no expected top {line}"))
}

#[track_caller]
fn same(seed: u64, what: &str, ours: &str, expected_books: &str) {
    let line = ours
        .lines()
        .zip(expected_books.lines())
        .position(|(ours, expected_books)| ours != expected_books);
    if let Some(line) = line {
        let nth = |text: &str| text.lines().nth(line).unwrap_or_default().to_string();
        panic!(
            "seed {seed}: {what}, line {}\nours  {}\ntruth {}",
            line + 1,
            nth(ours),
            nth(expected_books)
        );
    }
    assert_eq!(
        ours.lines().count(),
        expected_books.lines().count(),
        "seed {seed}: number of {what}"
    );
}
