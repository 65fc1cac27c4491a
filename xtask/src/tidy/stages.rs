//! A stage knows no stage before it.

use super::{Finding, Repository};

/// The books of the path, and the words for what stands before or around them.
const STAGE: &str = "crates/gateway/src/books";
const BEFORE: &[&str] = &["Feed", "SessionFeed", "FeedLink", "Pipeline"];

/// The books take events and give updates; whoever feeds them is named in `pipeline.rs` alone.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        if !path.starts_with(STAGE) {
            continue;
        }
        for (at, line) in lines.iter().enumerate() {
            if let Some(word) = BEFORE.iter().find(|word| line.has_word(word)) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("the books name {word}, which stands before them"),
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
            (
                "crates/gateway/src/books.rs",
                "use touchline_feed::{BookRules, Feedback};",
            ),
        ]);
        let findings = check(&repository);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "crates/gateway/src/books/updates.rs");
    }
}
