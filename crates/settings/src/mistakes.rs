//! Mistakes of a configuration, as values.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use touchline_types::text::Visible;

/// Mistakes shown at once.
const SHOWN_MAX: usize = 10;
/// Letters of a text: a key or a value in the file may have any length.
const LETTERS_MAX: usize = 500;

/// A mistake of a configuration, printed as problem and fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Line of the text, from 1, if known.
    pub line: Option<u32>,
    /// Path of the key from the top of the file, as `banks.0.name`; empty if no single key is wrong.
    pub key: String,
    /// Problem, which names the key.
    pub what: String,
    /// Fix; empty if the problem says it.
    pub fix: String,
}

/// All mistakes of a configuration, in the order of its lines; those without a line are last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes {
    file: PathBuf,
    list: Vec<Mistake>,
}

/// A section of a file whose values are checked.
#[derive(Debug)]
pub struct Section<'a> {
    mistakes: &'a mut Mistakes,
    path: String,
    label: String,
}

impl Mistake {
    /// A mistake, its texts on one line each and of limited length.
    #[must_use]
    pub fn new(line: Option<u32>, key: &str, (what, fix): (String, String)) -> Mistake {
        Mistake {
            line,
            key: key.to_owned(),
            what: one_line(&what),
            fix: one_line(&fix),
        }
    }
}

impl Mistakes {
    /// One mistake of a file.
    #[must_use]
    pub fn one(file: &Path, mistake: Mistake) -> Mistakes {
        Mistakes {
            file: file.to_owned(),
            list: vec![mistake],
        }
    }

    /// Adds a wrong value above the first table: its key, and "problem; fix" or the fix alone.
    pub fn push(&mut self, key: &str, text: &str) {
        self.section("", "").push(key, text);
    }

    /// Adds what no single key explains, as "problem; fix".
    pub fn push_file(&mut self, text: &str) {
        self.add_text("", text.to_owned());
    }

    fn add_text(&mut self, key: &str, text: String) {
        let words = match text.split_once("; ") {
            Some((what, fix)) => (what.to_owned(), fix.to_owned()),
            None => (text, String::new()),
        };
        self.add(Mistake::new(None, key, words));
    }

    /// The section at a path, such as `pairs.0`; its mistakes begin with `label`, such as `pair EUR/USD: `.
    pub fn section(&mut self, path: impl Into<String>, label: impl Into<String>) -> Section<'_> {
        Section {
            mistakes: self,
            path: path.into(),
            label: label.into(),
        }
    }

    /// Adds a mistake.
    pub fn add(&mut self, mistake: Mistake) {
        self.list.push(mistake);
    }

    /// Adds the mistakes of another check.
    pub fn extend(&mut self, others: Mistakes) {
        self.list.extend(others.list);
    }

    /// The mistakes, if there are any; otherwise the checked value.
    ///
    /// # Errors
    /// Themselves.
    pub fn none_or<T>(self, value: T) -> Result<T, Mistakes> {
        match self.list.is_empty() {
            true => Ok(value),
            false => Err(self),
        }
    }

    /// The same with the name of their file, which each line begins with.
    #[must_use]
    pub fn in_file(self, file: &Path) -> Mistakes {
        Mistakes {
            file: file.to_owned(),
            ..self
        }
    }

    /// The mistakes.
    #[must_use]
    pub fn list(&self) -> &[Mistake] {
        &self.list
    }

    pub(crate) fn has_line(&self, line: u32) -> bool {
        let mut list = self.list.iter();
        list.any(|mistake| mistake.line == Some(line))
    }

    pub(crate) fn sorted(mut self) -> Mistakes {
        let line = |mistake: &Mistake| mistake.line.unwrap_or(u32::MAX);
        self.list.sort_by_key(line);
        self
    }

    pub(crate) fn list_mut(&mut self) -> &mut Vec<Mistake> {
        &mut self.list
    }
}

impl Section<'_> {
    /// [`Mistakes::push`] for a key of the section.
    pub fn push(&mut self, key: &str, text: &str) {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        let text = format!("{}{key}: {text}", self.label);
        self.mistakes.add_text(&path, text);
    }

    /// Adds a value that is not in its range.
    pub fn range<T: PartialOrd + Display>(
        &mut self,
        key: &str,
        value: T,
        range: RangeInclusive<T>,
    ) {
        if !range.contains(&value) {
            let (least, most) = range.into_inner();
            let text = format!("{value} is out of range; give {least} to {most}");
            self.push(key, &text);
        }
    }

    /// Adds a mistake of the section, whose text names the keys.
    pub fn push_whole(&mut self, text: &str) {
        let text = format!("{}{text}", self.label);
        self.mistakes.add_text(&self.path, text);
    }
}

impl Display for Mistakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_of_file = !self.file.as_os_str().is_empty();
        for (at, mistake) in self.list.iter().take(SHOWN_MAX).enumerate() {
            if at > 0 {
                out.write_str("\n")?;
            }
            if is_of_file {
                write!(out, "{}", self.file.display())?;
            }
            match mistake.line {
                Some(line) if is_of_file => write!(out, ":{line}: ")?,
                Some(line) => write!(out, "line {line}: ")?,
                None if is_of_file => out.write_str(": ")?,
                None => {}
            }
            out.write_str(&mistake.what)?;
            if !mistake.fix.is_empty() {
                write!(out, "; {}", mistake.fix)?;
            }
        }
        match self.list.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            rest => write!(out, "\nand {rest} more"),
        }
    }
}

impl std::error::Error for Mistakes {}

fn one_line(text: &str) -> String {
    let letters: String = text.chars().take(LETTERS_MAX).collect();
    Visible(&letters).to_string()
}
