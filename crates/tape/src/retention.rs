//! Limits of a tape's size and age.

use crate::holders::held_from;
use std::path::Path;
use touchline_journal::{Error, OldSegment, bytes_of_segments, remove_oldest};

/// Limits of a tape. The newest three segments stay in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Most bytes of all segments on the disk.
    pub bytes_max: Option<u64>,
    /// Longest time since the end of a segment, ns.
    pub age_ns_max: Option<u64>,
    /// Least bytes that stay free on the file system.
    pub free_bytes_min: Option<u64>,
}

impl Retention {
    /// Removes the oldest segments that are over a limit and that no holder needs; returns their number. `age_ns` gives the time that has
    /// passed since the end of a segment.
    ///
    /// # Errors
    /// A file cannot be read or removed, or the folder of the holders cannot be read.
    pub fn apply(
        &self,
        directory: &Path,
        mut age_ns: impl FnMut(&OldSegment) -> u64,
    ) -> Result<u64, Error> {
        if *self == Retention::default() {
            return Ok(0);
        }
        let held_from = held_from(directory)?;
        let mut left = bytes_of_segments(directory)?;
        let mut free = free_bytes(directory).unwrap_or(u64::MAX);
        remove_oldest(directory, |segment| {
            let is_old = self.age_ns_max.is_some_and(|most| age_ns(segment) > most);
            let is_large = self.bytes_max.is_some_and(|most| left > most);
            let is_needed = self.free_bytes_min.is_some_and(|least| free < least);
            let is_over = (is_old || is_large || is_needed) && segment.end <= held_from;
            if is_over {
                left -= segment.bytes;
                free = free.saturating_add(segment.bytes);
            }
            is_over
        })
    }
}

/// Bytes that this user may take on the file system of a directory; `None` if it does not say.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(directory).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}
