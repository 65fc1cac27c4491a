//! Reading of a text until every mistake is found: a wrong key is left out of the tree, which is read again.

use crate::document::{Document, below, item};
use crate::error::{Error, Problem};
use crate::mistakes::{Mistake, Mistakes};
use crate::similar::nearest;
use crate::words::{Manual, Words, not_toml};
use serde::de::DeserializeOwned;

/// Mistakes after which the search ends.
const FOUND_MAX: usize = 64;

/// Deserializes a text and checks the values.
///
/// A wrong key is left out, so that the mistakes behind it and those of `check` are found too. If an entry of a list is left out, the
/// values are not checked, because entries name each other.
///
/// # Errors
/// All mistakes of the text.
pub fn read<T: DeserializeOwned, R>(
    text: &str,
    manual: &Manual<'_>,
    check: impl FnOnce(T) -> Result<R, Mistakes>,
) -> Result<R, Mistakes> {
    let mut reading = Reading::new(text, manual);
    let value = loop {
        match T::deserialize(reading.document.node(&reading.left_out)) {
            Ok(value) => break value,
            Err(error) => {
                if !reading.goes_on_after(error) {
                    return Err(reading.found.sorted());
                }
            }
        }
    };
    if reading.found.list().is_empty() {
        let checked = check(value);
        return checked.map_err(|wrong| reading.document.located(wrong).sorted());
    }
    if reading.is_toml && !reading.left_out.iter().any(|path| item(path).is_some()) {
        let wrong = check(value).err().unwrap_or_default();
        reading.add_checked(wrong);
    }
    Err(reading.found.sorted())
}

/// A text of which a part is left out.
struct Reading<'a> {
    document: Document<'a>,
    manual: &'a Manual<'a>,
    found: Mistakes,
    /// Whether the syntax is right.
    is_toml: bool,
    /// Paths of wrong values.
    left_out: Vec<String>,
    /// Paths of keys that are missing because they are misspelt.
    meant: Vec<String>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str, manual: &'a Manual<'a>) -> Reading<'a> {
        let (document, errors) = Document::parse(text);
        let mut found = Mistakes::default();
        for error in errors {
            let line = document.line(error.span().map_or(0, |span| span.start));
            // The parser may find several errors in a wrong line.
            if !found.has_line(line) {
                let written = text.lines().nth(line as usize - 1).unwrap_or_default();
                let words = not_toml(written, error.message(), manual);
                found.add(Mistake::new(Some(line), "", words));
            }
        }
        Reading {
            document,
            manual,
            is_toml: found.list().is_empty(),
            found,
            left_out: Vec::new(),
            meant: Vec::new(),
        }
    }

    /// Adds an error to the mistakes, and leaves its value out; `false` if there is nothing to leave out.
    fn goes_on_after(&mut self, error: Error) -> bool {
        let (path, span) = error.at.unwrap_or_default();
        let line = self.document.line(span.start);
        if !self.is_known(&path, &error.problem) && (self.is_toml || !self.found.has_line(line)) {
            let words = Words::new(&self.document, &path, self.manual).of(&error.problem);
            self.found.add(Mistake::new(Some(line), &path, words));
        }
        let wrong = self.document.removable(&path);
        let goes_on = !wrong.is_empty() && self.found.list().len() < FOUND_MAX;
        self.left_out.push(wrong.to_owned());
        goes_on
    }

    /// Whether an error follows from another mistake.
    fn is_known(&mut self, path: &str, problem: &Problem) -> bool {
        match problem {
            Problem::Missing(name) => {
                let path = below(path, name);
                !self.is_toml || self.left_out.contains(&path) || self.meant.contains(&path)
            }
            Problem::Unknown(name, known) => {
                let (table, _) = path.rsplit_once('.').unwrap_or_default();
                let name = nearest(name, known.iter().copied());
                self.meant.extend(name.map(|name| below(table, name)));
                false
            }
            _ => false,
        }
    }

    /// Adds the mistakes of a check, except those that may follow from the parts left out: of these keys, or of no key.
    fn add_checked(&mut self, wrong: Mistakes) {
        for mistake in self.document.located(wrong).list() {
            let is_inside = |path: &String| {
                let rest = mistake.key.strip_prefix(path.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if !mistake.key.is_empty() && !self.left_out.iter().any(is_inside) {
                self.found.add(mistake.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
