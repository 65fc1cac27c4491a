//! Compression of closed segments, by a tool beside the writer.

use crate::closed::segment_numbers;
use crate::compressed::{self, Compressed, SUFFIX};
use crate::disk::{Disk, zeroed};
use crate::error::Error;
use crate::folder::Folder;
use crate::follow::Follow;
use crate::format::{SegmentHeader, segment_name};
use crate::judge::{SegmentState, Verdict};
use crate::reader::{damaged, verify};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A segment that was compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressedSegment {
    /// Name of its file.
    pub name: String,
    /// Bytes of the segment.
    pub bytes: u64,
    /// Bytes of the file.
    pub compressed_bytes: u64,
}

/// Compresses every closed segment that has a later used segment. The writer may be running. A kill leaves each segment
/// in at least one form.
///
/// # Errors
/// [`Error::Damaged`]: the files are unchanged. [`Error::Locked`]: another process compresses this journal. The
/// directory cannot be written.
pub fn compress(directory: &Path) -> Result<Vec<CompressedSegment>, Error> {
    let report = verify(directory)?;
    if report.verdict == Verdict::Damaged {
        return Err(damaged(directory, &report));
    }
    let name = directory.display().to_string();
    let mut folder = Folder::open_for_writing(directory).map_err(Error::io("open", &name))?;
    let used = report.segments.iter().filter(|segment| segment.frames > 0);
    let last = used.map(|segment| segment.index).max().unwrap_or(0);
    let closed = report
        .segments
        .iter()
        .filter(|segment| segment.state == SegmentState::Closed && segment.index < last);
    let mut done = Vec::new();
    for segment in closed {
        let name = segment_name(segment.index);
        if directory.join(&name).exists() {
            let compressed = compress_segment(&mut folder, directory, &name);
            done.extend(compressed.map_err(|error| error.within(directory))?);
        }
    }
    Ok(done)
}

/// Numbers of the segments that are not compressed, oldest first.
///
/// # Errors
/// The directory cannot be read.
pub fn plain_segments(directory: &Path) -> Result<Vec<u64>, Error> {
    let mut indexes = segment_numbers(directory)?;
    indexes.retain(|index| directory.join(segment_name(*index)).exists());
    Ok(indexes)
}

/// Compresses a segment that is closed and on the disk, beside a running writer. It is verified alone, so that the time does not depend on the
/// size of the journal. `None` if a copy of its header does not hold, which a repair writes again.
///
/// # Errors
/// [`Error::Damaged`]: the file is unchanged. Otherwise as [`compress`].
pub fn compress_one(directory: &Path, index: u64) -> Result<Option<CompressedSegment>, Error> {
    let name = directory.display().to_string();
    let mut folder = Folder::open_for_writing(directory).map_err(Error::io("open", &name))?;
    let name = segment_name(index);
    if !is_whole(directory, index)? {
        let what = format!("{name} does not hold up to its End");
        return Err(Error::Damaged { name, what }.within(directory));
    }
    let done = compress_segment(&mut folder, directory, &name);
    done.map_err(|error| error.within(directory))
}

/// Whether every frame of a segment holds, up to its `End`.
fn is_whole(directory: &Path, index: u64) -> Result<bool, Error> {
    let mut follow = Follow::from_segment(directory, index);
    while follow.segment() == index {
        if follow.poll(u64::MAX, 1, |_| {})? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compresses a segment; `None` if a copy of its header does not hold, which a repair writes again.
fn compress_segment(
    folder: &mut Folder,
    directory: &Path,
    name: &str,
) -> Result<Option<CompressedSegment>, Error> {
    let bytes = folder.read_all(name).map_err(Error::io("read", name))?;
    if !matches!(SegmentHeader::decode(&bytes), Ok((_, [true, true]))) {
        return Ok(None);
    }
    let target = format!("{name}{SUFFIX}");
    let unfinished = format!("{target}.new");
    let file = open_unfinished(directory, &unfinished)?;
    let written = write_all(&bytes, &file);
    let compressed_bytes = written.map_err(Error::io("write", &unfinished))?;
    // The written bytes are read back and compared before the only other form is removed.
    let is_equal = is_equal(&bytes, &file).map_err(Error::io("read", &unfinished))?;
    if !is_equal {
        let other = std::io::Error::new(ErrorKind::InvalidData, "it reads otherwise than written");
        return Err(Error::io("compress", name)(other));
    }
    std::fs::rename(directory.join(&unfinished), directory.join(&target))
        .map_err(Error::io("rename", &unfinished))?;
    folder
        .sync_names()
        .map_err(Error::io("sync the directory of", name))?;
    folder
        .remove_plain(name)
        .map_err(Error::io("remove", name))?;
    folder
        .sync_names()
        .map_err(Error::io("sync the directory of", name))?;
    Ok(Some(CompressedSegment {
        name: target,
        bytes: bytes.len() as u64,
        compressed_bytes,
    }))
}

/// Opens the file under its first name; its lock keeps a second process away, and ends with this one.
fn open_unfinished(directory: &Path, unfinished: &str) -> Result<File, Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(directory.join(unfinished))
        .map_err(Error::io("create", unfinished))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let name = unfinished.to_owned();
            return Err(Error::Locked { name, pid: 0 });
        }
        Err(TryLockError::Error(source)) => return Err(Error::io("lock", unfinished)(source)),
    }
    // A killed compression may have left a part of the file.
    file.set_len(0).map_err(Error::io("empty", unfinished))?;
    Ok(file)
}

fn write_all(bytes: &[u8], file: &File) -> std::io::Result<u64> {
    let mut out = BufWriter::new(file);
    compressed::write(bytes, &mut out)?;
    out.flush()?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn is_equal(bytes: &[u8], file: &File) -> std::io::Result<bool> {
    let mut compressed = Compressed::open(file.try_clone()?)?;
    let mut read = zeroed(compressed.length() as usize)?;
    compressed.read(0, &mut read)?;
    Ok(read == bytes)
}
