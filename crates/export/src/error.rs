//! Why an export failed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be written.
    #[error("{}: cannot be written ({source}); {fix}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The failure.
        source: std::io::Error,
        /// What to do.
        fix: &'static str,
    },
    /// The tape cannot be read.
    #[error(transparent)]
    Tape(#[from] touchline_tape::Error),
    /// The data have no form in this schema.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// A failure to write this file.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::File {
            path: path.to_owned(),
            fix: match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    "make room or choose another place"
                }
                ErrorKind::ResourceBusy => "one export writes a folder at a time",
                _ => "choose a folder that exists and that you may write to",
            },
            source,
        }
    }
}
