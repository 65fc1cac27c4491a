//! Rules that are patterns: words and texts that must not occur, each with the places where they may.

use super::source::{Line, find_word};
use super::{Finding, Repository};

/// Phrases that must not occur.
pub(super) struct Pattern {
    /// Name of the rule, as in CONTRIBUTING.md.
    pub rule: &'static str,
    /// Alternatives; one in capitals is meant in capitals. Spelt in two parts, or this list would find itself.
    phrases: &'static [&'static str],
    sought: Sought,
    /// Starts of the paths that are searched; all if there is none.
    within: &'static [&'static str],
    /// Starts of paths that are left out.
    except: &'static [&'static str],
    what: &'static str,
    fix: &'static str,
}

/// Text that is searched, and form of an occurrence.
#[derive(Clone, Copy)]
enum Sought {
    /// A whole word of Rust code, without comments and strings.
    Word,
    /// Any part of Rust code.
    Code,
    /// Whole words of any file; a phrase with a slash also within a word.
    Text,
    /// The same, with a number behind it.
    Numbered,
}

/// Texts that are not ours to word.
const FOREIGN: &[&str] = &["Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE"];

/// Form of the banned words.
const BANNED: Pattern = Pattern {
    rule: "banned words",
    phrases: &[],
    sought: Sought::Text,
    within: &[],
    except: FOREIGN,
    what: "a word without information",
    fix: "write 'use'",
};

/// Every pattern.
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        rule: "unsafe places",
        phrases: &["unsafe"],
        sought: Sought::Word,
        within: &[],
        // Mapped memory, the kernel's interfaces, Aeron's C interface, pointers of C programs, the allocator that counts, an
        // import of Python that may not return, and the rivals, which are not shipped. Other crates forbid it to themselves.
        except: &[
            "crates/shm/",
            "crates/net/",
            "crates/aeron/",
            "crates/capi/",
            "crates/lab/src/frozen.rs",
            "crates/python/src/numpy.rs",
            "competitors/",
        ],
        what: "unsafe code outside its places",
        fix: "write it safely, or move it to a place that xtask/src/tidy/patterns.rs lists",
    },
    Pattern {
        rule: "stages",
        phrases: &["Feed", "SessionFeed", "FeedLink", "Pipeline"],
        sought: Sought::Word,
        within: &["crates/gateway/src/"],
        // The file that has the order of the stages, the links and their drivers, the venues, displays of their counters.
        except: &[
            "crates/gateway/src/lib.rs",
            "crates/gateway/src/pipeline.rs",
            "crates/gateway/src/live.rs",
            "crates/gateway/src/live/",
            "crates/gateway/src/replay.rs",
            "crates/gateway/src/retransmission.rs",
            "crates/gateway/src/venues.rs",
            "crates/gateway/src/venues/",
            "crates/gateway/src/counters_file.rs",
        ],
        what: "a stage uses a stage before it",
        fix: "pass the data in the event, the batch or a value",
    },
    Pattern {
        rule: "no_std",
        phrases: &["extern crate alloc"],
        sought: Sought::Code,
        within: &["crates/wire/src/"],
        except: &[],
        what: "a codec that allocates",
        fix: "return borrowed views, and let the caller own what must be kept",
    },
    Pattern {
        rule: "ignored tests",
        phrases: &["#[ignore"],
        sought: Sought::Code,
        within: &[],
        except: &[],
        what: "a test that is not run",
        fix: "make it fit to run, or remove it",
    },
    Pattern {
        rule: "temporary folders",
        phrases: &["temp_dir()"],
        sought: Sought::Code,
        within: &[],
        // Folders that are not of a test, the kit of the tests, and a file that a failed test leaves.
        except: &[
            "crates/testing/src/folder.rs",
            "crates/touchline/src/bench/decode_fix.rs",
            "crates/touchline/src/demo/folder.rs",
            "crates/touchline/src/top/draw/tests.rs",
            "fuzz/src/config.rs",
        ],
        what: "a temporary folder of its own",
        fix: "use touchline_testing::Folder",
    },
    Pattern {
        phrases: &[
            concat!("TO", "DO"),
            concat!("FIX", "ME"),
            concat!("XX", "X"),
        ],
        what: "a mark of unfinished work",
        fix: "do it, or describe the limit as it is",
        ..BANNED
    },
    Pattern {
        phrases: &[concat!("for", " now")],
        what: "a mark of unfinished work",
        fix: "finish it, or leave it out",
        ..BANNED
    },
    Pattern {
        phrases: &[concat!("blazing", "ly")],
        what: "praise without content",
        fix: "give the figure and the command that measures it",
        ..BANNED
    },
    Pattern {
        phrases: &[concat!("uti", "lize"), concat!("lever", "age")],
        ..BANNED
    },
    Pattern {
        phrases: &[
            concat!("/wo", "rk/"),
            concat!("/ho", "me/"),
            concat!("/ro", "ot/"),
        ],
        what: "a path of one machine",
        fix: "use an environment variable or an argument",
        ..BANNED
    },
    Pattern {
        phrases: &[concat!("../sha", "red")],
        // The script that sets the variables.
        except: &["Cargo.lock", ".ci/run"],
        what: "a folder outside the repository",
        fix: "use the environment variables that .ci/run sets",
        ..BANNED
    },
    Pattern {
        phrases: &["issue"],
        sought: Sought::Numbered,
        what: "the number of a ticket",
        fix: "say what it was about; numbers go stale",
        ..BANNED
    },
];

