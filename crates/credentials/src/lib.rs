//! Places of secrets and certificates in a configuration, and their reading: passwords, private keys, TLS of a client and of a
//! listening port; and what the text of a configuration may not contain.
//!
//! # Never
//! Prints any part of a secret. Takes a secret from a command line or from the text of a configuration. Disables a verification of
//! TLS. Knows a setting that only one crate has.
//!
//! # Path
//! None: files are read at start, and the result is a [`touchline_session::Secret`], or a client or server of
//! [`touchline_net::tls`].
//!
//! # Tests
//! Unit tests beside each part, with files of every unusable kind; the sentinel of a secret is searched for in all errors.

#![forbid(unsafe_code)]

mod secret;
mod text;
mod tls;

pub use secret::SecretSource;
pub use text::{check_text, read_config, read_file, read_text};
pub use tls::{ClientTls, ServerTls};

use serde::Serializer;
use std::fmt;
use std::path::{Path, PathBuf};
use touchline_settings::{Mistake, Mistakes};

/// Error of a configuration.
///
/// Printed as one line with file, line, problem and fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// File.
    pub file: PathBuf,
    /// Line, from 1, if known.
    pub line: Option<u32>,
    /// Problem.
    pub what: String,
    /// Fix.
    pub fix: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            what,
            fix,
        } = self;
        write!(out, "{}", file.display())?;
        if let Some(line) = line {
            write!(out, ":{line}")?;
        }
        write!(out, ": {what}; {fix}")
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for Mistakes {
    fn from(error: ConfigError) -> Mistakes {
        let words = (error.what, error.fix);
        Mistakes::one(&error.file, Mistake::new(error.line, "", words))
    }
}

/// A path as text.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
