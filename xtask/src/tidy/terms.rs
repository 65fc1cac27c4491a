//! The field's terms: former names in the code, each with the term that replaced it.

use super::{Finding, Repository, source::Line};
use std::collections::HashMap;

/// Whole identifiers.
const OLD: &[(&str, &str)] = &[
    ("Accusation", "Violation"),
    ("Ahead", "OutOfOrderQueue"),
    ("Assemblies", "SnapshotAssembler"),
    ("Board", "CountersFile"),
    ("BoardView", "CountersView"),
    ("Dialed", "ClientLink"),
    ("Dialogue", "SessionFeed"),
    ("Drawing", "SlotWriter"),
    ("Drawn", "Written"),
    ("Figures", "Statistics"),
    ("Fit", "ApplyResult"),
    ("Gathered", "EventChanges"),
    ("Heading", "ParsedHeader"),
    ("Hold", "ReorderBuffer"),
    ("Kept", "Stored"),
    ("Letter", "Payload"),
    ("LoopTracker", "SnapshotCycle"),
    ("Mark", "JoinPoint"),
    ("Marks", "LatencyTrace"),
    ("Note", "Warning"),
    ("Notice", "SubscriptionEvent or RingEvent"),
    ("Notices", "PendingEvents"),
    ("Patience", "SlowReaderPolicy, ReadRetry or ThrottleLimits"),
    ("ReaderBoard", "ReaderStats"),
    ("Seat", "Connection"),
    ("SnapshotLoop", "SnapshotCycle"),
    ("StampSource", "TimestampSource"),
    ("Stages", "MarketBooks"),
    ("Stamps", "Timestamps"),
    ("Standing", "BookHealth"),
    ("Stranger", "Unauthenticated"),
    ("Survey", "ReadinessScan"),
    ("Taker", "Decoder"),
    ("Taking", "SlotLease"),
    ("Told", "PublishedMessage"),
    ("Touched", "InstrumentChanges"),
    ("Trouble", "LastError"),
    ("Truth", "ExpectedBooks"),
    ("TruthLog", "ExpectedLog"),
    ("Way", "TestTransport"),
    ("When", "ReceiveTime"),
    ("WholeLoop", "CompleteCycle"),
    ("Witness", "StreamVerifier"),
    ("behind_bytes", "lag_bytes"),
    ("book_doubtful", "book_inconsistent"),
    ("hang_up", "disconnect"),
    ("inscribe", "write_header"),
    ("introduce", "announce_instruments"),
    ("is_tested", "test_request_sent"),
    ("last_words", "send_logout, or a flush timeout"),
    ("own_lines_ahead", "prefetch_for_write"),
    ("say_alive", "send_heartbeat"),
    ("too_high", "sequence_too_high"),
    ("truth", "expected_books"),
    ("venue_id", "security_id"),
];

/// Parts of an identifier, in snake and camel case.
const PARTS: &[(&str, &str)] = &[
    ("anatomy", "latency trace"),
    ("dialed", "client link"),
    ("headline", "packet info"),
    ("hole", "gap"),
    ("holes", "gaps"),
    ("lapped", "overrun"),
    ("misfit", "inconsistent update"),
    ("misfits", "inconsistent updates"),
    ("mortal", "crash injection"),
];

/// Exempt places: the fields of the native format.
const FOREIGN: &[(&str, &str)] = &[("venue_id", "crates/types/src/native/")];

/// Identifiers use the field's terms.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Most identifiers occur often.
    let mut terms = HashMap::new();
    for (path, lines) in repository.rust_lines() {
        let is_foreign = |name| {
            let mut places = FOREIGN.iter().filter(|(foreign, _)| *foreign == name);
            places.any(|(_, start)| path.starts_with(start))
        };
        for (at, line) in lines.iter().enumerate() {
            for name in identifiers(line) {
                let term = *terms.entry(name).or_insert_with(|| term(name));
                if let Some(term) = term.filter(|_| !is_foreign(name)) {
                    let what = format!("`{name}` is not the field's term");
                    findings.push(Finding::new(path, at + 1, what, format!("say {term}")));
                }
            }
        }
    }
    findings
}

fn identifiers(line: &Line) -> impl Iterator<Item = &str> {
    let words = line.code.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

/// The term that replaces a name, if it is a former one.
fn term(name: &str) -> Option<&'static str> {
    let whole = OLD.iter().find(|(old, _)| *old == name);
    let part = || {
        let is_in = |old: &str| parts(name).any(|part| part.eq_ignore_ascii_case(old));
        PARTS.iter().find(|(old, _)| is_in(old))
    };
    whole.or_else(part).map(|(_, term)| *term)
}

/// `open_hole`, `OpenHole` and `OPEN_HOLE` have the same two parts.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split('_').flat_map(|word| {
        let is_camel = word.contains(|c: char| c.is_ascii_lowercase());
        let starts = move |(at, c): &(usize, char)| *at == 0 || is_camel && c.is_uppercase();
        let starts = word.char_indices().filter(starts).map(|(at, _)| at);
        let ends = starts.clone().skip(1).chain([word.len()]);
        starts.zip(ends).map(|(start, end)| &word[start..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(&Repository::of(&[(path, text)]))
    }

    #[test]
    fn a_forbidden_term_is_reported_with_its_replacement() {
        for (old, term) in OLD {
            let findings = found("crates/a/src/b.rs", &format!("\nlet a: {old} = 1;"));
            assert_eq!(findings.len(), 1, "{old}");
            assert_eq!(
                (findings[0].line, findings[0].fix.as_str()),
                (2, &*format!("say {term}"))
            );
        }
        for name in [
            "open_hole",
            "OpenHole",
            "OPEN_HOLE",
            "holes",
            "a_lapped_reader",
        ] {
            assert_eq!(found("crates/a/src/b.rs", name).len(), 1, "{name}");
        }
    }

    #[test]
    fn allowed_names_have_no_finding() {
        for text in [
            "fn whole(holder: Holder, marks: u8) {}",
            "// A hole, and the Board of `Stages`.",
            "let text = \"When the truth is told\";",
            "let threshold = the_truth_is_out_there;",
        ] {
            assert_eq!(found("crates/a/src/b.rs", text), [], "{text}");
        }
        assert_eq!(
            found("crates/types/src/native/layout.rs", "venue_id: I64,"),
            []
        );
        assert_eq!(
            found("crates/types/src/update.rs", "venue_id: i64,").len(),
            1
        );
    }
}
