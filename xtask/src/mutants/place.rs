//! Place of a mutant in the source: at the comment that names it.
//!
//! A line `// mutant: NAME` is above the code that the mutant NAME changes; it changes the first text behind
//! it that reads like the mutant's. A mutant of several places has such a line above each. White space and comments do not count, and the file is not named: code may be moved
//! and formatted again, and takes the comment along.

use super::{Mutant, trial::SKIPPED};
use anyhow::{Context, Result};
use std::{
    fmt, fs,
    ops::Range,
    path::{Path, PathBuf},
};

/// Start of a marker.
pub const MARKER: &str = "// mutant: ";

/// Maximum number of lines from a marker to its text.
const LINES_MAX: usize = 40;

/// This package has the list of the mutants, and markers in the texts of its tests.
const OWN: &str = "xtask";

/// The source files that have markers.
#[derive(Debug)]
pub struct Sources(Vec<Source>);

#[derive(Debug)]
struct Source {
    /// Relative to the root.
    file: PathBuf,
    text: String,
}

/// Text that a mutant replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Relative to the root.
    pub file: PathBuf,
    /// The bytes of the file that are replaced.
    pub bytes: Range<usize>,
}

/// Why a mutant does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoPlace {
    /// Number of comments that name it: none, or several, of which not one has its text behind it.
    Markers(usize),
    /// Its text is not behind its marker in this file.
    NoText(PathBuf),
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Markers(found) => write!(
                f,
                "{found} comments '{MARKER}NAME' name it; exactly one must be above what it changes"
            ),
            Self::NoText(file) => write!(
                f,
                "its text does not stand in the {LINES_MAX} lines behind its marker in {}",
                file.display()
            ),
        }
    }
}

impl Sources {
    /// Reads the Rust files below `root`, except those of this package and build outputs.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub fn read(root: &Path) -> Result<Self> {
        let mut sources = Vec::new();
        read_folder(root, Path::new(""), &mut sources)?;
        Ok(Self(sources))
    }

    /// Text that `mutant` replaces.
    ///
    /// # Errors
    /// It has no marker, or its text is behind none or several of its markers.
    pub fn place(&self, mutant: &Mutant) -> Result<Place, NoPlace> {
        let markers: Vec<(&Source, usize)> = self
            .0
            .iter()
            .flat_map(|source| markers(&source.text).map(move |marker| (source, marker)))
            .filter(|(_, (name, _))| *name == mutant.name)
            .map(|(source, (_, end))| (source, end))
            .collect();
        let place = |&(source, end): &(&Source, usize)| {
            let file = source.file.clone();
            let bytes = find_behind(&source.text, end, mutant.find)?;
            Some(Place { file, bytes })
        };
        let mut places: Vec<Place> = markers.iter().filter_map(place).collect();
        // The text of one place may be behind the marker of another one.
        places.dedup();
        match (&places[..], &markers[..]) {
            ([place], _) => Ok(place.clone()),
            ([], [(source, _)]) => Err(NoPlace::NoText(source.file.clone())),
            _ => Err(NoPlace::Markers(markers.len())),
        }
    }

    /// The text of a file that has a mutant's place.
    pub fn text(&self, file: &Path) -> &str {
        let source = self.0.iter().find(|source| source.file == file);
        source.map_or("", |source| &source.text)
    }

    /// The names in all markers.
    #[cfg(test)]
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flat_map(|source| markers(&source.text).map(|(name, _)| name))
    }
}

fn read_folder(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let path = root.join(folder);
    for entry in fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let file = folder.join(&name);
        if entry.file_type()?.is_dir() {
            if name != OWN && !SKIPPED.iter().any(|skipped| name == *skipped) {
                read_folder(root, &file, sources)?;
            }
        } else if file.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(root.join(&file))
                .with_context(|| format!("cannot read {}", file.display()))?;
            if text.contains(MARKER) {
                sources.push(Source { file, text });
            }
        }
    }
    Ok(())
}

