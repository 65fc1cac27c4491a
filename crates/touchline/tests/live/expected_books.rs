//! Comparison of a subscriber's books with the exchange's.

use crate::processes::Processes;
use serde_json::Value;
use std::collections::BTreeMap;
use touchline_lab::cme::expected_books::{BookState, Checker, Verdict, hash};

/// Every row of the exchange must be present, live and equal, except for the number that a bus does not carry. Returns
/// the number of rows.
#[track_caller]
pub fn equals(processes: &Processes, subscriber: &str, what: &str) -> usize {
    let mut compared = 0;
    for kind in ["books", "orders"] {
        let expected_books = rows(&processes.read(&format!("truth-{kind}.jsonl")));
        let held = rows(&processes.read(&format!("{subscriber}-{kind}.jsonl")));
        assert!(
            !expected_books.is_empty(),
            "{what}: the exchange has no {kind}"
        );
        for (id, expected) in &expected_books {
            let actual = held.get(id);
            assert_eq!(
                actual,
                Some(expected),
                "{what}: {kind} of {id} at {subscriber}"
            );
        }
        compared += expected_books.len();
    }
    compared
}

fn rows(text: &str) -> BTreeMap<i64, Value> {
    let row = |line: &str| {
        let mut row: Value = serde_json::from_str(line).expect("a row of JSON");
        row.as_object_mut()
            .expect("an object")
            .remove("last_rpt_seq");
        (row["security_id"].as_i64().expect("an id"), row)
    };
    text.lines().map(row).collect()
}

/// Largest number of states of one book by which the exchange may be ahead of a subscriber.
const AHEAD_MAX: usize = 1_000_000;

/// Compares books that subscribers showed as live with the states of the exchange's books.
pub fn judge(processes: &Processes, expected_books: &str, seen: &str) -> Verdict {
    let seen = processes.read(seen);
    let seen = states(&seen).map(|state| (state.security_id, state.hash));
    judge_states(processes, expected_books, seen)
}

/// Compares books, given by venue ids and hashes, with the states of the exchange's books.
pub fn judge_states(
    processes: &Processes,
    expected_books: &str,
    seen: impl Iterator<Item = (i32, u64)>,
) -> Verdict {
    let mut checker = Checker::new(AHEAD_MAX);
    let expected_books = processes.read(expected_books);
    states(&expected_books).for_each(|state| checker.expected(state));
    seen.for_each(|(id, hash)| checker.seen(id, hash));
    checker.finish()
}

/// Hash of a price book in the output of `book --json`.
pub fn hash_of(book: &Value) -> u64 {
    let levels = |list: &str| {
        let levels = book[list].as_array().expect("a list of levels");
        let parts = |level: &Value| {
            let price = nanos(level[0].as_str().expect("a price"));
            let number = |at: usize| level[at].as_i64().unwrap_or(0);
            (price, number(1), number(2))
        };
        levels.iter().map(parts).collect::<Vec<_>>()
    };
    hash(["bids", "asks", "implied_bids", "implied_asks"].map(levels))
}

/// A decimal number in units of 1e-9.
fn nanos(decimal: &str) -> i64 {
    let (whole, part) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{whole}{part:0<9}").parse().expect("a number")
}

/// A line truncated by a kill is ignored.
fn states(text: &str) -> impl Iterator<Item = BookState> + '_ {
    text.lines().filter_map(|line| line.parse().ok())
}
