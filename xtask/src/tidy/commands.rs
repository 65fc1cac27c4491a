//! Commands that use only the client: a feature that they lack is missing in the client.
//!
//! The rule follows the modules of the program that these commands use, directly or through other modules.

use super::source::Line;
use super::test_items::TestItems;
use super::{Finding, Repository, circles};
use std::collections::BTreeSet;

/// Sources of the program.
const SOURCES: &str = "crates/touchline/src/";

/// Files and folders of such commands, below [`SOURCES`]. Add a command here after porting it.
const COMMANDS: &[&str] = &["book", "follow", "metrics", "stat", "tail", "top"];

/// The only crate of ours that they may use.
const CLIENT: &str = "touchline_client";

/// Modules that these commands share with the others, and the crates that these others need there. Entries that are not
/// used any more must be removed.
const SHARED: &[(&str, &[&str])] = &[
    // Rows of `replay` beside those of `follow`: out of the pipeline.
    (
        "books",
        &[
            "touchline_book",
            "touchline_gateway",
            "touchline_transport",
            "touchline_types",
        ],
    ),
    // `rm` and `stat --prune` find processes that use a bus.
    ("bus_users", &["touchline_transport"]),
    ("rm", &["touchline_gateway", "touchline_transport"]),
    // Names and meaning of counters, which the gateway writes.
    ("counted", &["touchline_gateway", "touchline_transport"]),
    // Text of a UTC time.
    ("format", &["touchline_wire"]),
    ("log", &["touchline_wire"]),
    // Names that are similar to a missing one, and directories of buses that publishers create.
    ("missing", &["touchline_settings", "touchline_transport"]),
    ("place", &["touchline_gateway", "touchline_transport"]),
    // Exit statuses of the errors of all commands.
    (
        "output",
        &["touchline_gateway", "touchline_net", "touchline_settings"],
    ),
    // Prices of `replay`.
    ("record", &["touchline_types"]),
    // The format of the simulator's expected states.
    ("states", &["touchline_types"]),
];

/// Crates that a user's program has are allowed in these commands, too.
pub fn check(repository: &Repository) -> Vec<Finding> {
    checked(repository, SHARED)
}

fn checked(repository: &Repository, shared: &[(&str, &[&str])]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let uses = circles::uses_in(repository, SOURCES);
    let mut needed = BTreeSet::new();
    let (mut seen, mut next) = (
        BTreeSet::new(),
        COMMANDS
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>(),
    );
    while let Some(module) = next.pop() {
        if !seen.insert(module.clone()) {
            continue;
        }
        let allowed = shared.iter().find(|(name, _)| *name == module);
        let allowed = allowed.map_or(&[][..], |(_, crates)| crates);
        let files = uses.iter().filter(|(file, _)| file[0] == module);
        next.extend(files.flat_map(|(_, used)| used).map(|used| used[0].clone()));
        for (path, lines) in files_of(repository, &module) {
            for (line, other) in crates_used(lines, &repository.files[path]) {
                match allowed.contains(&other) {
                    true => drop(needed.insert((module.clone(), other.to_owned()))),
                    false => findings.push(Finding::new(
                        path,
                        line,
                        format!("`{other}` in a command that may use only the client, or in a module that it uses"),
                        "add it to touchline-client, because users' programs need it too",
                    )),
                }
            }
        }
    }
    for (module, crates) in shared {
        for unused in crates
            .iter()
            .filter(|name| !needed.contains(&((*module).to_owned(), (**name).to_owned())))
        {
            findings.push(Finding::new(
                "xtask/src/tidy/commands.rs",
                1,
                format!("no command of the client uses `{unused}` through `{module}`"),
                "remove it from the table SHARED",
            ));
        }
    }
    findings
}

/// Lines of the files of a module without those of its tests, which may use other crates to publish.
fn files_of<'a>(
    repository: &'a Repository,
    module: &str,
) -> impl Iterator<Item = (&'a str, &'a [Line])> {
    repository.rust_lines().filter(move |(path, _)| {
        let rest = path
            .strip_prefix(SOURCES)
            .and_then(|path| path.strip_prefix(module));
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        !is_test && rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    })
}