/// The name in each marker, and where its line ends.
fn markers(text: &str) -> impl Iterator<Item = (&str, usize)> {
    lines(text, 0)
        .filter_map(|(begin, line)| Some((line.trim().strip_prefix(MARKER)?, begin + line.len())))
}

/// The lines from the byte `from` on, each with its start and its line end.
fn lines(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    text[from..].split_inclusive('\n').scan(from, |at, line| {
        let begin = *at;
        *at += line.len();
        Some((begin, line))
    })
}

/// Place of `wanted` behind the byte `from`, ignoring white space and whole lines of comment in between.
fn find_behind(text: &str, from: usize, wanted: &str) -> Option<Range<usize>> {
    let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
    let letters: Vec<(usize, char)> = lines(text, from)
        .take(LINES_MAX)
        .filter(is_code)
        .flat_map(|(begin, line)| line.char_indices().map(move |(at, c)| (begin + at, c)))
        .filter(|(_, c)| !c.is_whitespace())
        .collect();
    let wanted: Vec<char> = lines(wanted, 0)
        .filter(is_code)
        .flat_map(|(_, line)| line.chars())
        .filter(|c| !c.is_whitespace())
        .collect();
    let found = letters
        .windows(wanted.len().max(1))
        .find(|window| window.iter().map(|(_, c)| c).eq(&wanted))?;
    let ((begin, _), (last, c)) = (found[0], found[found.len() - 1]);
    Some(begin..last + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> Sources {
        let source = |(at, text): (usize, &&str)| Source {
            file: PathBuf::from(format!("{at}.rs")),
            text: (*text).to_owned(),
        };
        Sources(texts.iter().enumerate().map(source).collect())
    }

    fn mutant(find: &'static str) -> Mutant {
        Mutant {
            name: "m",
            find,
            replace: "",
            test: "",
        }
    }

    #[test]
    fn the_first_match_behind_the_marker_is_used_in_any_file_and_format() {
        let text =
            "a + b;\n    // mutant: m\n    // why\n    a  +\n        // and\n        b;\na + b;\n";
        let place = sources(&["", text]).place(&mutant("a + b")).unwrap();
        assert_eq!(place.file, PathBuf::from("1.rs"));
        assert_eq!(&text[place.bytes], "a  +\n        // and\n        b");
    }

    #[test]
    fn an_ambiguous_place_is_refused() {
        let once = "// mutant: m\na\n";
        let no_place = |texts: &[&str], find| sources(texts).place(&mutant(find)).unwrap_err();
        assert_eq!(no_place(&["a\n"], "a"), NoPlace::Markers(0));
        assert_eq!(no_place(&[once, once], "a"), NoPlace::Markers(2));
        assert_eq!(no_place(&["// mutant: mm\na\n"], "a"), NoPlace::Markers(0));
        let no_text = NoPlace::NoText(PathBuf::from("0.rs"));
        assert_eq!(no_place(&[once], "b"), no_text);
        assert_eq!(no_place(&["a\n// mutant: m\n"], "a"), no_text);
        let far = format!("// mutant: m\n{}a\n", "b\n".repeat(LINES_MAX));
        assert_eq!(no_place(&[&far], "a"), no_text);
    }

    #[test]
    fn each_text_of_a_mutant_is_behind_one_of_its_markers() {
        let sources = sources(&["// mutant: m\na\n// mutant: m\nb\n", "// mutant: m\nc\n"]);
        let places = ["a", "b", "c"].map(|find| sources.place(&mutant(find)).unwrap());
        let files = places.each_ref().map(|place| place.file.to_str().unwrap());
        assert_eq!(files, ["0.rs", "0.rs", "1.rs"]);
        let none = sources.place(&mutant("d"));
        assert_eq!(none, Err(NoPlace::Markers(3)));
    }

    #[test]
    fn an_empty_text_matches_nothing() {
        assert!(find_behind("a\n", 0, " \n").is_none());
    }
}
