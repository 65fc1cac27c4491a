//! Head of each library: purpose, prohibitions, entry and exit of the path, tests.

use super::{Finding, Repository, source};

/// Sections of the crate documentation, after a first paragraph about the purpose.
const SECTIONS: &[(&str, &str)] = &[
    ("# Never", "what it must never do or know"),
    ("# Path", "where the path of a message enters and leaves"),
    ("# Tests", "how it is tested"),
];

/// Crates without the standard library, which therefore do no I/O.
const NO_STD: &[&str] = &["crates/types/src/lib.rs", "crates/wire/src/lib.rs"];

/// Each `lib.rs` starts with the four parts, none of them empty.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in repository
        .crate_roots()
        .filter(|(path, _)| path.ends_with("lib.rs"))
    {
        let head: Vec<&str> = text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(str::trim)
            .collect();
        if head
            .first()
            .is_none_or(|line| line.is_empty() || line.starts_with('#'))
        {
            let fix = "begin the file with a paragraph of `//!` that says so";
            findings.push(Finding::new(
                path,
                1,
                "the head has no paragraph about the crate's purpose",
                fix,
            ));
        }
        for (heading, meaning) in SECTIONS {
            if !has_section(&head, heading) {
                let fix = format!("add `//! {heading}`: {meaning}");
                findings.push(Finding::new(
                    path,
                    1,
                    format!("the head has no '{heading}'"),
                    fix,
                ));
            }
        }
    }
    findings
}

/// Whether `heading` is in `head` with at least a line of text under it.
fn has_section(head: &[&str], heading: &str) -> bool {
    let below = head.iter().skip_while(|line| **line != heading).skip(1);
    below
        .take_while(|line| !line.starts_with('#'))
        .any(|line| !line.is_empty())
}

/// Types and codecs do without the standard library.
pub fn no_std(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in NO_STD {
        let Some(text) = repository.files.get(*path) else {
            continue;
        };
        let code: Vec<_> = source::lines(text)
            .into_iter()
            .map(|line| line.code)
            .collect();
        let declared = ["#![no_std]", "#![cfg_attr(not(test), no_std)]"];
        if !code.iter().any(|line| declared.contains(&line.trim())) {
            let fix = "add #![no_std], and `extern crate std` under cfg(test) if tests need it";
            findings.push(Finding::new(path, 1, "this crate must do without std", fix));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "//! Books.\n//!\n//! # Never\n//! Reads a clock.\n//!\n//! # Path\n//! In, out.\n//!\n\
                        //! # Tests\n//! Against a model.\n\n//! # Late\n";

    fn count(text: &str) -> usize {
        check(&Repository::of(&[("crates/book/src/lib.rs", text)])).len()
    }

    #[test]
    fn a_complete_head_has_no_finding() {
        assert_eq!(count(GOOD), 0);
    }

    #[test]
    fn each_missing_part_is_found() {
        for part in [
            "Books.",
            "# Never",
            "# Path",
            "# Tests",
            "Reads a clock.",
            "Against a model.",
        ] {
            assert_eq!(count(&GOOD.replace(part, "")), 1, "{part}");
        }
        assert_eq!(count("use a;"), 4);
    }

    #[test]
    fn types_and_wire_must_be_no_std() {
        let with = |path, text| no_std(&Repository::of(&[(path, text)])).len();
        assert_eq!(with("crates/wire/src/lib.rs", "//! Codecs. #![no_std]"), 1);
        assert_eq!(with("crates/wire/src/lib.rs", "#![no_std]"), 0);
        assert_eq!(
            with("crates/types/src/lib.rs", "#![cfg_attr(not(test), no_std)]"),
            0
        );
        assert_eq!(with("crates/book/src/lib.rs", ""), 0);
    }
}
