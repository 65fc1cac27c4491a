//! The directory of a tape.

use super::Error;
use crate::last_run::LastRun;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use touchline_journal::is_journal;

/// Names of the buses that a tape has, sorted: those of its last segment, which begins with all that are before it.
///
/// # Errors
/// There is no tape, or it cannot be read.
pub fn buses(directory: &Path) -> Result<Vec<String>, Error> {
    check_tape(directory)?;
    Ok(LastRun::read(directory)?.buses())
}

/// Refuses a directory without a segment, and one that this user cannot read.
pub(super) fn check_tape(directory: &Path) -> Result<(), Error> {
    let path = directory.to_owned();
    let source = match is_journal(directory) {
        Ok(true) => return Ok(()),
        Ok(false) => return Err(Error::NoTape { path }),
        Err(source) => source,
    };
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Err(Error::NoTape { path }),
        io::ErrorKind::PermissionDenied => Err(denied(directory, source)),
        _ => Err(unreadable(directory, source)),
    }
}

/// A file of the tape cannot be read: if it is closed to this user, the error says whose it is.
pub(super) fn of_journal(error: touchline_journal::Error) -> Error {
    match error {
        touchline_journal::Error::Io { name, source, .. }
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            denied(Path::new(&name), source)
        }
        error => Error::Journal(error),
    }
}

/// Names the file or directory that is closed to this user: the tape's, or one above it.
fn denied(path: &Path, source: io::Error) -> Error {
    let mut above = path.ancestors();
    let closed = above.find_map(|path| Some((path, std::fs::metadata(path).ok()?)));
    match closed {
        Some((path, about)) => Error::Denied {
            path: path.to_owned(),
            owner: about.uid(),
            mode: about.mode() & 0o777,
        },
        None => unreadable(path, source),
    }
}

fn unreadable(directory: &Path, source: io::Error) -> Error {
    Error::Journal(touchline_journal::Error::Io {
        action: "open",
        name: directory.display().to_string(),
        source,
    })
}
