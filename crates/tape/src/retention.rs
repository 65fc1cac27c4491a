//! Limits of a tape's size and age, and readers that hold segments.

use std::path::Path;
use touchline_journal::{Error, bytes_of_segments, remove_oldest};

/// Folder of the holders in the directory of a tape. A file there has the position, 8 bytes, up to which a reader is done.
const HOLDERS: &str = "holders";

/// Limits of a tape. The newest three segments stay in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Most bytes of all segments on the disk.
    pub bytes_max: Option<u64>,
    /// Longest time since the end of a segment, ns.
    pub age_ns_max: Option<u64>,
}

impl Retention {
    /// Removes the oldest segments that are over a limit and that no holder needs; returns their number.
    ///
    /// # Errors
    /// A file cannot be read or removed.
    pub fn apply(&self, directory: &Path, now_ns: u64) -> Result<u64, Error> {
        if *self == Retention::default() {
            return Ok(0);
        }
        let held_from = held_from(directory);
        let mut left = bytes_of_segments(directory)?;
        remove_oldest(directory, |segment| {
            let is_old = self
                .age_ns_max
                .is_some_and(|most| now_ns.saturating_sub(segment.ended_ns) > most);
            let is_large = self.bytes_max.is_some_and(|most| left > most);
            let is_over = (is_old || is_large) && segment.end <= held_from;
            left -= if is_over { segment.bytes } else { 0 };
            is_over
        })
    }
}

/// The smallest position of a holder; a file that is not one holds everything.
fn held_from(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory.join(HOLDERS));
    let positions = entries.into_iter().flatten().map(|entry| {
        let bytes = entry.and_then(|entry| std::fs::read(entry.path()));
        let bytes = bytes.ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    });
    positions.min().unwrap_or(u64::MAX)
}
