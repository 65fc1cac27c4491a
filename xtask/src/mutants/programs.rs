//! Test programs of mutants: all of them built by one cargo, then run directly.
//!
//! `cargo test` compares every source file with the build before it runs a test. For most mutants that takes longer
//! than the test.

use crate::command::must;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

/// The variable whose value changes the build; all others only affect the test.
const COMPILER_FLAGS: &str = "RUSTFLAGS";

/// Parsed `test` of a mutant: variables of the environment, the program, the name of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection<'a> {
    /// `NAME=value ...`, empty without any.
    pub variables: &'a str,
    /// Arguments of `cargo test`: a package and one of its targets; empty means all of the copy.
    pub program: &'a str,
    /// Part of the test's name.
    pub name: &'a str,
}

impl<'a> Selection<'a> {
    /// Reads `[NAME=value ...] [-p PACKAGE TARGET] NAME`.
    pub fn of(test: &'a str) -> Self {
        let (before, name) = test.rsplit_once(' ').unwrap_or(("", test));
        let program_at = match before.starts_with('-') {
            true => 0,
            false => before.find(" -").map_or(before.len(), |at| at + 1),
        };
        let (variables, program) = before.split_at(program_at);
        Self {
            variables: variables.trim_end(),
            program,
            name,
        }
    }

    /// The variables of the environment under which the test runs, and its program is built.
    pub fn variables(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let words = self.variables.split_whitespace();
        words.filter_map(|word| word.split_once('='))
    }

    /// Key of the program's build: flags of the compiler, and the words that choose it.
    fn key(&self) -> (&'a str, &'a str) {
        let flags = self.variables().find(|(name, _)| *name == COMPILER_FLAGS);
        (flags.map_or("", |(_, value)| value), self.program)
    }

    /// The package of the program; none where all of the copy is meant.
    pub fn package(&self) -> Option<&'a str> {
        let mut words = self.program.split_whitespace();
        words.find(|word| *word == "-p")?;
        words.next()
    }

    /// The words that choose the program in its package, such as `--lib` or `--test system`.
    fn target(&self) -> Vec<&'a str> {
        let words = self.program.split_whitespace();
        let is_of_package = |word: &&str| *word == "-p" || Some(*word) == self.package();
        // A program may have the name of its package: only the first two words say the package.
        words
            .enumerate()
            .filter(|(at, word)| *at > 1 || !is_of_package(word))
            .map(|(_, word)| word)
            .collect()
    }

    /// Whether a program that cargo built is the one that is meant.
    fn chooses(&self, built: &Built) -> bool {
        let is_of_package = self
            .package()
            .is_none_or(|package| built.package == package);
        is_of_package
            && match self.target()[..] {
                [] => true,
                ["--lib"] => built.kind == "lib",
                ["--bin", name] => built.kind == "bin" && built.name == name,
                ["--test", name] => built.kind == "test" && built.name == name,
                _ => false,
            }
    }
}

/// A program of tests on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file to run.
    pub file: PathBuf,
    /// Folder of its package, where cargo runs it.
    pub folder: PathBuf,
}

/// A program as cargo reports it.
#[derive(Debug)]
struct Built {
    package: String,
    kind: String,
    name: String,
    program: Program,
}

/// The programs that the tests of a list of mutants name.
#[derive(Debug, Default)]
pub struct Programs<'a> {
    by_key: BTreeMap<(&'a str, &'a str), Vec<Program>>,
}

impl<'a> Programs<'a> {
    /// Builds the programs of `tests` in as few runs of cargo as their flags allow; `cargo` is `cargo test` in the right
    /// folder.
    ///
    /// # Errors
    /// A program does not compile, with the compiler's message, or a test names no program.
    pub fn build(cargo: impl Fn() -> Command, tests: &[Selection<'a>]) -> Result<Self> {
        let mut by_flags: BTreeMap<&str, Vec<Selection>> = BTreeMap::new();
        for test in tests {
            by_flags.entry(test.key().0).or_default().push(*test);
        }
        let mut programs = Programs::default();
        for (flags, tests) in by_flags {
            let mut command = cargo();
            command.args(choice(flags, &tests));
            command.args(["--no-run", "--message-format=json-render-diagnostics"]);
            if !flags.is_empty() {
                command.env(COMPILER_FLAGS, flags);
            }
            let said = must(&mut command);
            let said =
                said.context("the tests do not compile without any mutant; mend that first")?;
            let built = built(&said)?;
            for test in tests {
                let chosen = built.iter().filter(|built| test.chooses(built));
                let chosen: Vec<Program> = chosen.map(|built| built.program.clone()).collect();
                if chosen.is_empty() {
                    bail!("'cargo test {}' has no program", test.program);
                }
                programs.by_key.insert(test.key(), chosen);
            }
        }
        Ok(programs)
    }

    /// The programs in which a test is looked for: one, unless all of the copy is meant.
    ///
    /// # Panics
    /// For a test that was not among those of [`Programs::build`].
    pub fn of(&self, test: &Selection) -> &[Program] {
        let (flags, program) = test.key();
        let of_test = |key: &(&str, &str)| *key == (flags, program);
        let found = self.by_key.iter().find(|(key, _)| of_test(key));
        found
            .map(|(_, programs)| programs)
            .expect("built before it runs")
    }
}

/// The words behind `cargo test` that choose the programs of all `tests`. With all packages in view each is built with the
/// features of the workspace, and the dependencies are those of its tests. With compiler flags (a coverage build) no artefact
/// is shared, and only the packages of the tests are built.
fn choice<'a>(flags: &str, tests: &[Selection<'a>]) -> Vec<&'a str> {
    let packages: BTreeSet<&str> = tests.iter().filter_map(Selection::package).collect();
    let mut words = Vec::new();
    match flags.is_empty() && !packages.is_empty() {
        true => words.push("--workspace"),
        false => words.extend(packages.into_iter().flat_map(|package| ["-p", package])),
    }
    let targets: BTreeSet<Vec<&str>> = tests.iter().map(Selection::target).collect();
    words.extend(targets.into_iter().flatten());
    words
}

