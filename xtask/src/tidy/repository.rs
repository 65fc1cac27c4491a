//! Input of the rules: every text file, and every dependency between our packages.

use super::source::{self, Line};
use crate::command::{cargo, must};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::OnceLock,
};

/// Folders that are not source: build output and version control, which is a file in a worktree.
const SKIPPED: &[&str] = &[
    "target",
    "competitors/target",
    "competitors/java/target",
    ".git",
];

/// First line of a generated file; rules about hand-written code skip it.
const GENERATED: &str = "// @generated";

/// The repository in memory.
#[derive(Debug, Default)]
pub struct Repository {
    /// Text by path relative to the root, with forward slashes. A file that is not UTF-8 has an empty text.
    pub files: BTreeMap<String, String>,
    /// Dependencies of our packages on our packages.
    pub edges: BTreeSet<Edge>,
    /// The Rust files as lines: split at the first use, since most rules read them.
    lines: OnceLock<BTreeMap<String, Vec<Line>>>,
}

/// A dependency of one of our packages on another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The package that depends.
    pub from: String,
    /// The package that it depends on.
    pub to: String,
    /// Whether only tests, examples and benches use it.
    pub dev: bool,
}

impl Repository {
    /// Reads the files below `root` and asks cargo for the dependencies.
    ///
    /// # Errors
    /// A file cannot be read, or `cargo metadata` fails.
    pub fn load(root: &Path) -> Result<Self> {
        let mut repository = Self {
            edges: edges(&metadata(root, &["--no-deps"])?),
            ..Self::default()
        };
        repository.walk(root, "")?;
        Ok(repository)
    }

    /// Hand-written Rust files: path and text.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.with_extension("rs")
            .filter(|(_, text)| !text.starts_with(GENERATED))
    }

    /// Every Rust file, generated ones too, taken apart into lines.
    pub fn rust_lines(&self) -> impl Iterator<Item = (&str, &[Line])> {
        let split = |(path, text): (&str, &str)| (path.to_owned(), source::lines(text));
        self.lines
            .get_or_init(|| self.with_extension("rs").map(split).collect())
            .iter()
            .map(|(path, lines)| (path.as_str(), lines.as_slice()))
    }

    /// Files whose name ends in `.extension`: path and text.
    pub fn with_extension(&self, extension: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(move |(path, _)| Path::new(path).extension().is_some_and(|e| e == extension))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Root files of libraries and programs: path and text.
    pub fn crate_roots(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rust()
            .filter(|(path, _)| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"))
    }

    fn walk(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        for entry in
            fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
        {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                bail!(
                    "{}: the name is not UTF-8; rename it",
                    entry.path().display()
                );
            };
            let path = format!("{prefix}{name}");
            if SKIPPED.contains(&path.as_str()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                self.walk(&entry.path(), &format!("{path}/"))?;
            } else if entry.file_type()?.is_file() {
                // A link names a file that is read at its own place.
                let bytes =
                    fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
                self.files
                    .insert(path, String::from_utf8(bytes).unwrap_or_default());
            }
        }
        Ok(())
    }
}

/// The answer of `cargo metadata` for the workspace at `root`.
///
/// # Errors
/// Cargo cannot be run, or its output is not JSON.
pub fn metadata(root: &Path, arguments: &[&str]) -> Result<Value> {
    let mut cargo = cargo(root);
    cargo.args(["metadata", "--format-version", "1"]);
    let said = must(cargo.args(arguments))?;
    serde_json::from_str(&said).context("cargo metadata did not answer with JSON")
}

fn edges(metadata: &Value) -> BTreeSet<Edge> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut edges = BTreeSet::new();
    for package in list(&metadata["packages"]) {
        // Our own packages are those with a path.
        for dependency in list(&package["dependencies"])
            .iter()
            .filter(|d| d["path"].is_string())
        {
            edges.insert(Edge {
                from: text(&package["name"]),
                to: text(&dependency["name"]),
                dev: dependency["kind"] == "dev",
            });
        }
    }
    edges
}

#[cfg(test)]
impl Repository {
    /// A repository of these files only, for the tests of the rules.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Self {
            files,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn edges_are_read_from_cargo_metadata() {
        let metadata = json!({"packages": [{"name": "a", "dependencies": [
            {"name": "b", "path": "/b", "kind": null},
            {"name": "c", "path": "/c", "kind": "dev"},
            {"name": "d", "path": "/d", "kind": "build"},
            {"name": "serde", "kind": null},
        ]}]});
        let edge = |to: &str, dev| Edge {
            from: "a".into(),
            to: to.into(),
            dev,
        };
        assert_eq!(
            edges(&metadata),
            BTreeSet::from([edge("b", false), edge("c", true), edge("d", false)])
        );
    }

    #[test]
    fn build_output_is_not_read() {
        let repository = Repository::load(&crate::root()).unwrap();
        assert!(
            repository
                .files
                .contains_key("xtask/src/tidy/repository.rs")
        );
        assert!(
            !repository
                .files
                .keys()
                .any(|path| path.starts_with("target/"))
        );
        assert!(
            repository
                .files
                .keys()
                .any(|path| path.starts_with("competitors/"))
        );
        assert!(!repository.files.keys().any(|path| {
            path.starts_with("competitors/target/") || path.starts_with("competitors/java/target/")
        }));
    }
}
