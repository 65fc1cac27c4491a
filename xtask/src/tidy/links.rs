//! Links between the documents.

use super::{Finding, Repository};

/// Each link of a Markdown file to a file or folder of the repository leads somewhere.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in repository.with_extension("md") {
        let mut in_code = false;
        for (at, line) in text.lines().enumerate() {
            in_code ^= line.trim_start().starts_with("```");
            if in_code {
                continue;
            }
            for target in targets(line).filter(|target| !exists(repository, path, target)) {
                let what = format!("the link to '{target}' leads nowhere");
                findings.push(Finding::new(
                    path,
                    at + 1,
                    what,
                    "mend the path, relative to this file",
                ));
            }
        }
    }
    findings
}

/// Targets of `[text](target)` that are paths: not addresses of the web, not headings of the same file.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or_default().trim())
        .filter(|target| {
            !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
        })
}

fn exists(repository: &Repository, from: &str, target: &str) -> bool {
    let Some(path) = resolve(from, target) else {
        return false;
    };
    let folder = format!("{path}/");
    path.is_empty()
        || repository.files.contains_key(&path)
        || repository
            .files
            .keys()
            .any(|file| file.starts_with(&folder))
}

/// `target` as seen from the file `from`; `None` when it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
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
            ("docs/b.md", ""),
            ("crates/wire/src/lib.rs", ""),
        ];
        check(&Repository::of(&files)).len()
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        for line in [
            "[b](../b.md), [b](../b.md#heading), [a](a.md)",
            "[wire](../../crates/wire/) and [root](/docs/b.md)",
            "[web](https://example.org/x.md) [here](#heading)",
            "```\n[x](gone.md)\n```",
        ] {
            assert_eq!(count(line), 0, "{line}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for line in [
            "[b](b.md)",
            "[b](../../../b.md)",
            "[fine](a.md) [x](../gone/)",
        ] {
            assert_eq!(count(line), 1, "{line}");
        }
    }
}
