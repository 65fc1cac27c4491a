//! `cargo xtask public-api`: the public items of the client, held against the list that is committed.
//!
//! Programs of users are compiled against these items, so a change of one is a decision: it is seen in the list, and
//! CHANGELOG.md says it. The list is made by `cargo public-api`, which is installed below `target/` and needs a nightly
//! toolchain.

use crate::command::must;
use crate::{Tool, tool};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const LIST: &str = "crates/client/public-api.txt";

const PROGRAM: Tool = Tool {
    name: "cargo-public-api",
    version: "0.52.0",
    options: &[],
};

/// Compares the list, or writes it.
///
/// # Errors
/// An item was added, removed or changed: each is named. The tool cannot be installed or fails.
pub fn run(root: &Path, is_written: bool) -> Result<()> {
    let items = items(root)?;
    let path = root.join(LIST);
    if is_written {
        fs::write(&path, &items).with_context(|| format!("cannot write {LIST}"))?;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let differences = differences(&committed, &items);
    if !differences.is_empty() {
        bail!(
            "{LIST} is not the public interface any more:\n{}\nif that is meant: 'cargo xtask public-api --write', and \
             say it in CHANGELOG.md",
            differences.join("\n")
        );
    }
    println!("public-api: {} items, as listed", items.lines().count());
    Ok(())
}

/// Every public item, one a line, without those that the compiler derives.
fn items(root: &Path) -> Result<String> {
    let mut program = Command::new(tool(root, &PROGRAM)?);
    program
        .args(["public-api", "--package", "touchline-client"])
        .args(["--all-features", "-sss", "--color", "never"])
        .current_dir(root);
    must(&mut program).context("it needs a nightly toolchain: 'rustup toolchain install nightly'")
}

/// Lines that are in one of them, marked with `-` and `+`.
fn differences(before: &str, after: &str) -> Vec<String> {
    let missing = |from: &str, there: &str, mark: char| -> Vec<String> {
        let there: std::collections::HashSet<&str> = there.lines().collect();
        let lines = from.lines().filter(|line| !there.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect()
    };
    let mut all = missing(before, after, '-');
    all.extend(missing(after, before, '+'));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_and_added_items_are_named() {
        let before = "pub fn a()\npub fn b()\n";
        let after = "pub fn b()\npub fn c()\n";
        assert_eq!(differences(before, after), ["- pub fn a()", "+ pub fn c()"]);
        assert!(differences(before, before).is_empty());
    }
}
