//! What a subscriber has against what the exchange has.

use crate::cast::Stage;
use std::collections::BTreeMap;
use touchline_lab::cme::truth::{BookState, Checker, Verdict};

/// Every row of the exchange must be there, live and the same, but for the number that a bus does not
/// carry. Says how many there were.
#[track_caller]
pub fn equals(stage: &Stage, subscriber: &str, what: &str) -> usize {
    let mut compared = 0;
    for kind in ["books", "orders"] {
        let truth = rows(&stage.read(&format!("truth-{kind}.jsonl")));
        let held = rows(&stage.read(&format!("{subscriber}-{kind}.jsonl")));
        assert!(!truth.is_empty(), "{what}: the exchange has no {kind}");
        for (id, expected) in &truth {
            let actual = held.get(id);
            assert_eq!(
                actual,
                Some(expected),
                "{what}: {kind} of {id} at {subscriber}"
            );
        }
        compared += truth.len();
    }
    compared
}

fn rows(text: &str) -> BTreeMap<i64, serde_json::Value> {
    let row = |line: &str| {
        let mut row: serde_json::Value = serde_json::from_str(line).expect("a row of JSON");
        row.as_object_mut()
            .expect("an object")
            .remove("last_rpt_seq");
        (row["security_id"].as_i64().expect("an id"), row)
    };
    text.lines().map(row).collect()
}

/// How far the exchange may be ahead of a subscriber, in states of one book.
const AHEAD_MAX: usize = 1_000_000;

/// Holds what subscribers called live against the states that the exchange's books had.
pub fn judge(stage: &Stage, truth: &str, seen: &str) -> Verdict {
    let mut checker = Checker::new(AHEAD_MAX);
    let truth = stage.read(truth);
    states(&truth).for_each(|state| checker.truth(state));
    let seen = stage.read(seen);
    states(&seen).for_each(|state| checker.seen(state.security_id, state.hash));
    checker.finish()
}

/// What is cut off by a kill is not there.
fn states(text: &str) -> impl Iterator<Item = BookState> + '_ {
    text.lines().filter_map(|line| line.parse().ok())
}
