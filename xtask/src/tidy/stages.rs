//! A stage knows no stage before it.

use super::{Finding, Repository};

/// The crate of the path, and the words for what stands before the books or around them.
const PATH: &str = "crates/gateway/src/";
const BEFORE: &[&str] = &["Feed", "SessionFeed", "FeedLink", "Pipeline"];

/// Who may name them: the screen that has the order of the stages, the links and what drives them, the venues, and who shows
/// what they count.
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

/// The books take events and give updates; whoever feeds them is named in `pipeline.rs` and by the links alone.
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
                    format!("a stage names {word}, which stands before it"),
                    "let the event, the batch or a value say what is needed",
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
    fn books_that_ask_their_feed_are_found() {
        let asks = "fn flush(&mut self, feed: &impl Feed) {}";
        let repository = Repository::of(&[
            ("crates/gateway/src/books/updates.rs", asks),
            ("crates/gateway/src/pipeline.rs", asks),
            ("crates/gateway/src/published.rs", asks),
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
                "crates/gateway/src/published.rs"
            ]
        );
    }
}
