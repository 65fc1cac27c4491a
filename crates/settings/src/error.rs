//! Mistake of a value as serde reports it, before it is put into words.

use serde::de::{Expected, Unexpected};
use std::fmt;
use std::ops::Range;

/// A mistake and its place.
#[derive(Debug)]
pub(crate) struct Error {
    pub problem: Problem,
    /// Path of the setting or table, and its place in the text; `None` until the innermost value has added them.
    pub at: Option<(String, Range<usize>)>,
}

/// Kind of a mistake.
#[derive(Debug)]
pub(crate) enum Problem {
    /// A key that its table does not have, and the keys that it has.
    Unknown(String, &'static [&'static str]),
    /// A key that its table must have.
    Missing(&'static str),
    /// A word that is not one of these.
    NotAmong(String, &'static [&'static str]),
    /// A value of another type than the one that serde names.
    Type(Found, String),
    /// A value that a check of its type refuses: problem, or problem and fix.
    Other(String),
}

/// Value of a wrong type.
#[derive(Debug)]
pub(crate) enum Found {
    Text(String),
    Integer(String),
    /// Any other, in words.
    Other(String),
}

impl Found {
    pub fn of(unexpected: &Unexpected<'_>) -> Found {
        match unexpected {
            Unexpected::Str(text) => Found::Text((*text).to_owned()),
            Unexpected::Signed(number) => Found::Integer(number.to_string()),
            Unexpected::Unsigned(number) => Found::Integer(number.to_string()),
            Unexpected::Float(number) => Found::Other(format!("the number {number}")),
            Unexpected::Bool(is) => Found::Other(is.to_string()),
            Unexpected::Map => Found::Other("a table".to_owned()),
            Unexpected::Seq => Found::Other("a list".to_owned()),
            other => Found::Other(other.to_string()),
        }
    }
}

impl Error {
    /// The error with its place, unless a value inside has added one.
    pub fn at(self, path: &str, span: Range<usize>) -> Error {
        let at = self.at.or_else(|| Some((path.to_owned(), span)));
        Error { at, ..self }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error { problem, at: None }
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(what: T) -> Error {
        Problem::Other(what.to_string()).into()
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Error {
        Problem::Type(Found::of(&unexpected), expected.to_string()).into()
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Error {
        Error::invalid_type(unexpected, expected)
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Error {
        Problem::NotAmong(found.to_owned(), expected).into()
    }

    fn unknown_field(found: &str, expected: &'static [&'static str]) -> Error {
        Problem::Unknown(found.to_owned(), expected).into()
    }

    fn missing_field(name: &'static str) -> Error {
        Problem::Missing(name).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.problem)
    }
}

impl std::error::Error for Error {}
