//! Statements about the code are true: the public traits in ARCHITECTURE.md, and invariants.

use super::{Finding, Repository, source::Line};
use std::collections::BTreeSet;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// Start and end of the paragraph about traits.
const TRAITS: (&str, &str) = ("**Traits.**", "Closed sets are enums");

/// The public traits of the crates are those in ARCHITECTURE.md: a new one is a change of the design.
pub fn traits(repository: &Repository) -> Vec<Finding> {
    let text = repository
        .files
        .get(ARCHITECTURE)
        .map_or("", String::as_str);
    let paragraph = text
        .split_once(TRAITS.0)
        .and_then(|(_, rest)| rest.split_once(TRAITS.1))
        .map_or("", |(paragraph, _)| paragraph);
    let named: BTreeSet<&str> = paragraph.split('`').skip(1).step_by(2).collect();
    let mut there = BTreeSet::new();
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        if !path.starts_with("crates/") || !path.contains("/src/") {
            continue;
        }
        for (at, name) in public_traits(lines) {
            if !named.contains(name.as_str()) {
                let fix = format!("name it in {ARCHITECTURE} under Traits, or do without it");
                let what = format!("`{name}` is a trait that the architecture does not name");
                findings.push(Finding::new(path, at, what, fix));
            }
            there.insert(name);
        }
    }
    let line = text
        .lines()
        .position(|line| line.contains(TRAITS.0))
        .map_or(1, |at| at + 1);
    for name in named.into_iter().filter(|name| !there.contains(*name)) {
        findings.push(Finding::new(
            ARCHITECTURE,
            line,
            format!("`{name}` is not a public trait of a crate"),
            "remove it from the paragraph",
        ));
    }
    findings
}

/// The public traits of a file, with their lines from 1.
fn public_traits(lines: &[Line]) -> Vec<(usize, String)> {
    let is_of_a_name = |c: &char| c.is_alphanumeric() || *c == '_';
    let named = |(at, line): (usize, &Line)| {
        let rest = line.code.trim().strip_prefix("pub trait ")?;
        Some((at + 1, rest.chars().take_while(is_of_a_name).collect()))
    };
    lines.iter().enumerate().filter_map(named).collect()
}

/// A file with an invariant in a comment (`Invariant: …`, `Invariants: …`) has an assertion outside its tests, which
/// fails when the invariant is broken; or the comment names the test of code that cannot break it (``test `name` ``).
pub fn invariants(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        if !path.starts_with("crates/") || !path.contains("/src/") {
            continue;
        }
        let stated = lines.iter().position(|line| {
            let comment = line.comment.as_str();
            let is_stated = comment.contains("Invariant: ") || comment.contains("Invariants: ");
            let test = comment
                .split_once("(test `")
                .and_then(|(_, rest)| rest.split_once('`'));
            let is_test = |(name, _): (&str, &str)| {
                let head = format!("fn {name}()");
                lines.iter().any(|line| line.code.contains(&head))
            };
            is_stated && !test.is_some_and(is_test)
        });
        let code = lines
            .iter()
            .take_while(|line| !line.code.contains("#[cfg(test)]"));
        let is_asserted = code.into_iter().any(|line| {
            ASSERTIONS
                .iter()
                .any(|assertion| line.code.contains(assertion))
        });
        if let (Some(at), false) = (stated, is_asserted) {
            findings.push(Finding::new(
                path,
                at + 1,
                "an invariant is stated, and nothing in the file asserts it",
                "assert it where it could break, with a name",
            ));
        }
    }
    findings
}

const ASSERTIONS: &[&str] = &["assert!(", "assert_eq!(", "assert_ne!(", "unreachable!("];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_that_only_one_of_code_and_architecture_has_are_found() {
        let text = "# A\n\n**Traits.** `Feed` and `Gone` (feed), and `Sink`. Closed sets are enums.\n`Other` is no trait.\n";
        let repository = Repository::of(&[
            ("ARCHITECTURE.md", text),
            (
                "crates/feed/src/feed.rs",
                "pub trait Feed {}\n\n    pub trait Sink: Copy {}\ntrait Private {}\n",
            ),
            (
                "crates/book/src/lib.rs",
                "//! pub trait Said\npub trait New<F: Feed> {}\n",
            ),
            ("crates/book/tests/it.rs", "pub trait OfATest {}\n"),
        ]);
        let findings = traits(&repository);
        let places: Vec<_> = findings
            .iter()
            .map(|finding| (finding.path.as_str(), finding.line))
            .collect();
        assert_eq!(
            places,
            [("crates/book/src/lib.rs", 2), ("ARCHITECTURE.md", 3)],
            "{findings:?}"
        );
        assert!(findings[1].what.contains("`Gone`"), "{findings:?}");
    }

    #[test]
    fn invariants_that_nothing_asserts_are_found() {
        let stated = "/// Invariant: it is even.\nstruct Even(u8);\n";
        let asserted = format!("{stated}fn f() {{ assert!(true, \"it-is-even\"); }}\n");
        let in_its_tests =
            format!("{stated}#[cfg(test)]\nmod tests {{ fn f() {{ assert!(true); }} }}\n");
        let repository = Repository::of(&[
            ("crates/a/src/asserted.rs", &asserted),
            ("crates/a/src/stated.rs", stated),
            ("crates/a/src/tested.rs", &in_its_tests),
            ("crates/a/src/word.rs", "// What is invariant: nothing.\n"),
        ]);
        let findings = invariants(&repository);
        let paths: Vec<_> = findings
            .iter()
            .map(|finding| finding.path.as_str())
            .collect();
        assert_eq!(paths, ["crates/a/src/stated.rs", "crates/a/src/tested.rs"]);
    }
}
