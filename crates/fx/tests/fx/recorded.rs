//! Recorded sessions with expected files, compared byte by byte, from `TOUCHLINE_CAPTURES`.

use std::path::{Path, PathBuf};
use touchline_fx::Setup;
use touchline_fx::sessions::Replay;

/// Folder of small sessions with one cause each.
const BY_HAND: &str = "by-hand";

/// Every session of the folder.
const SESSIONS: [&str; 9] = [
    BY_HAND,
    "calm",
    "disconnects",
    "disputes",
    "guards",
    "last-look",
    "limits",
    "mixed",
    "unknown",
];

/// Folders of the sessions: all of them, or none if the captures are not at hand.
pub fn sessions() -> Vec<PathBuf> {
    let Some(captures) = touchline_testing::captures("generated sessions of FX") else {
        return Vec::new();
    };
    let folder = captures.join("fx-generated");
    if !folder.exists() {
        touchline_testing::skip(&format!("{} does not exist", folder.display()));
        return Vec::new();
    }
    assert_eq!(names(&folder), SESSIONS, "{}", folder.display());
    let small = names(&folder.join(BY_HAND));
    let small = small.iter().map(|name| folder.join(BY_HAND).join(name));
    let large = SESSIONS.iter().filter(|name| **name != BY_HAND);
    large.map(|name| folder.join(name)).chain(small).collect()
}

/// Names of the folders in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub fn read(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn replay(folder: &Path) -> Replay {
    let setup = Setup::parse(&read(folder, "config.toml")).expect("a configuration");
    Replay::new(setup)
}

/// All six files of each session equal the expected ones.
#[test]
fn recorded_sessions_give_the_expected_files() {
    let mut differences = Vec::new();
    for folder in sessions() {
        let mut replay = replay(&folder);
        for line in read(&folder, "session.txt").lines() {
            replay
                .line(line)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        }
        let (files, _) = replay.finish();
        for (name, text) in files.named() {
            let expected = read(&folder, name);
            if let Some(difference) = first_difference(text, &expected) {
                differences.push(format!("{}: {difference}", folder.join(name).display()));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn first_difference(found: &str, expected: &str) -> Option<String> {
    if found == expected {
        return None;
    }
    let (mut found, mut expected) = (found.lines(), expected.lines());
    for number in 1.. {
        let (ours, theirs) = (found.next(), expected.next());
        if ours != theirs {
            return Some(format!(
                "line {number}:\n  found    {ours:?}\n  expected {theirs:?}"
            ));
        }
        if ours.is_none() {
            break;
        }
    }
    Some("the ends of lines differ".to_owned())
}
