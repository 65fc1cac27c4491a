//! Tests that lack a file or a program pass without a check, and report this: one line each, also in the file that the
//! environment names, which `.ci/run` counts.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Folder of captures of real exchanges, which belong to others and are not part of the repository.
const CAPTURES: &str = "TOUCHLINE_CAPTURES";
/// Folder of the schemas and channel files that venues publish.
const SCHEMAS: &str = "TOUCHLINE_SCHEMAS";
/// File to which each skipped check adds a line.
const LIST: &str = "TOUCHLINE_SKIPPED";

/// The folder of captures. Without it reports that `what` is skipped.
#[must_use]
pub fn captures(what: &str) -> Option<PathBuf> {
    folder(CAPTURES, what)
}

/// The folder of schemas. Without it reports that `what` is skipped.
#[must_use]
pub fn schemas(what: &str) -> Option<PathBuf> {
    folder(SCHEMAS, what)
}

fn folder(variable: &str, what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        skip(&format!("{what}: set {variable} to the folder with them"));
    }
    folder
}

/// Reports that the test of this thread is skipped, or a part of it, with the reason.
///
/// # Panics
/// The file of `TOUCHLINE_SKIPPED` cannot be written: a skip must not remain unseen.
pub fn skip(why: &str) {
    let line = line(std::thread::current().name(), why);
    // `eprintln!` is not used: the harness discards the output of a test that passes.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os(LIST) {
        add(Path::new(&list), &line).expect("the file of TOUCHLINE_SKIPPED");
    }
}

fn line(test: Option<&str>, why: &str) -> String {
    let test = test.unwrap_or("a test");
    format!("SKIPPED {test}: {why}\n")
}

/// One write at the end, so that lines of several test programs do not mix.
fn add(list: &Path, line: &str) -> std::io::Result<()> {
    let mut list = OpenOptions::new().append(true).create(true).open(list)?;
    list.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs in a process of its own, below: its environment is the input.
    const INNER: &str = "skipped::tests::without_a_folder";

    #[test]
    fn without_a_folder() {
        if std::env::var_os(LIST).is_some() && std::env::var_os("TOUCHLINE_SKIPPED_INNER").is_some()
        {
            assert_eq!(captures("recorded packets"), None);
        }
    }

    /// Each skip is a line on standard error that the harness does not swallow, and one in the file.
    #[test]
    fn a_skip_of_a_test_that_passes_is_printed_and_listed() {
        let folder = crate::Folder::new("skipped");
        let list = folder.join("list");
        let program = std::env::current_exe().expect("this test program");
        let run = || {
            let mut run = Command::new(&program);
            run.args(["--exact", INNER]).env(LIST, &list);
            run.env("TOUCHLINE_SKIPPED_INNER", "1").env_remove(CAPTURES);
            run.output().expect("a run")
        };
        let (first, second) = (run(), run());
        let listed = std::fs::read_to_string(&list).expect("a list");
        let line = format!(
            "SKIPPED {INNER}: recorded packets: set TOUCHLINE_CAPTURES to the folder with them\n"
        );
        assert!(first.status.success() && second.status.success());
        assert!(String::from_utf8_lossy(&first.stderr).contains(&line));
        assert_eq!(listed, format!("{line}{line}"));
    }
}
