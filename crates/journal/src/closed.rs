//! Closed segments as a user of the journal names them, with the files beside them that it derives.

use crate::error::Error;
use crate::folder::Folder;
use crate::format::segment_name;
use crate::judge::{is_closed, segment_indexes};
use crate::records::Begin;
use std::path::{Path, PathBuf};

/// A segment with an `End`: another segment, or the same one after a repair, has another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedSegment {
    /// Number of the segment.
    pub index: u64,
    /// Random number of its header.
    pub salt: u64,
    /// Its first record.
    pub begin: Begin,
    /// First record of the segment behind it.
    pub next: Begin,
}

impl ClosedSegment {
    /// Whether the journal has this segment, by its header, its first record and its `End`.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn is_in(&self, directory: &Path) -> Result<bool, Error> {
        let mut folder = open(directory)?;
        let ClosedSegment {
            index,
            salt,
            begin,
            next,
        } = self;
        match is_closed(&mut folder, *index, *salt, begin, next) {
            Err(error) if error.is_missing() => Ok(false),
            other => other.map_err(|error| error.within(directory)),
        }
    }
}

/// Numbers of the segments, ascending.
///
/// # Errors
/// The directory cannot be read.
pub fn segment_numbers(directory: &Path) -> Result<Vec<u64>, Error> {
    segment_indexes(&mut open(directory)?).map_err(|error| error.within(directory))
}

/// Path of the file in which a user of the journal keeps what it has found in a segment. It may be missing; it is removed with the segment.
pub fn index_path(directory: &Path, index: u64) -> PathBuf {
    directory.join(segment_name(index)).with_extension("tli")
}

fn open(directory: &Path) -> Result<Folder, Error> {
    let name = directory.display().to_string();
    Folder::open(directory).map_err(Error::io("open", &name))
}
