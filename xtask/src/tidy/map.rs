//! The map of the code: the files that the tables of ARCHITECTURE.md name.

use super::links::resolve;
use super::{Finding, Repository};

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Each file in the tables `| files of … |` of ARCHITECTURE.md exists. A name is relative to the folder of the name before
/// it, to that name as a folder, or to a folder of the table's head.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let text = repository.files.get(ARCHITECTURE);
    let mut findings = Vec::new();
    let mut folders: Vec<String> = Vec::new();
    for (at, line) in text.map_or("", String::as_str).lines().enumerate() {
        let Some(row) = line.strip_prefix('|') else {
            folders.clear();
            continue;
        };
        let first = row.split('|').next().unwrap_or_default();
        if first.trim_start().starts_with("files of ") {
            folders = names(first).map(folder).collect();
            continue;
        }
        let mut last: Option<String> = None;
        for name in names(first).filter(|_| !folders.is_empty()) {
            let found = places(name, &folders, last.as_deref())
                .into_iter()
                .find(|place| exists(repository, place));
            match found {
                Some(place) => last = Some(place),
                None => findings.push(Finding::new(
                    ARCHITECTURE,
                    at + 1,
                    format!("the file '{name}' does not exist"),
                    "correct the name, or remove it from the row",
                )),
            }
        }
    }
    findings
}

/// The text in back-ticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The folder of a name in the head of a table: a crate, or a crate and a module.
fn folder(name: &str) -> String {
    match name.split_once('/') {
        Some((package, module)) => format!("crates/{package}/src/{module}"),
        None => format!("crates/{name}/src"),
    }
}

/// Possible paths of a file with this name, the likeliest first.
fn places(name: &str, folders: &[String], last: Option<&str>) -> Vec<String> {
    let name = name.trim_end_matches("/*");
    let beside = last.and_then(|last| resolve(last, name));
    let below = last.map(|last| format!("{last}/{name}"));
    let from = |folder: &String| {
        [format!("{folder}/here"), folder.clone()]
            .into_iter()
            .filter_map(|from| resolve(&from, name))
    };
    let of_table = folders.iter().flat_map(from);
    beside.into_iter().chain(below).chain(of_table).collect()
}

fn exists(repository: &Repository, place: &str) -> bool {
    let folder = format!("{place}/");
    let is_folder = || {
        repository
            .files
            .keys()
            .any(|file| file.starts_with(&folder))
    };
    repository.files.contains_key(&format!("{place}.rs")) || is_folder()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rows: &str) -> usize {
        let table =
            format!("| files of `a` and `b/c` | what |\n|---|---|\n{rows}\n\n| `gone` | x |\n");
        check(&Repository::of(&[
            (ARCHITECTURE, &table),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/one/inner.rs", ""),
            ("crates/a/src/one/other.rs", ""),
            ("crates/b/src/c/two.rs", ""),
            ("crates/b/src/three.rs", ""),
        ]))
        .len()
    }

    #[test]
    fn existing_files_have_no_finding() {
        for row in [
            "| `one`, `one/inner`, `other` | x |",
            "| `one`, `inner`, `one/*` | x `gone` |",
            "| `two`, `c/two`, `../three`, `three` | x |",
        ] {
            assert_eq!(count(row), 0, "{row}");
        }
    }

    #[test]
    fn missing_files_are_found() {
        for row in ["| `gone` | x |", "| `one/gone` | x |", "| `inner` | x |"] {
            assert_eq!(count(row), 1, "{row}");
        }
    }
}
