//! Words that must not occur in the code or the text.

use super::{Finding, Repository, source, source::Line};

/// Macros and attributes of code that is not finished.
const UNFINISHED: &[(&str, &str)] = &[
    ("todo!", "write it"),
    (
        "unimplemented!",
        "write it, or return an error that says what is not supported",
    ),
    ("dbg!", "remove it"),
    ("#[ignore", "make the test fit to run, or remove it"),
];

/// Phrases with the advice that replaces them; one in capitals is meant in capitals. Spelt in two parts, or this list
/// would find itself.
const BANNED: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "do it, or describe the limit as it is"),
    (concat!("FIX", "ME"), "fix it"),
    (concat!("XX", "X"), "say it in words"),
    (concat!("for", " now"), "finish it, or leave it out"),
    (
        concat!("blazing", "ly"),
        "give the figure and the command that measures it",
    ),
    (concat!("uti", "lize"), "write 'use'"),
    (concat!("lever", "age"), "write 'use'"),
    (
        concat!("/wo", "rk/"),
        "no path of one machine; use an environment variable or an argument",
    ),
    (
        concat!("/ho", "me/"),
        "no path of one machine; use an environment variable or an argument",
    ),
    (
        concat!("/ro", "ot/"),
        "no path of one machine; use an environment variable or an argument",
    ),
];

/// A neighbour folder of the checkout; only the script that sets the variables may name it.
const NEIGHBOUR: &str = concat!("../sha", "red");
const NEIGHBOUR_NAMED_BY: &str = ".ci/run";

/// Texts that are not ours to word.
const FOREIGN: &[&str] = &["Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE"];

/// No unfinished code and no test that is never run.
pub fn unfinished(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        for (at, line) in lines.iter().enumerate() {
            for (word, fix) in UNFINISHED.iter().filter(|(word, _)| has_mark(line, word)) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("{word} in the code"),
                    *fix,
                ));
            }
        }
    }
    findings
}

fn has_mark(line: &Line, mark: &str) -> bool {
    line.code.match_indices(mark).any(|(at, _)| {
        mark.starts_with('#')
            || !line.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

/// An attribute that switches a lint off has a reason: `reason = "…"`, or a comment above or on the same line.
pub fn allow_reasons(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        for at in 0..lines.len() {
            let switches_off = ["#[allow(", "#![allow(", "#[expect(", "#![expect("]
                .iter()
                .any(|attribute| lines[at].code.contains(attribute));
            if switches_off && !has_reason(lines, at) {
                let fix = "add `reason = \"…\"`, or mend what the lint says";
                findings.push(Finding::new(
                    path,
                    at + 1,
                    "a lint is switched off without a reason",
                    fix,
                ));
            }
        }
    }
    findings
}

/// Whether the attribute that starts on line `at` has a reason, inside or beside it. A documentation comment is about
/// the item, not of the lint.
fn has_reason(lines: &[Line], at: usize) -> bool {
    let end = lines[at..]
        .iter()
        .position(|line| line.code.contains(")]"))
        .map_or(at, |n| at + n);
    let says = |line: &Line| line.is_comment() && !line.comment.trim_start().starts_with("///");
    lines[at..=end]
        .iter()
        .any(|line| line.code.contains("reason =") || !line.comment.trim().is_empty())
        || at.checked_sub(1).is_some_and(|above| says(&lines[above]))
}

/// No word of the ban list, no path of one machine, no number of a ticket.
pub fn banned(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &repository.files {
        if FOREIGN.contains(&path.as_str()) {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            for (phrase, fix) in BANNED {
                let in_capitals = phrase.starts_with(|c: char| c.is_uppercase());
                if has_phrase(if in_capitals { line } else { &lower }, phrase) {
                    findings.push(Finding::new(
                        path,
                        at + 1,
                        format!("'{phrase}' in the text"),
                        *fix,
                    ));
                }
            }
            if lower.contains(NEIGHBOUR) && path != NEIGHBOUR_NAMED_BY {
                let fix = format!("use the environment variables that {NEIGHBOUR_NAMED_BY} sets");
                findings.push(Finding::new(
                    path,
                    at + 1,
                    "a folder outside the repository",
                    fix,
                ));
            }
            if has_ticket(&lower) {
                let fix = "say what it was about; numbers go stale";
                findings.push(Finding::new(path, at + 1, "the number of a ticket", fix));
            }
        }
    }
    findings
}

/// A path may occur within a word, a word may not.
fn has_phrase(line: &str, phrase: &str) -> bool {
    if phrase.starts_with('/') {
        line.contains(phrase)
    } else {
        source::find_word(line, phrase).is_some()
    }
}

fn has_ticket(line: &str) -> bool {
    source::find_word(line, "issue").is_some_and(|at| {
        let rest = &line[at + "issue".len()..];
        let number = rest.trim_start_matches([' ', '#']);
        number.len() < rest.len() && number.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> Repository {
        Repository::of(&[("crates/a/src/b.rs", text)])
    }

    #[test]
    fn unfinished_code_is_found() {
        for (word, _) in UNFINISHED {
            let text = format!("fn f() {{}}\n    {word}(x)]\n");
            assert_eq!(unfinished(&rust(&text))[0].line, 2, "{word}");
        }
        assert_eq!(
            unfinished(&rust("// todo!()\nlet a = \"dbg!\"; not_a_todo!();")),
            []
        );
    }

    #[test]
    fn a_lint_switched_off_without_a_reason_is_found() {
        for (text, count) in [
            ("#[allow(dead_code)]\nfn f() {}", 1),
            ("/// Does.\n#[allow(dead_code)]\nfn f() {}", 1),
            ("#![allow(\n    dead_code,\n)]", 1),
            ("#[expect(dead_code)]", 1),
            ("#[allow(dead_code, reason = \"kept for the reader\")]", 0),
            (
                "#![allow(\n    dead_code,\n    reason = \"generated\"\n)]",
                0,
            ),
            ("// The layout needs it.\n#[allow(dead_code)]", 0),
            ("#[allow(dead_code)] // the layout needs it", 0),
        ] {
            assert_eq!(allow_reasons(&rust(text)).len(), count, "{text}");
        }
    }

    #[test]
    fn each_banned_phrase_is_found_in_any_text() {
        for (phrase, _) in BANNED {
            let text = format!("one\nand {} then\n", phrase.to_uppercase());
            let findings = banned(&Repository::of(&[("docs/a.md", &text)]));
            assert_eq!(findings.len(), 1, "{phrase}");
            assert_eq!(findings[0].line, 2);
        }
    }

    #[test]
    fn part_of_a_word_is_not_a_banned_word() {
        assert_eq!(
            banned(&Repository::of(&[(
                "docs/a.md",
                "mastodons, tissue 5, an iss2, a task to do"
            )])),
            []
        );
    }

    #[test]
    fn local_paths_and_ticket_numbers_are_found() {
        let neighbour = format!("data={NEIGHBOUR}/data");
        assert_eq!(banned(&Repository::of(&[("a.sh", &neighbour)])).len(), 1);
        assert_eq!(banned(&Repository::of(&[(".ci/run", &neighbour)])), []);
        assert_eq!(
            banned(&Repository::of(&[("a.md", concat!("see iss", "ue 12"))])).len(),
            1
        );
        assert_eq!(
            banned(&Repository::of(&[("a.md", concat!("see Iss", "ue #12"))])).len(),
            1
        );
    }
}
