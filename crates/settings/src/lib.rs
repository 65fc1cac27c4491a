//! Reader of configuration files in TOML: every mistake of a file at once, each with its line, its key and its fix.
//!
//! # Never
//! Knows a setting, or where settings are documented: a [`Manual`] says so. Reads a file: `touchline-credentials` does. Finds a mistake
//! in the words of a parser.
//!
//! # Path
//! None: text goes in at start, and a checked configuration or its [`Mistakes`] come out of [`read`].
//!
//! # Tests
//! Unit tests beside each part; the texts are also checked where a configuration is declared: gateway, relay, FX.

#![forbid(unsafe_code)]

mod document;
mod error;
mod mistakes;
mod read;
mod similar;
mod values;
mod words;

pub use mistakes::{Mistake, Mistakes, Section};
pub use read::read;
pub use similar::nearest;
pub use values::{number, read_duration, within};
pub use words::{Description, Manual, not_among};