/// The programs of tests in cargo's messages, a JSON object a line.
fn built(messages: &str) -> Result<Vec<Built>> {
    let mut all = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value =
            serde_json::from_str(line).context("cargo printed a line that is no JSON")?;
        let is_test = message["profile"]["test"].as_bool() == Some(true);
        let Some(file) = message["executable"].as_str().filter(|_| is_test) else {
            continue;
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let manifest = text(&message["manifest_path"]);
        let folder = Path::new(&manifest).parent().unwrap_or(Path::new("."));
        all.push(Built {
            package: package_name(&text(&message["package_id"])).to_owned(),
            kind: text(&message["target"]["kind"][0]),
            name: text(&message["target"]["name"]),
            program: Program {
                file: PathBuf::from(file),
                folder: folder.to_owned(),
            },
        });
    }
    Ok(all)
}

/// The name in a package id: `path+file:///crates/feed#touchline-feed@0.1.0`, or `path+file:///touchline#0.1.0` where the
/// folder has the name of the package.
fn package_name(id: &str) -> &str {
    let (path, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_variables_program_and_name() {
        let test =
            Selection::of("SEED=7 RUSTFLAGS=--cfg=loom -p touchline-shm --test loom ring::ends");
        assert_eq!(test.variables, "SEED=7 RUSTFLAGS=--cfg=loom");
        assert_eq!(test.program, "-p touchline-shm --test loom");
        assert_eq!(test.name, "ring::ends");
        assert_eq!(test.key().0, "--cfg=loom");
        assert_eq!(test.target(), ["--test", "loom"]);
        let test = Selection::of("-p touchline --bin touchline top");
        assert_eq!(test.package(), Some("touchline"));
        assert_eq!(test.target(), ["--bin", "touchline"]);
        let test = Selection::of("counts");
        assert_eq!(
            (test.variables, test.program, test.name),
            ("", "", "counts")
        );
    }

    #[test]
    fn one_cargo_builds_all_programs_with_the_features_of_the_workspace() {
        let tests = [
            "-p touchline-feed --lib a",
            "-p touchline-shm --test shm b",
            "SEEDS=2 -p touchline-shm --test shm c",
        ];
        let tests = tests.map(Selection::of);
        assert_eq!(choice("", &tests).join(" "), "--workspace --lib --test shm");
        assert_eq!(
            choice("--cfg=loom", &tests[1..]).join(" "),
            "-p touchline-shm --test shm"
        );
        assert!(choice("", &[Selection::of("counts")]).is_empty());
    }

    #[test]
    fn programs_are_found_in_the_output_of_cargo() {
        let messages = r#"
{"reason":"compiler-artifact","package_id":"path+file:///a/crates/feed#touchline-feed@0.1.0","manifest_path":"/a/crates/feed/Cargo.toml","target":{"kind":["lib"],"name":"touchline_feed"},"profile":{"test":true},"executable":"/b/feed-1"}
{"reason":"compiler-artifact","package_id":"path+file:///a/crates/touchline#0.1.0","manifest_path":"/a/crates/touchline/Cargo.toml","target":{"kind":["bin"],"name":"touchline"},"profile":{"test":false},"executable":"/b/touchline"}
{"reason":"build-finished","success":true}
"#;
        let built = built(messages).unwrap();
        assert_eq!(built.len(), 1);
        assert!(Selection::of("-p touchline-feed --lib x").chooses(&built[0]));
        assert!(Selection::of("x").chooses(&built[0]));
        assert!(!Selection::of("-p touchline-book --lib x").chooses(&built[0]));
        assert!(!Selection::of("-p touchline-feed --test feed x").chooses(&built[0]));
        assert_eq!(built[0].program.folder, Path::new("/a/crates/feed"));
        assert_eq!(package_name("path+file:///a/touchline#0.1.0"), "touchline");
    }
}
