//! Result of a load test, in one sentence.

use crate::knee::{Knee, knees, middle};
use crate::row::{Row, Verdict};
use touchline_chart::si;

/// Name of the best result: the highest rate sustained, or without limits the highest complete one.
pub fn highest(rows: &[Row]) -> &'static str {
    match is_without_limits(rows) {
        true => "Highest complete rate",
        false => "Highest rate sustained",
    }
}

fn is_without_limits(rows: &[Row]) -> bool {
    let is_judged = |row: &Row| matches!(row.verdict, Verdict::Complete | Verdict::Incomplete);
    rows.iter().any(is_judged)
}

/// The highest rate of each subject, the best one first, and why others have none.
pub fn sentence(rows: &[Row], subjects: &[String]) -> String {
    let found = subjects.iter().filter_map(|subject| {
        let knee = middle(knees(rows, subject))?;
        Some((subject.as_str(), knee))
    });
    type Found<'a> = Vec<(&'a str, Knee)>;
    let (mut with, without): (Found<'_>, Found<'_>) = found.partition(|(_, knee)| knee.rate > 0);
    with.sort_by_key(|(_, knee)| std::cmp::Reverse(knee.rate));
    let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
    let mut parts: Vec<String> = Vec::new();
    for group in with.chunk_by(|(_, one), (_, other)| one.rate == other.rate) {
        let names: Vec<&str> = group.iter().map(|(name, _)| *name).collect();
        let unit = if parts.is_empty() { " messages/s" } else { "" };
        parts.push(format!(
            "{} {}{unit}",
            listed(&names),
            si(group[0].1.rate as f64)
        ));
    }
    let mut text = match parts.is_empty() {
        true => "No subject has a rate".to_owned(),
        false => format!("{}: {}", highest(rows), parts.join(", ")),
    };
    if rounds > 1 {
        text += &format!(" (median of {rounds} rounds)");
    }
    for (name, knee) in &without {
        text += &match knee.is_short {
            true => format!("; {name} {}", knee.why),
            false => format!("; {name} none ({})", knee.why),
        };
    }
    text + "."
}

/// Names as a list of a sentence.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Cause;
    use crate::step::made_up_row;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_sentence_has_the_best_first_and_a_reason_for_each_without_a_rate() {
        let sustained =
            |subject, rate, round| made_up_row(subject, rate, round, Verdict::Sustained);
        let mut lossy = made_up_row("udp", 10_000, 1, Verdict::NotSustained);
        lossy.cause = Some(Cause::Lost);
        let mut short = made_up_row("relay", 10_000, 1, Verdict::NotSustained);
        (short.processors_needed, short.processors) = (4, 2);
        let rows = [
            sustained("tcp", 10_000, 1),
            lossy,
            sustained("bus", 30_000, 1),
            sustained("ipc", 30_000, 1),
            short,
        ];
        assert_eq!(
            sentence(&rows, &names(&["tcp", "udp", "bus", "ipc", "relay"])),
            "Highest rate sustained: bus and ipc 30 k messages/s, tcp 10 k; udp none (lossy at 10 k); relay needs 4 processors."
        );
        let rows = [
            sustained("tcp", 10_000, 1),
            sustained("tcp", 30_000, 2),
            sustained("tcp", 1_000, 3),
        ];
        assert_eq!(
            sentence(&rows, &names(&["tcp"])),
            "Highest rate sustained: tcp 10 k messages/s (median of 3 rounds)."
        );
        assert_eq!(sentence(&[], &[]), "No subject has a rate.");
    }

    /// Without limits a rate is complete if every message arrived, and never "sustained".
    #[test]
    fn without_limits_a_rate_is_complete() {
        let rows = [
            made_up_row("tcp", 20_000, 1, Verdict::Complete),
            made_up_row("udp", 20_000, 1, Verdict::Incomplete),
        ];
        let text = sentence(&rows, &names(&["tcp", "udp"]));
        assert!(
            text.starts_with("Highest complete rate: tcp 20 k messages/s; udp none ("),
            "{text}"
        );
        assert_eq!(rows[0].result(), "complete");
        assert!(rows[1].result().starts_with("not complete"));
    }
}