/// Occurrences of every pattern.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        let patterns: Vec<_> = of(path, true).collect();
        for (at, line) in (1..).zip(lines) {
            let found = patterns.iter().filter_map(|pattern| pattern.in_code(line));
            findings.extend(found.map(|(what, fix)| Finding::new(path, at, what, fix)));
        }
    }
    for (path, text) in &repository.files {
        let patterns: Vec<_> = of(path, false).collect();
        for (at, line) in (1..).zip(text.lines()) {
            let lower = line.to_lowercase();
            let found = patterns.iter();
            let found = found.filter_map(|pattern| pattern.in_text(line, &lower));
            findings.extend(found.map(|(what, fix)| Finding::new(path, at, what, fix)));
        }
    }
    findings
}

/// Patterns of a file: those of code, or those of text.
fn of(path: &str, is_code: bool) -> impl Iterator<Item = &'static Pattern> {
    let starts = |places: &[&str]| places.iter().any(|start| path.starts_with(start));
    PATTERNS.iter().filter(move |pattern| {
        matches!(pattern.sought, Sought::Word | Sought::Code) == is_code
            && (pattern.within.is_empty() || starts(pattern.within))
            && !starts(pattern.except)
    })
}

impl Pattern {
    fn in_code(&self, line: &Line) -> Option<(String, &'static str)> {
        self.first(|phrase| match self.sought {
            Sought::Word => line.has_word(phrase),
            _ => line.code.contains(phrase),
        })
    }

    fn in_text(&self, line: &str, lower: &str) -> Option<(String, &'static str)> {
        self.first(|phrase| {
            let is_in_capitals = phrase.starts_with(|c: char| c.is_uppercase());
            let line = if is_in_capitals { line } else { lower };
            match self.sought {
                Sought::Text if phrase.contains('/') => line.contains(phrase),
                Sought::Text => find_word(line, phrase).is_some(),
                _ => find_word(line, phrase).is_some_and(|at| {
                    let rest = &line[at + phrase.len()..];
                    let number = rest.trim_start_matches([' ', '#']);
                    number.len() < rest.len() && number.starts_with(|c: char| c.is_ascii_digit())
                }),
            }
        })
    }

    fn first(&self, occurs: impl Fn(&str) -> bool) -> Option<(String, &'static str)> {
        let phrase = self.phrases.iter().find(|phrase| occurs(phrase))?;
        Some((format!("'{phrase}', {}", self.what), self.fix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let findings = check(&Repository::of(files));
        let places = findings.into_iter().map(|found| (found.path, found.line));
        places.collect()
    }

    #[test]
    fn each_phrase_is_found_where_it_is_sought_and_not_in_its_places() {
        for pattern in PATTERNS {
            for phrase in pattern.phrases {
                let (start, extension, text) = match pattern.sought {
                    Sought::Word => ("crates/book/src/", "rs", format!("\na {phrase} b\n")),
                    Sought::Code => ("crates/book/src/", "rs", format!("\nlet a = b{phrase};\n")),
                    Sought::Text => (
                        "docs/",
                        "md",
                        format!("\nand {} b\n", phrase.to_uppercase()),
                    ),
                    Sought::Numbered => ("docs/", "md", format!("\nsee {phrase} #12\n")),
                };
                let start = pattern.within.first().unwrap_or(&start);
                let path = format!("{start}a.{extension}");
                assert_eq!(places(&[(&path, &text)]), [(path, 2)], "{phrase}");
                for place in pattern.except {
                    assert_eq!(places(&[(place, &text)]), [], "{phrase}, {place}");
                }
            }
        }
    }

    #[test]
    fn other_words_have_no_finding() {
        for (path, text) in [
            (
                "crates/book/src/a.rs",
                "#![forbid(unsafe_code)] // not unsafe\nlet a = \"unsafe\";",
            ),
            ("crates/book/src/a.rs", "fn f(feed: &impl Feed) {}"),
            (
                "crates/gateway/src/books.rs",
                "use touchline_feed::{BookRules, Feedback};",
            ),
            ("crates/a/src/b.rs", "#[test]\nfn f() {}\n// #[ignore]\n"),
            ("docs/a.md", "mastodons, tissue 5, an iss2, a task to do"),
        ] {
            assert_eq!(places(&[(path, text)]), [], "{text}");
        }
    }
}
