//! A stage does not use the stages before it.

use super::{Finding, Repository};

/// The crate of the path, and the names of stages before the books or around them.
const PATH: &str = "crates/gateway/src/";
const BEFORE: &[&str] = &["Feed", "SessionFeed", "FeedLink", "Pipeline"];

/// Files that may use them: the one that has the order of the stages, the links and their drivers, the venues, and
/// displays of their counters.
const AROUND: &[&str] = &[
    "lib.rs",
    "pipeline.rs",
    "live.rs",
    "live/",
    "replay.rs",
    "retransmission.rs",
    "venues.rs",
    "venues/",
    "counters_file.rs",
];

/// The books process events and return updates; only `pipeline.rs` and the links use the stages before them.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        let Some(file) = path.strip_prefix(PATH) else {
            continue;
        };
        if AROUND.iter().any(|around| file.starts_with(around)) {
            continue;
        }
        for (at, line) in lines.iter().enumerate() {
            if let Some(word) = BEFORE.iter().find(|word| line.has_word(word)) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("a stage uses {word}, a stage before it"),
                    "pass the data in the event, the batch or a value",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_of_the_feed_by_books_is_found() {
        let asks = "fn flush(&mut self, feed: &impl Feed) {}";
        let repository = Repository::of(&[
            ("crates/gateway/src/books/updates.rs", asks),
            ("crates/gateway/src/pipeline.rs", asks),
            ("crates/gateway/src/recent.rs", asks),
            ("crates/gateway/src/live/multicast.rs", asks),
            (
                "crates/gateway/src/books.rs",
                "use touchline_feed::{BookRules, Feedback};",
            ),
        ]);
        let findings = check(&repository);
        let mut paths: Vec<_> = findings.iter().map(|finding| &finding.path).collect();
        paths.sort();
        assert_eq!(
            paths,
            [
                "crates/gateway/src/books/updates.rs",
                "crates/gateway/src/recent.rs"
            ]
        );
    }
}
