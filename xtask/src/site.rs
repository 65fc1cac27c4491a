//! `cargo xtask site`: the documentation site, from the Markdown of the repository.
//!
//! ```text
//! README.md, ARCHITECTURE.md, …, docs/ ──► target/site/src, links to sources as text ──► mdBook ──► target/site/book
//! ```

use crate::tidy::resolve;
use crate::{Tool, tool};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    options: &["--no-default-features", "--features", "search"],
};

/// Pages outside `docs/`.
const PAGES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "competitors/README.md",
];

/// Builds the site and prints its path.
///
/// # Errors
/// mdBook cannot be installed or fails, or a file cannot be read or written.
pub fn run(root: &Path) -> Result<()> {
    let mdbook = tool(root, &MDBOOK)?;
    let site = crate::target_folder(root).join("site");
    if site.exists() {
        fs::remove_dir_all(&site).with_context(|| format!("cannot empty {}", site.display()))?;
    }
    stage(root, &site)?;
    let output = Command::new(mdbook)
        .arg("build")
        .arg(&site)
        .output()
        .context("cannot run mdbook")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        bail!("mdbook reports mistakes:\n{said}");
    }
    println!("site: {}", site.join("book/index.html").display());
    Ok(())
}

/// Copies pages and pictures to `site/src`, `docs/SUMMARY.md` to its top, and the configuration to `site`.
fn stage(root: &Path, site: &Path) -> Result<()> {
    let source = site.join("src");
    let mut pages: Vec<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    list(root, "docs", &mut pages)?;
    for page in &pages {
        let from = root.join(page);
        let to = match page.as_str() {
            "docs/SUMMARY.md" => source.join("SUMMARY.md"),
            "docs/book.toml" => site.join("book.toml"),
            "docs/site.css" => site.join("site.css"),
            _ => source.join(page),
        };
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        let context = || format!("cannot copy {page}");
        if page.ends_with(".md") {
            let text = fs::read_to_string(from).with_context(context)?;
            fs::write(to, rewritten(page, &text, &pages)).with_context(context)?;
        } else {
            fs::copy(from, to).with_context(context)?;
        }
    }
    Ok(())
}

/// Files below a folder of the repository, by path from its root.
fn list(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => list(root, &path, paths)?,
            false => paths.push(path),
        }
    }
    Ok(())
}

/// A page of the site: links in the table of contents are relative to its new place, and links to files outside the
/// site become plain paths.
fn rewritten(page: &str, text: &str, pages: &[String]) -> String {
    let is_summary = page == "docs/SUMMARY.md";
    let mut in_code = false;
    let mut written = String::with_capacity(text.len());
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            written += line;
        } else {
            written += &relinked(page, line, pages, is_summary);
        }
        written.push('\n');
    }
    written
}

fn relinked(page: &str, line: &str, pages: &[String], is_summary: bool) -> String {
    let mut written = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        let Some(end) = rest[at..].find(')') else {
            break;
        };
        let (before, target) = (&rest[..at], &rest[at + 2..at + end]);
        rest = &rest[at + end + 1..];
        let file = target.split('#').next().unwrap_or_default();
        let path = resolve(page, file).unwrap_or_default();
        let is_page = pages.contains(&path);
        if target.contains("://") || file.is_empty() || (is_page && !is_summary) {
            written += &format!("{before}]({target})");
        } else if is_page {
            written += &format!("{before}]({path})");
        } else {
            let open = before.rfind('[').unwrap_or(before.len());
            let label = before.get(open + 1..).unwrap_or_default();
            written += &before[..open];
            written += &unlinked(label, &path);
        }
    }
    written + rest
}

/// Replacement of a link to a file outside the site: the label, and the path unless the label is the path.
fn unlinked(label: &str, path: &str) -> String {
    let name = label.trim_matches('`');
    if path.ends_with(name) {
        return format!("`{path}`");
    }
    format!("{label} (`{path}`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Vec<String> {
        [
            "README.md",
            "docs/a.md",
            "docs/design/b.md",
            "docs/pictures/p.svg",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn links_to_pages_stay_and_links_to_sources_become_paths() {
        for (line, written) in [
            (
                "see [b](design/b.md#x), [web](https://a.b/c)",
                "see [b](design/b.md#x), [web](https://a.b/c)",
            ),
            (
                "![p](pictures/p.svg) [here](#there)",
                "![p](pictures/p.svg) [here](#there)",
            ),
            (
                "of [books](../crates/book/src/lib.rs).",
                "of books (`crates/book/src/lib.rs`).",
            ),
            (
                "[lib.rs](../crates/book/src/lib.rs) `x`",
                "`crates/book/src/lib.rs` `x`",
            ),
            ("[a](design/b.md) [ops](../ops)", "[a](design/b.md) `ops`"),
        ] {
            let text = rewritten("docs/a.md", line, &pages());
            assert_eq!(text, format!("{written}\n"));
        }
    }

    #[test]
    fn code_is_not_changed_and_the_contents_move_to_the_top() {
        let code = "```\n[x](../gone.rs)\n```\n";
        assert_eq!(rewritten("docs/a.md", code, &pages()), code);
        let contents = "- [Start](../README.md)\n  - [B](design/b.md)\n";
        assert_eq!(
            rewritten("docs/SUMMARY.md", contents, &pages()),
            "- [Start](README.md)\n  - [B](docs/design/b.md)\n"
        );
    }
}
