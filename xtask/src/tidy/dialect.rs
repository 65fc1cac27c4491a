//! Comments in plain technical English: phrases that leave out the noun, or use a word in a sense of its own, are counted
//! for each crate, and the counts may only fall.

use super::{Finding, Repository, source::Line};
use std::collections::BTreeMap;

/// First and last words of phrases, each first with each last.
const PHRASES: &[(&[&str], &[&str])] = &[
    (
        &["what"],
        &[
            "is", "was", "has", "had", "does", "did", "stands", "comes", "came",
        ],
    ),
    (
        &["who"],
        &["is", "has", "reads", "writes", "comes", "gives"],
    ),
    (&["nothing"], &["is", "was", "of"]),
    (&["has", "have", "had"], &["not"]),
    (&["is", "are", "was", "were"], &["no", "said"]),
    (&["is", "are", "was", "were", "be", "been"], &["told"]),
    (&["is", "are"], &["to be"]),
    (&["as it"], &["is", "was"]),
];

/// Words and phrases of one form.
const WORDS: &[&str] = &[
    "anew",
    "as ever",
    "begun",
    "borne",
    "by turns",
    "for want of",
    "heal",
    "heals",
    "hole",
    "holes",
    "lapped",
    "mortal",
    "nobody",
    "one behind the other",
    "overtaken",
    "patience",
    "so many",
    "spoilt",
    "stranger",
    "strangers",
    "whatever",
    "whoever",
    "witness",
];

/// Word before which "is no" is plain English: "there is no".
const BEFORE_NO: &str = "there ";

/// Phrases in the comments of each crate or folder. These numbers may only fall.
const MOST: &[(&str, usize)] = &[
    ("book", 1),
    ("fx-live", 4),
    ("feed", 2),
    ("fx", 4),
    ("fx-events", 1),
    ("gateway", 1),
    ("journal", 3),
    ("net", 1),
    ("relay", 1),
    ("session", 3),
    ("testing", 2),
    ("touchline", 6),
    ("transport", 2),
    ("types", 1),
    ("xtask", 1),
];

/// Phrases of comments, and lines with a comment, of a crate or folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Dialect {
    phrases: usize,
    comments: usize,
}

/// Each crate has as many phrases as its number, which falls with them.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, (path, found)) in by_crate(repository) {
        let most = MOST.iter().find(|(of, _)| *of == name);
        let most = most.map_or(0, |(_, most)| *most);
        let Dialect { phrases, .. } = found;
        if phrases != most {
            let what =
                format!("{phrases} phrases of house dialect in comments of {name}, and not {most}");
            let fix = match phrases > most {
                true => "name the noun: subject, verb, object; `cargo xtask dialect` lists them",
                false => "lower its number in xtask/src/tidy/dialect.rs",
            };
            findings.push(Finding::new(&path, 1, what, fix));
        }
    }
    findings
}

/// Prints each phrase with its place, and the number of each crate.
pub fn print(repository: &Repository, of: Option<&str>) {
    for (path, lines) in written(repository) {
        if of.is_some_and(|of| of != crate_of(path)) {
            continue;
        }
        for (number, line) in (1..).zip(lines) {
            for phrase in phrases(&line.comment) {
                println!("{path}:{number}: {phrase}: {}", line.comment.trim());
            }
        }
    }
    for (name, (_, found)) in by_crate(repository) {
        let Dialect { phrases, comments } = found;
        let share = 100.0 * phrases as f64 / comments.max(1) as f64;
        println!("{name:<20} {phrases:>4} in {comments:>5} lines of comments: {share:.1} in 100");
    }
}

/// A file and the counts of each crate or folder.
fn by_crate(repository: &Repository) -> BTreeMap<String, (String, Dialect)> {
    let mut crates: BTreeMap<String, (String, Dialect)> = BTreeMap::new();
    for (path, lines) in written(repository) {
        let entry = crates.entry(crate_of(path).to_owned());
        let (_, found) = entry.or_insert_with(|| (path.to_owned(), Dialect::default()));
        for line in lines.iter().filter(|line| !line.comment.trim().is_empty()) {
            found.comments += 1;
            found.phrases += phrases(&line.comment).count();
        }
    }
    crates
}

/// Files that were not generated, by their lines.
fn written(repository: &Repository) -> impl Iterator<Item = (&str, &[Line])> {
    let is_written = |path: &str| !repository.files[path].starts_with("// @generated");
    repository
        .rust_lines()
        .filter(move |(path, _)| is_written(path))
}

fn crate_of(path: &str) -> &str {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.split('/').next().unwrap_or_default()
}

/// The phrases of a comment.
fn phrases(comment: &str) -> impl Iterator<Item = String> {
    let lower = comment.to_lowercase();
    let pairs = PHRASES.iter().flat_map(|(firsts, lasts)| {
        let with_last = |first| lasts.iter().map(move |last| format!("{first} {last}"));
        firsts.iter().flat_map(with_last)
    });
    let all = pairs.chain(WORDS.iter().map(|word| (*word).to_owned()));
    all.flat_map(move |phrase| vec![phrase.clone(); count(&lower, &phrase)])
}

/// Occurrences of a phrase as whole words.
fn count(text: &str, phrase: &str) -> usize {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_whole = |at: &usize| {
        let (before, rest) = (&text[..*at], &text[at + phrase.len()..]);
        let is_free = phrase.ends_with(" no") && before.ends_with(BEFORE_NO);
        !is_free && !is_word(before.chars().next_back()) && !is_word(rest.chars().next())
    };
    let places = text.match_indices(phrase).map(|(at, _)| at);
    places.filter(is_whole).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_counted_in_comments_as_whole_words() {
        let text = "// What is no message is told anew.\nlet told = \"what is\"; // there is no gap, somewhat is\n";
        let repository = Repository::of(&[("crates/a/src/lib.rs", text)]);
        let (_, found) = by_crate(&repository)["a"].clone();
        let expected = Dialect {
            phrases: 4,
            comments: 2,
        };
        assert_eq!(found, expected);
        let findings = check(&repository);
        assert!(findings[0].what.starts_with("4 phrases"), "{findings:?}");
    }
}
