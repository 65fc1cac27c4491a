//! Words that must not occur in the code or the text.

use super::{Finding, Repository, source};

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

/// No test that is never run.
pub fn ignored_tests(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        let ignored = lines.iter().enumerate();
        for (at, _) in ignored.filter(|(_, line)| line.code.contains("#[ignore")) {
            let fix = "make it fit to run, or remove it";
            findings.push(Finding::new(path, at + 1, "a test that is not run", fix));
        }
    }
    findings
}

/// Files with a temporary folder that is not of a test, the kit of the tests, and a file that a failed test leaves.
const TEMPORARY: [&str; 5] = [
    "crates/testing/src/folder.rs",
    "crates/touchline/src/bench/decode_fix.rs",
    "crates/touchline/src/demo/folder.rs",
    "crates/touchline/src/top/draw/tests.rs",
    "fuzz/src/config.rs",
];

/// Tests take their temporary folders from the kit, which removes them.
pub fn temporary_folders(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = repository.rust_lines();
    for (path, lines) in files.filter(|(path, _)| !TEMPORARY.contains(path)) {
        let made = lines.iter().enumerate();
        for (at, _) in made.filter(|(_, line)| line.code.contains("temp_dir()")) {
            let (what, fix) = (
                "a temporary folder of its own",
                "use touchline_testing::Folder",
            );
            findings.push(Finding::new(path, at + 1, what, fix));
        }
    }
    findings
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

    #[test]
    fn a_test_that_is_not_run_is_found() {
        let tests = "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n// #[ignore]\n";
        let repository = Repository::of(&[("crates/a/src/b.rs", tests)]);
        let findings = ignored_tests(&repository);
        assert_eq!(
            findings.iter().map(|found| found.line).collect::<Vec<_>>(),
            [2]
        );
    }

    #[test]
    fn a_temporary_folder_is_found_outside_of_the_kit() {
        let code = "fn f() {\n    std::env::temp_dir();\n}\n";
        let files = [("crates/a/tests/b.rs", code), (TEMPORARY[0], code)];
        let findings = temporary_folders(&Repository::of(&files));
        let places = findings
            .iter()
            .map(|found| (found.path.as_str(), found.line));
        assert_eq!(places.collect::<Vec<_>>(), [("crates/a/tests/b.rs", 2)]);
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
