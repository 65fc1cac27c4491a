//! Records behind the last one that a reader has read: removed, damaged, or not written yet.

use super::Error;
use std::path::Path;
use touchline_journal::{Follow, read_from};

/// Refuses a place whose next segment was removed before it was read.
pub(crate) fn check_overtaken(follow: &mut Follow, path: &Path) -> Result<(), Error> {
    // mutant: tape: a reader passes over removed segments
    match follow.is_overtaken() {
        Ok(false) => Ok(()),
        Ok(true) => Err(removed(follow, path)),
        Err(error) if error.is_missing() => Err(removed(follow, path)),
        Err(error) => Err(error.into()),
    }
}

/// Refuses damage before later records of a tape that is recorded: its recorder does not write the missing records any more.
pub(crate) fn check_passed(follow: &mut Follow, path: &Path) -> Result<(), Error> {
    // mutant: tape: a reader stops before damage as at the end
    match follow.is_passed()? {
        true => check_rest(follow, path),
        false => Ok(()),
    }
}

/// Refuses damage, and a removed tape, behind the last record that was read.
pub(crate) fn check_rest(follow: &Follow, path: &Path) -> Result<(), Error> {
    let next = follow.next_sequence();
    match read_from(path, next, false, |_| {}) {
        Ok(report) if report.next_sequence < next => Err(removed(follow, path)),
        Ok(_) => Ok(()),
        Err(error) if error.is_missing() => Err(removed(follow, path)),
        Err(error) => Err(error.into()),
    }
}

fn removed(follow: &Follow, path: &Path) -> Error {
    Error::Removed {
        path: path.to_owned(),
        segment: follow.segment(),
    }
}
