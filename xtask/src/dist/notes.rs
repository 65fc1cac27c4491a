//! Release notes: the section of the changelog of a version.

use super::release::Release;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Name of the file.
pub const FILE: &str = "RELEASE_NOTES.md";

/// Notes of a release: its section of the changelog; for a commit without a tag, the unreleased section.
///
/// # Errors
/// The changelog has no such section: a tag without one is not released.
pub fn of(root: &Path, release: &Release) -> Result<String> {
    let changelog = fs::read_to_string(root.join("CHANGELOG.md"))?;
    let name = match release.version.split_once('~') {
        Some(_) => "Unreleased",
        None => &release.version,
    };
    let section = section(&changelog, name).with_context(|| {
        format!("CHANGELOG.md has no '## [{name}]': name its section after the version, and tag that commit")
    })?;
    Ok(format!("# Touchline {}\n\n{section}\n", release.version))
}

fn section<'a>(changelog: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = changelog.split_once(&format!("\n## [{name}]"))?;
    let (_date, rest) = rest.split_once('\n')?;
    let (section, _older) = rest.split_once("\n## [").unwrap_or((rest, ""));
    Some(section.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_its_own_section() {
        let changelog = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-05\n\n### Added\n\n- x\n\n## [0.1.0]\n\n- first\n";
        assert_eq!(section(changelog, "0.2.0"), Some("### Added\n\n- x"));
        assert_eq!(section(changelog, "0.1.0"), Some("- first"));
        assert_eq!(section(changelog, "Unreleased"), Some(""));
        assert_eq!(section(changelog, "0.3.0"), None);
    }

    /// `cargo xtask dist` needs this section, before a release and of its commit.
    #[test]
    fn the_changelog_has_a_section_for_the_next_release() {
        let changelog = fs::read_to_string(crate::root().join("CHANGELOG.md")).unwrap();
        let names = ["Unreleased", env!("CARGO_PKG_VERSION")];
        let mut sections = names.iter().filter_map(|name| section(&changelog, name));
        assert!(sections.any(|section| !section.is_empty()));
    }
}
