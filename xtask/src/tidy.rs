//! Rules of the repository, checked by a test.
//!
//! A rule is a function from the repository to findings. Each has a broken example in its own tests, so that it can
//! fail. A finding names the place, the mistake, and the fix.

pub(crate) mod circles;
mod commands;
pub mod dialect;
mod documented;
pub(crate) mod functions;
mod heads;
mod layers;
mod links;
mod map;
mod patterns;
mod promises;
mod repository;
mod shape;
mod source;
mod terms;
pub(crate) mod test_items;
mod venues;

use anyhow::{Result, bail};
pub(crate) use links::resolve;
pub use repository::{Edge, Repository, metadata};
use std::{collections::BTreeSet, fmt, path::Path};

type Rule = fn(&Repository) -> Vec<Finding>;

/// Rules with a function of their own, by the name in CONTRIBUTING.md.
const RULES: &[(&str, Rule)] = &[
    ("layers", layers::check),
    ("layers unused", layers::unused),
    ("map", map::check),
    ("venues", venues::check),
    ("client commands", commands::check),
    ("traits", promises::traits),
    ("invariants", promises::invariants),
    ("circles", circles::check),
    ("functions", functions::check),
    ("root", shape::root),
    ("names", shape::names),
    ("terms", terms::check),
    ("size", shape::size),
    ("crate heads", heads::check),
    ("no_std", heads::no_std),
    ("dialect", dialect::check),
    ("links", links::check),
    ("contents", links::pages),
    ("settings documented", documented::settings),
];

/// One violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// File, relative to the root of the repository.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Mistake.
    pub what: String,
    /// Fix.
    pub fix: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}; {}",
            self.path, self.line, self.what, self.fix
        )
    }
}

/// Checks the repository at `root` with every rule.
///
/// # Errors
/// Every finding, one per line, or the reason why the repository could not be read.
pub fn run(root: &Path) -> Result<()> {
    let findings = findings(&Repository::load(root)?);
    if findings.is_empty() {
        println!("tidy: {} rules hold", names().len());
        return Ok(());
    }
    let list: Vec<String> = findings.iter().map(ToString::to_string).collect();
    bail!("tidy: {} findings:\n{}", list.len(), list.join("\n"))
}

/// Every finding of every rule, by place.
pub fn findings(repository: &Repository) -> Vec<Finding> {
    let rules = RULES.iter().map(|(_, rule)| *rule);
    let mut all: Vec<Finding> = rules
        .chain([patterns::check as Rule])
        .flat_map(|rule| rule(repository))
        .collect();
    all.sort();
    all
}

/// Names of the rules.
fn names() -> BTreeSet<&'static str> {
    let patterns = patterns::PATTERNS.iter().map(|pattern| pattern.rule);
    let rules = RULES.iter().map(|(name, _)| *name);
    rules.chain(patterns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        if let Err(error) = run(&crate::root()) {
            panic!("{error}");
        }
    }

    #[test]
    fn a_finding_reads_as_place_fault_and_fix() {
        let finding = Finding::new("a/b.rs", 7, "too long", "split it");
        assert_eq!(finding.to_string(), "a/b.rs:7: too long; split it");
    }

    #[test]
    fn every_rule_is_explained_to_contributors() {
        let text = std::fs::read_to_string(crate::root().join("CONTRIBUTING.md")).unwrap();
        for name in names() {
            assert!(
                text.contains(&format!("**{name}**")),
                "CONTRIBUTING.md: explain the rule **{name}**"
            );
        }
    }
}
