//! Knees: the highest rate that a subject sustained in each round, and why rounds differ.

use crate::row::Row;
use std::fmt;
use touchline_chart::si;

/// Highest rate that a subject sustained in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knee {
    /// The round.
    pub round: u32,
    /// The rate, messages a second; 0 if it sustained none.
    pub rate: u64,
    /// For 0: why it did not sustain the first rate; otherwise empty.
    pub why: String,
    /// For 0: whether the host has fewer processors than the processes need, so that the rate says nothing about the subject.
    pub is_short: bool,
}

impl fmt::Display for Knee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate {
            0 if self.is_short => f.write_str(&self.why),
            0 => write!(f, "0 ({})", self.why),
            rate => f.write_str(&si(rate as f64)),
        }
    }
}

/// Knee of a subject in each round.
pub fn knees(rows: &[Row], subject: &str) -> Vec<Knee> {
    let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
    (1..=rounds)
        .map(|round| knee(rows, subject, round))
        .collect()
}

fn of<'a>(rows: &'a [Row], subject: &str, round: u32) -> impl Iterator<Item = &'a Row> {
    let is_of = move |row: &&Row| row.round == round;
    let own = rows.iter().filter(is_of);
    let own: Vec<&Row> = own.filter(|row| row.subject == subject).collect();
    own.into_iter()
}

fn knee(rows: &[Row], subject: &str, round: u32) -> Knee {
    let own = || of(rows, subject, round);
    let sustained = own().filter(|row| row.verdict.is_met());
    let rate = sustained.map(|row| row.rate).max().unwrap_or(0);
    let first = own().map(|row| row.rate).min();
    // The repetition decides.
    let first = own().filter(|row| Some(row.rate) == first).last();
    let needs = first.and_then(Row::needs).filter(|_| rate == 0);
    let is_short = needs.is_some();
    let why = match (rate, first) {
        (0, None) => "not measured".to_owned(),
        (0, Some(row)) => {
            needs.unwrap_or_else(|| format!("{} at {}", row.why(), si(row.rate as f64)))
        }
        _ => String::new(),
    };
    Knee {
        round,
        rate,
        why,
        is_short,
    }
}

/// The median of the rounds. Of an even number of rounds the lower one: a rate is not claimed that half of them did not sustain.
pub fn middle(mut knees: Vec<Knee>) -> Option<Knee> {
    knees.sort_by_key(|knee| knee.rate);
    let middle = knees.len().saturating_sub(1) / 2;
    knees.into_iter().nth(middle)
}

/// For each subject whose rounds differ by more than one step, what the rounds were like. One step: no rate was measured between
/// the two in either round.
pub fn differences(rows: &[Row]) -> Vec<String> {
    let mut subjects: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let of_subject = |subject: &&str| difference(rows, subject);
    subjects.iter().filter_map(of_subject).collect()
}

fn difference(rows: &[Row], subject: &str) -> Option<String> {
    let knees = knees(rows, subject);
    let least = knees.iter().min_by_key(|knee| knee.rate)?;
    let most = knees.iter().max_by_key(|knee| knee.rate)?;
    let between = [least, most]
        .into_iter()
        .flat_map(|knee| of(rows, subject, knee.round));
    let is_between = |row: &Row| least.rate < row.rate && row.rate < most.rate;
    if !between.into_iter().any(is_between) {
        return None;
    }
    let rounds: Vec<String> = knees
        .iter()
        .map(|knee| conditions(rows, subject, knee))
        .collect();
    Some(format!(
        "the rounds of {subject} differ by more than one step: {}",
        rounds.join("; ")
    ))
}

