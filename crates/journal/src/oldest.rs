//! The oldest segments of a journal, removed by a limit of its size or age.

use crate::closed::index_path;
use crate::compressed::{SUFFIX, unfinished_name};
use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::format::{kind, segment_name};
use crate::judge::segment_indexes;
use crate::records::Begin;
use crate::{Entry, Follow};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Segments that are never removed: the one that is written, the prepared one, and one that may have ended just now.
const NEWEST: usize = 3;

/// A segment that may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldSegment {
    /// Its index.
    pub index: u64,
    /// Bytes of its file on the disk.
    pub bytes: u64,
    /// Time of the first record behind it, ns since the Unix epoch.
    pub ended_ns: u64,
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
    Ok(indexes
        .iter()
        .filter_map(|index| bytes_of(directory, *index))
        .sum())
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
        let (Some(bytes), Some((end, ended_ns))) =
            (bytes_of(directory, index), begin_of(directory, next)?)
        else {
            break;
        };
        let segment = OldSegment {
            index,
            bytes,
            ended_ns,
            end,
        };
        if !is_over(&segment) {
            break;
        }
        let name = segment_name(index);
        folder.close(&name);
        let held = folder.hold_plain(&name);
        let _held = held.map_err(|error| Error::io("lock", &name)(error).within(directory))?;
        let [plain, compressed] = forms(directory, index);
        // A killed compression may have left a part.
        let part = directory.join(unfinished_name(&name));
        for path in [index_path(directory, index), plain, compressed, part] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path.display().to_string())(error));
                }
                _ => {}
            }
        }
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

/// Files of a segment: the plain one and the compressed one.
fn forms(directory: &Path, index: u64) -> [PathBuf; 2] {
    let name = segment_name(index);
    [
        directory.join(&name),
        directory.join(format!("{name}{SUFFIX}")),
    ]
}

/// Bytes on the disk of the files of a segment.
fn bytes_of(directory: &Path, index: u64) -> Option<u64> {
    let forms = forms(directory, index);
    let bytes = forms
        .iter()
        .filter_map(|path| Some(std::fs::metadata(path).ok()?.blocks() * 512));
    bytes.reduce(|one, other| one + other)
}

/// Position before the first record of a segment, and its time, ns since the Unix epoch; `None` before it has one.
///
/// # Errors
/// A file cannot be read.
pub fn begin_of(directory: &Path, index: u64) -> Result<Option<(u64, u64)>, Error> {
    let mut begun = None;
    Follow::from_segment(directory, index).poll(u64::MAX, 1, |entry: &Entry<'_>| {
        if entry.head.kind == kind::BEGIN {
            let begin = Begin::decode(entry.body);
            begun = begin.map(|begin| (begin.base, entry.head.time_ns));
        }
    })?;
    Ok(begun)
}
