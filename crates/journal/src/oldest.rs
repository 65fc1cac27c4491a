//! The oldest segments of a journal, removed by a limit of its size or age.

use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::format::{kind, segment_name};
use crate::judge::segment_indexes;
use crate::records::Begin;
use crate::{Entry, Follow};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Segments that are never removed: the one that is written, the prepared one, and one that may have ended just now.
const NEWEST: usize = 3;

/// A segment that may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldSegment {
    /// Its index.
    pub index: u64,
    /// Bytes of its file on the disk.
    pub bytes: u64,
    /// Time of the last write to it, ns since the Unix epoch.
    pub written_ns: u64,
    /// Position behind it.
    pub end: u64,
}

/// Bytes of the files of all segments, also those that are never removed.
///
/// # Errors
/// The directory cannot be read.
pub fn bytes_of_segments(directory: &Path) -> Result<u64, Error> {
    let mut folder = open(directory)?;
    let indexes = segment_indexes(&mut folder)?;
    let files = indexes
        .iter()
        .filter_map(|index| file_of(directory, *index));
    Ok(files.map(|(bytes, _)| bytes).sum())
}

/// Removes segments from the oldest one on, as long as `is_over` says so; the newest three stay. The writer may be running. Returns the
/// number of removed segments.
///
/// # Errors
/// A file cannot be read or removed.
pub fn remove_oldest(
    directory: &Path,
    mut is_over: impl FnMut(&OldSegment) -> bool,
) -> Result<u64, Error> {
    let mut folder = open(directory)?;
    let indexes = segment_indexes(&mut folder)?;
    let mut removed = 0;
    let old = indexes.len().saturating_sub(NEWEST);
    for pair in indexes.windows(2).take(old) {
        let (index, next) = (pair[0], pair[1]);
        let (Some((bytes, written_ns)), Some(end)) =
            (file_of(directory, index), begin_of(directory, next)?)
        else {
            break;
        };
        let segment = OldSegment {
            index,
            bytes,
            written_ns,
            end,
        };
        if !is_over(&segment) {
            break;
        }
        let name = segment_name(index);
        folder
            .remove(&name)
            .map_err(Error::io("remove", &name))
            .map_err(|error| error.within(directory))?;
        removed += 1;
    }
    if removed > 0 {
        let name = directory.display().to_string();
        folder
            .sync_names()
            .map_err(Error::io("sync the directory", &name))?;
    }
    Ok(removed)
}

fn open(directory: &Path) -> Result<Folder, Error> {
    let name = directory.display().to_string();
    Folder::open_for_writing(directory).map_err(Error::io("open", &name))
}

/// Bytes on the disk, and time of the last write, of the file of a segment.
fn file_of(directory: &Path, index: u64) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let plain = directory.join(segment_name(index));
    let compressed = directory.join(format!(
        "{}{}",
        segment_name(index),
        crate::compressed::SUFFIX
    ));
    let about = std::fs::metadata(plain)
        .or_else(|_| std::fs::metadata(compressed))
        .ok()?;
    let written = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let since = written.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some((about.blocks() * 512, since.as_nanos() as u64))
}

/// Position of the first byte of a segment; `None` before it has a record.
fn begin_of(directory: &Path, index: u64) -> Result<Option<u64>, Error> {
    let mut base = None;
    Follow::from_segment(directory, index).poll(u64::MAX, 1, |entry: &Entry<'_>| {
        if entry.head.kind == kind::BEGIN {
            base = Begin::decode(entry.body).map(|begin| begin.base);
        }
    })?;
    Ok(base)
}