/// A round in words: its knee, what ended it, and what the host was like.
fn conditions(rows: &[Row], subject: &str, knee: &Knee) -> String {
    let above = || of(rows, subject, knee.round).filter(|row| row.rate > knee.rate);
    let rate = above().map(|row| row.rate).min();
    // The repetition decides.
    let end = above().filter(|row| Some(row.rate) == rate).last();
    let end = end.filter(|_| knee.rate > 0);
    let end = end.map(|row| format!(", then {} at {}", row.why(), si(row.rate as f64)));
    let own = || of(rows, subject, knee.round);
    let foreign = own().map(|row| row.host.foreign + row.host.steal);
    let foreign = foreign.fold(0.0, f64::max) * 100.0;
    let floor: Vec<String> = own()
        .next()
        .map(|row| row.floor_ns.iter().map(u64::to_string).collect())
        .unwrap_or_default();
    let floor = match floor.is_empty() {
        true => "unknown".to_owned(),
        false => format!("{} ns", floor.join(" and ")),
    };
    format!(
        "round {} {knee}{}, cache-line round trip before and after {floor}, other processes up to {foreign:.1} %",
        knee.round,
        end.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Cause, Verdict};
    use crate::step::made_up_row;

    fn failed(rate: u64, round: u32, cause: Cause) -> Row {
        let mut row = made_up_row("tcp", rate, round, Verdict::NotSustained);
        row.cause = Some(cause);
        row
    }

    fn sustained(rate: u64, round: u32) -> Row {
        made_up_row("tcp", rate, round, Verdict::Sustained)
    }

    fn texts(rows: &[Row]) -> Vec<String> {
        knees(rows, "tcp").iter().map(Knee::to_string).collect()
    }

    #[test]
    fn a_knee_of_zero_says_why() {
        let mut repeated = failed(10_000, 2, Cause::Latency);
        repeated.is_repeated = true;
        let rows = [
            failed(10_000, 1, Cause::Lost),
            failed(30_000, 1, Cause::Latency),
            failed(10_000, 2, Cause::Lost),
            failed(30_000, 2, Cause::Lost),
            repeated,
            sustained(10_000, 4),
        ];
        let expected = [
            "0 (lossy at 10 k)",
            "0 (latency above the limit at 10 k)",
            "0 (not measured)",
            "10 k",
        ];
        assert_eq!(texts(&rows), expected);
        // Rows of an earlier version have only a sentence.
        let mut old = made_up_row("tcp", 10_000, 1, Verdict::NotSustained);
        old.reason = "p50 of 1500.0 µs".to_owned();
        assert_eq!(texts(&[old]), ["0 (p50 of 1500.0 µs at 10 k)"]);
    }

    /// If processes have to wait for a processor, a rate of 0 says nothing about the transport.
    #[test]
    fn a_subject_with_too_few_processors_says_how_many_it_needs() {
        let mut row = failed(10_000, 1, Cause::Rate);
        row.processors_needed = 4;
        for (processors, expected) in [
            (2, "needs 4 processors"),
            (4, "0 (rate below the limit at 10 k)"),
        ] {
            row.processors = processors;
            assert_eq!(texts(std::slice::from_ref(&row)), [expected]);
        }
        row.processors = 2;
        assert!(row.result().ends_with(", needs 4 processors"));
        let mut kept = sustained(30_000, 1);
        (kept.processors_needed, kept.processors) = (4, 2);
        assert_eq!(kept.result(), "sustained");
        assert_eq!(texts(&[row, kept]), ["30 k"]);
    }

    #[test]
    fn rounds_that_differ_by_one_step_need_no_reason_and_others_have_theirs() {
        let mut rows = vec![
            sustained(10_000, 1),
            sustained(30_000, 1),
            failed(100_000, 1, Cause::Rate),
            // Its repetition.
            failed(100_000, 1, Cause::Lost),
            sustained(10_000, 2),
            failed(30_000, 2, Cause::Latency),
        ];
        assert_eq!(differences(&rows), [""; 0]);
        rows.extend([
            sustained(10_000, 3),
            sustained(30_000, 3),
            sustained(100_000, 3),
            failed(300_000, 3, Cause::Rate),
        ]);
        for row in &mut rows {
            row.floor_ns = vec![340 + u64::from(row.round), 350];
            row.host.foreign = f64::from(row.round) / 100.0;
        }
        let expected = "the rounds of tcp differ by more than one step: \
            round 1 30 k, then lossy at 100 k, cache-line round trip before and after 341 and 350 ns, other processes up to 1.0 %; \
            round 2 10 k, then latency above the limit at 30 k, cache-line round trip before and after 342 and 350 ns, other processes up to 2.0 %; \
            round 3 100 k, then rate below the limit at 300 k, cache-line round trip before and after 343 and 350 ns, other processes up to 3.0 %";
        assert_eq!(differences(&rows), [expected]);
    }
}
