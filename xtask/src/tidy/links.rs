//! Links between the documents, and the table of contents of the site.

use super::{Finding, Repository};
use std::collections::BTreeSet;

/// Table of contents of the documentation site.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Each link of a Markdown file leads to a file or folder of the repository, and its anchor to a heading of that file.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in repository.with_extension("md") {
        for (line, target) in links(text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let Some(file) = existing(repository, path, file) else {
                let what = format!("the link to '{target}' leads nowhere");
                let fix = "correct the path, relative to this file";
                findings.push(Finding::new(path, line, what, fix));
                continue;
            };
            let has_anchors = file.ends_with(".md") && !anchor.is_empty();
            if has_anchors && !anchors(&repository.files[&file]).contains(anchor) {
                let what = format!("the link to '{target}' names no heading of {file}");
                let fix =
                    "correct the part behind '#': the heading in lower case, spaces as hyphens";
                findings.push(Finding::new(path, line, what, fix));
            }
        }
    }
    findings
}

/// Each page below `docs/` is in the table of contents of the site.
pub fn pages(repository: &Repository) -> Vec<Finding> {
    let contents = repository.files.get(SUMMARY).map_or("", String::as_str);
    let listed: BTreeSet<String> = links(contents)
        .into_iter()
        .filter_map(|(_, target)| resolve(SUMMARY, target))
        .collect();
    repository
        .with_extension("md")
        .filter(|(path, _)| path.starts_with("docs/") && *path != SUMMARY)
        .filter(|(path, _)| !listed.contains(*path))
        .map(|(path, _)| {
            let fix = format!("add a line for it to {SUMMARY}");
            Finding::new(path, 1, "the page is not in the table of contents", fix)
        })
        .collect()
}

/// Links `[text](target)` outside of code blocks, with their lines from 1. Web addresses are skipped.
fn links(text: &str) -> Vec<(usize, &str)> {
    prose(text)
        .flat_map(|(at, line)| targets(line).map(move |target| (at, target)))
        .collect()
}

/// Lines outside of code blocks, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((at + 1, line))
    })
}

fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.trim())
        .filter(|target| {
            !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
        })
}

/// Anchors of a Markdown file: its headings as GitHub and mdBook name them. The second heading of the same name ends in
/// `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text).filter(|(_, line)| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim();
        let slug: String = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let again = (1..).map(|number| format!("{slug}-{number}"));
        let free = [slug.clone()].into_iter().chain(again);
        anchors.extend(free.into_iter().find(|anchor| !anchors.contains(anchor)));
    }
    anchors
}

/// The file or folder of the repository that `target` means in the file `from`; an empty target means `from`.
fn existing(repository: &Repository, from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_owned());
    }
    let path = resolve(from, target)?;
    let folder = format!("{path}/");
    let is_folder = || {
        repository
            .files
            .keys()
            .any(|file| file.starts_with(&folder))
    };
    (path.is_empty() || repository.files.contains_key(&path) || is_folder()).then_some(path)
}

/// `target` as seen from the file `from`; `None` when it leaves the repository.
pub(crate) fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        match part {
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(line: &str) -> usize {
        let files = [
            ("docs/design/a.md", line),
            (
                "docs/b.md",
                "# Of `b`: what\n```sh\n# comment\n```\n## Twice\n## Twice\n",
            ),
            ("crates/wire/src/lib.rs", ""),
        ];
        check(&Repository::of(&files)).len()
    }

    #[test]
    fn valid_links_have_no_finding() {
        for line in [
            "[b](../b.md), [b](../b.md#of-b-what), [a](a.md)",
            "[first](../b.md#twice) [second](../b.md#twice-1)",
            "[wire](../../crates/wire/) and [root](/docs/b.md)",
            "[line](../../crates/wire/src/lib.rs#L1)",
            "# Heading\n[web](https://example.org/x.md) [here](#heading)",
            "```\n[x](gone.md)\n```",
        ] {
            assert_eq!(count(line), 0, "{line}");
        }
    }

    #[test]
    fn broken_links_are_found() {
        for line in [
            "[b](b.md)",
            "[b](../../../b.md)",
            "[fine](a.md) [x](../gone/)",
            "[b](../b.md#gone)",
            "[b](../b.md#comment)",
            "[b](../b.md#twice-2)",
            "[here](#heading)",
        ] {
            assert_eq!(count(line), 1, "{line}");
        }
    }

    #[test]
    fn a_page_that_the_contents_do_not_have_is_found() {
        let findings = |contents| {
            pages(&Repository::of(&[
                (SUMMARY, contents),
                ("docs/a.md", ""),
                ("docs/design/b.md", ""),
                ("README.md", ""),
            ]))
        };
        assert_eq!(findings("- [A](a.md)\n- [B](design/b.md)\n"), []);
        let found = findings("- [A](a.md)\n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "docs/design/b.md");
    }
}
