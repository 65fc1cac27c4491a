//! Changes since a base: whether anything changed that a comparison with a foreign program covers, and which part of a
//! slow check a commit runs.
//!
//! The base is `TOUCHLINE_BASE`, or the commit that the file `.ci/base` names, or the last tag before this commit. Without a
//! base, or without an answer of git, everything counts as changed.

use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

/// Option that skips a comparison if nothing changed.
pub const OPTION: &str = "--if-changed";

/// The last commit that passed every check.
const BASE: &str = ".ci/base";

/// The base since which none of `paths` changed; their comparison can be skipped.
pub fn unchanged_since(root: &Path, paths: &[&str]) -> Option<String> {
    let named = env::var("TOUCHLINE_BASE").ok();
    let base = named
        .or_else(|| recorded_base(root))
        .or_else(|| last_tag(root))?;
    is_unchanged(root, &base, paths).then_some(base)
}

/// Says whether any of `paths` changed since the base: `changed`, or `unchanged since BASE`.
///
/// # Errors
/// A path does not exist: moved code must be listed under its new path, or its changes would be overlooked.
pub fn answer(root: &Path, paths: &[&str]) -> Result<String> {
    if let Some(absent) = paths.iter().find(|path| !root.join(path).exists()) {
        bail!("{absent} is not there; name where its code is now");
    }
    Ok(match unchanged_since(root, paths) {
        Some(base) => format!("unchanged since {base}"),
        None => "changed".to_owned(),
    })
}

/// The commit that the file of the base names.
fn recorded_base(root: &Path) -> Option<String> {
    let base = fs::read_to_string(root.join(BASE)).ok()?;
    Some(base.trim().to_owned())
}

/// Last tag before this commit: a tagged commit is compared with the previous tag.
fn last_tag(root: &Path) -> Option<String> {
    let mut git = git(root);
    git.args(["describe", "--tags", "--abbrev=0", "HEAD^"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let tag = String::from_utf8(output.stdout).ok()?;
    Some(tag.trim().to_owned())
}

fn is_unchanged(root: &Path, base: &str, paths: &[&str]) -> bool {
    let mut git = git(root);
    git.args(["diff", "--quiet", base, "--"]).args(paths);
    git.status().is_ok_and(|status| status.success())
}

/// Index of the part that a commit runs, from 0 to `parts`. Derived from the commit id, so that every part runs
/// regularly.
///
/// # Errors
/// The text does not start with eight hexadecimal digits.
pub fn part_of(id: &str, parts: usize) -> Result<usize> {
    let digits = id
        .get(..8)
        .and_then(|id| usize::from_str_radix(id, 16).ok());
    let digits = digits.with_context(|| format!("'{id}' is not the id of a commit"))?;
    Ok(digits % parts)
}

fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).stdin(Stdio::null());
    git.stderr(Stdio::null());
    // Git hooks set these, possibly for another repository than `root`.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    git
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::PathBuf};

    /// A repository without a commit; `None`, with a message, without git.
    fn repository(name: &str) -> Option<PathBuf> {
        if Command::new("git").arg("--version").output().is_err() {
            touchline_testing::skip("there is no git here");
            return None;
        }
        let root = crate::target_folder(&crate::root())
            .join("changed")
            .join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        run(&root, &["init", "--quiet"]);
        Some(root)
    }

    fn run(root: &Path, arguments: &[&str]) {
        let mut git = git(root);
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
        assert!(
            git.args(arguments).status().unwrap().success(),
            "{arguments:?}"
        );
    }

    fn commit(root: &Path, file: &str) {
        fs::write(root.join(file), file).unwrap();
        run(root, &["add", "."]);
        run(root, &["commit", "--quiet", "--message", file]);
    }

    #[test]
    fn changes_since_the_last_tag_or_the_base_are_found() {
        let Some(root) = repository("tags") else {
            return;
        };
        commit(&root, "a");
        assert_eq!(last_tag(&root), None, "no tag is no base");
        run(&root, &["tag", "v1"]);
        assert_eq!(
            last_tag(&root),
            None,
            "a tagged commit is no base of its own"
        );
        commit(&root, "b");
        run(&root, &["tag", "v2"]);
        assert_eq!(last_tag(&root).as_deref(), Some("v1"));
        assert!(is_unchanged(&root, "v1", &["a", "c"]));
        assert!(!is_unchanged(&root, "v1", &["a", "b"]));
        fs::write(root.join("a"), "more").unwrap();
        assert!(!is_unchanged(&root, "v1", &["a"]), "nor is it committed");
    }

    #[test]
    fn the_recorded_base_comes_before_the_last_tag() {
        let Some(root) = repository("recorded") else {
            return;
        };
        commit(&root, "a");
        run(&root, &["tag", "v1"]);
        commit(&root, "b");
        commit(&root, "c");
        assert_eq!(unchanged_since(&root, &["b"]), None);
        fs::create_dir_all(root.join(".ci")).unwrap();
        fs::write(root.join(BASE), "HEAD^\n").unwrap();
        assert_eq!(unchanged_since(&root, &["b"]).as_deref(), Some("HEAD^"));
        assert_eq!(unchanged_since(&root, &["c"]), None);
        assert_eq!(answer(&root, &["b"]).unwrap(), "unchanged since HEAD^");
        assert_eq!(answer(&root, &["b", "c"]).unwrap(), "changed");
        assert!(answer(&root, &["b", "moved"]).is_err());
    }

    #[test]
    fn untracked_files_count_as_changed() {
        let Some(root) = repository("unknown") else {
            return;
        };
        assert!(!is_unchanged(&root, "v1", &["a"]));
        fs::create_dir_all(root.join(".ci")).unwrap();
        fs::write(root.join(BASE), "0123456789\n").unwrap();
        assert_eq!(unchanged_since(&root, &["a"]), None, "no such commit here");
    }

    /// Moved code must be listed under its new path, or its changes would be overlooked.
    #[test]
    fn all_paths_exist() {
        for path in [
            crate::sbe_oracle::JUDGED,
            crate::aeron_interop::JUDGED,
            crate::fix_interop::JUDGED,
            crate::memory_model::JUDGED,
        ]
        .concat()
        {
            assert!(
                crate::root().join(path).exists(),
                "{path} is not there; name where its code is now"
            );
        }
    }
}