/// Other crates of ours that are named outside tests, with their lines from 1.
fn crates_used<'a>(lines: &'a [Line], text: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let tests = TestItems::of(text);
    let lines = (1..).zip(lines);
    let lines = lines.filter(move |(number, _)| !tests.has_line(*number));
    lines.flat_map(|(number, line)| {
        let words = line.code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let others = words.filter(|word| word.starts_with("touchline_") && *word != CLIENT);
        others.map(move |other| (number, other))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_the_client_names_no_other_crate_of_ours() {
        let other = "use touchline_client::Bus;\nuse touchline_transport::shm::Root;\n";
        let tested =
            "use touchline_client::Bus;\n#[cfg(test)]\nmod tests { use touchline_lab::random; }\n";
        let found = |path: &str, text: &str| {
            let findings = checked(&Repository::of(&[(path, text)]), &[]);
            findings
                .iter()
                .map(|finding| finding.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(found("crates/touchline/src/tail.rs", other), [2]);
        assert_eq!(found("crates/touchline/src/tail/text.rs", other), [2]);
        assert_eq!(
            found("crates/touchline/src/tail/text.rs", tested),
            [0_usize; 0]
        );
        assert_eq!(
            found("crates/touchline/src/tail/json/tests.rs", other),
            [0_usize; 0]
        );
        assert_eq!(
            found("crates/touchline/src/tail/json/tests/names.rs", other),
            [0_usize; 0]
        );
        assert_eq!(found("crates/touchline/src/tailor.rs", other), [0_usize; 0]);
        assert_eq!(found("crates/touchline/src/replay.rs", other), [0_usize; 0]);
    }

    fn places(files: &[(&str, &str)], shared: &[(&str, &[&str])]) -> Vec<(String, usize)> {
        let findings = checked(&Repository::of(files), shared);
        findings
            .into_iter()
            .map(|finding| (finding.path, finding.line))
            .collect()
    }

    /// Each of these trees reaches a crate that the client hides.
    #[test]
    fn modules_that_a_command_uses_are_followed() {
        const TAIL: &str = "crates/touchline/src/tail.rs";
        const JSON: &str = "crates/touchline/src/tail/json.rs";
        const PLACE: &str = "crates/touchline/src/place.rs";
        const DEEP: &str = "crates/touchline/src/place/deep.rs";
        const NET: &str = "use touchline_net::udp;\n";
        let broken = [(PLACE.to_owned(), 1)];
        for (path, text) in [
            (TAIL, "use crate::place::Place;\n"),
            (TAIL, "use super::place::Place;\n"),
            (
                TAIL,
                "use crate::{\n    output::{Failure, Output},\n    place,\n};\n",
            ),
            (TAIL, "fn place() { crate::place::of(1); }\n"),
            (JSON, "use super::super::place;\n"),
            (TAIL, "#[cfg(test)]\nmod tests;\nuse crate::place;\n"),
            (
                TAIL,
                "#[cfg(test)]\npub use list::{\n    List,\n};\nuse crate::place;\n",
            ),
            (
                TAIL,
                "#[cfg(test)]\nimpl Tail {\n    fn a() {}\n}\nuse crate::place;\n",
            ),
        ] {
            assert_eq!(places(&[(path, text), (PLACE, NET)], &[]), broken, "{text}");
        }
        // Through another module, and in a file below the module.
        let through = [
            (TAIL, "use crate::output::Failure;\n"),
            ("crates/touchline/src/output.rs", "use crate::place;\n"),
            (PLACE, "mod deep;\n"),
            (DEEP, NET),
        ];
        assert_eq!(places(&through, &[]), [(DEEP.to_owned(), 1)]);
        for text in [
            "use super::output;\n",
            "use other_crate::place;\n",
            "#[cfg(test)]\nmod tests { use crate::place; }\n",
            "#[cfg(test)]\nmod tests {\n    fn a() {}\n    use crate::place;\n}\n",
            "#[cfg(test)]\n#[expect(missing_docs)]\nuse crate::{\n    place,\n};\n",
            "use crate::output::place;\n",
        ] {
            assert_eq!(places(&[(TAIL, text), (PLACE, NET)], &[]), [], "{text}");
        }
        assert_eq!(
            places(&[(JSON, "use super::place;\n"), (PLACE, NET)], &[]),
            []
        );
    }

    #[test]
    fn shared_modules_may_use_what_the_table_names_and_the_table_has_no_more() {
        let tree = [
            ("crates/touchline/src/tail.rs", "use crate::place;\n"),
            ("crates/touchline/src/place.rs", "use touchline_net::udp;\n"),
        ];
        let table = ("xtask/src/tidy/commands.rs".to_owned(), 1);
        assert_eq!(places(&tree, &[("place", &["touchline_net"])]), []);
        let too_many = places(&tree, &[("place", &["touchline_net", "touchline_shm"])]);
        assert_eq!(too_many, std::slice::from_ref(&table));
        let of_another = places(&tree, &[("output", &["touchline_net"])]);
        assert_eq!(
            of_another,
            [("crates/touchline/src/place.rs".to_owned(), 1), table]
        );
    }
}
