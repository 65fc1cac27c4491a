//! Compression of closed segments, by a tool beside the writer.

use crate::closed::segment_numbers;
use crate::compressed::{self, Compressed, SUFFIX, unfinished_name};
use crate::disk::{Disk, zeroed};
use crate::error::Error;
use crate::folder::{FileId, Folder};
use crate::follow::Follow;
use crate::format::{SegmentHeader, segment_name};
use crate::judge::{SegmentState, Verdict};
use crate::reader::{damaged, verify};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The compressed form of a segment under its first name.
#[derive(Debug)]
struct Unfinished {
    segment: CompressedSegment,
    /// The file, whose lock keeps other processes away until it has its name: one that empties it would empty the only form of the segment.
    file: File,
}

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

/// Compresses every closed segment that has a later used segment. The writer may be running, and remove the oldest segments. A kill leaves each
/// segment in at least one form.
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
/// size of the journal. `None` if a copy of its header does not hold, which a repair writes again, or if it was removed meanwhile.
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

/// Compresses a segment; `None` if a copy of its header does not hold, which a repair writes again, or if it was removed meanwhile.
fn compress_segment(
    folder: &mut Folder,
    directory: &Path,
    name: &str,
) -> Result<Option<CompressedSegment>, Error> {
    match write_unfinished(folder, directory, name)? {
        Some(unfinished) => replace_plain(folder, directory, name, unfinished),
        None => Ok(None),
    }
}

/// Writes the compressed form of a segment under its first name.
fn write_unfinished(
    folder: &mut Folder,
    directory: &Path,
    name: &str,
) -> Result<Option<Unfinished>, Error> {
    let bytes = match folder.read_all(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(Error::io("read", name))?,
    };
    if !matches!(SegmentHeader::decode(&bytes), Ok((_, [true, true]))) {
        return Ok(None);
    }
    let unfinished = unfinished_name(name);
    let file = open_unfinished(directory, &unfinished)?;
    let written = write_all(&bytes, &file);
    let compressed_bytes = written.map_err(Error::io("write", &unfinished))?;
    // The written bytes are read back and compared before the only other form is removed.
    let is_equal = is_equal(&bytes, &file).map_err(Error::io("read", &unfinished))?;
    if !is_equal {
        let other = std::io::Error::new(ErrorKind::InvalidData, "it reads otherwise than written");
        return Err(Error::io("compress", name)(other));
    }
    let segment = CompressedSegment {
        name: format!("{name}{SUFFIX}"),
        bytes: bytes.len() as u64,
        compressed_bytes,
    };
    Ok(Some(Unfinished { segment, file }))
}

/// Puts the compressed form of a segment in the place of the plain one. A segment without a plain form was removed since it was read: with its
/// compressed form the journal would lack the segments between it and the oldest one.
fn replace_plain(
    folder: &mut Folder,
    directory: &Path,
    name: &str,
    Unfinished { segment, file }: Unfinished,
) -> Result<Option<CompressedSegment>, Error> {
    let unfinished = unfinished_name(name);
    let held = folder.hold_plain(name).map_err(Error::io("lock", name))?;
    // mutant: journal: a compression brings back a segment that was removed
    if held.is_none() {
        return match std::fs::remove_file(directory.join(&unfinished)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &unfinished)(error))
            }
            _ => Ok(None),
        };
    }
    std::fs::rename(directory.join(&unfinished), directory.join(&segment.name))
        .map_err(Error::io("rename", &unfinished))?;
    drop(file);
    folder
        .sync_names()
        .map_err(Error::io("sync the directory of", name))?;
    folder
        .remove_plain(name)
        .map_err(Error::io("remove", name))?;
    folder
        .sync_names()
        .map_err(Error::io("sync the directory of", name))?;
    Ok(Some(segment))
}

/// Opens the file under its first name; its lock keeps a second process away.
fn open_unfinished(directory: &Path, unfinished: &str) -> Result<File, Error> {
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(directory.join(unfinished))
            .map_err(Error::io("create", unfinished))?;
        if lock_unfinished(&file, directory, unfinished)? {
            // A killed compression may have left a part of the file.
            file.set_len(0).map_err(Error::io("empty", unfinished))?;
            return Ok(file);
        }
    }
}

/// Locks the file. False: who held the lock before gave the file its last name, or removed it.
fn lock_unfinished(file: &File, directory: &Path, unfinished: &str) -> Result<bool, Error> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let name = unfinished.to_owned();
            return Err(Error::Locked { name, pid: 0 });
        }
        Err(TryLockError::Error(source)) => return Err(Error::io("lock", unfinished)(source)),
    }
    // mutant: journal: a compression empties the file of another one that has finished
    let is_at = FileId::is_at(file, &directory.join(unfinished));
    is_at.map_err(Error::io("look at", unfinished))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Journal, Options, Record, Root, WriterLock, remove_oldest};
    use std::time::Duration;
    use touchline_testing::{Folder as TestFolder, PATIENCE, until};

    /// A closed journal of more than eight segments.
    fn written(folder: &TestFolder) -> std::path::PathBuf {
        let tail = Root::at(folder.join("bus"))
            .create("engine")
            .expect("a bus");
        let tail = WriterLock::acquire(tail).expect("its lock");
        let options = Options {
            segment_bytes: 64 << 10,
            ring_bytes: 256 << 10,
            ..Options::orders("test")
        };
        let directory = folder.join("journal");
        let mut journal = Journal::open(&directory, &tail, &options, 1).expect("a journal");
        let record = Record {
            stream: 1,
            kind: 48,
            time_ns: 1,
            body: &[7; 1_000],
        };
        while journal.segment() < 9 {
            until("room", PATIENCE, || journal.append(&record).is_ok());
        }
        journal.close(2).expect("it closes");
        directory
    }

    /// Names of the files of the segment 3.
    fn files_of_third(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).expect("our folder").flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter(|name| name.starts_with("0000000003."))
            .collect()
    }

    /// Retention removes a segment while it is compressed: neither form is there afterwards, and the journal is clean.
    #[test]
    fn a_segment_that_is_removed_while_it_is_compressed_stays_removed() {
        let folder = TestFolder::in_memory("compress-removed");
        let directory = written(&folder);
        let name = segment_name(3);
        let mut opened = Folder::open_for_writing(&directory).expect("our folder");
        let unfinished = write_unfinished(&mut opened, &directory, &name).expect("room");
        let unfinished = unfinished.expect("it is there");
        let removed = remove_oldest(&directory, |segment| segment.index <= 5);
        assert_eq!(removed.expect("our folder"), 5);
        let done = replace_plain(&mut opened, &directory, &name, unfinished);
        assert_eq!(done.expect("it was removed"), None);
        assert_eq!(files_of_third(&directory), Vec::<String>::new());
        let report = verify(&directory).expect("a journal");
        assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
        assert_eq!(
            compress_one(&directory, 6)
                .expect("it is there")
                .map(|of| of.name),
            Some("0000000006.tlj.zst".to_owned())
        );
    }

    /// A second compression of a segment has read the plain form. Until the file of the first one has its name, the second one is refused; then
    /// the file that it opened is the compressed segment, and stays whole.
    #[test]
    fn a_second_compression_does_not_empty_the_file_of_the_first_one() {
        let folder = TestFolder::in_memory("compress-twice");
        let directory = written(&folder);
        let name = segment_name(3);
        let mut opened = Folder::open_for_writing(&directory).expect("our folder");
        let first = write_unfinished(&mut opened, &directory, &name).expect("room");
        let first = first.expect("it is there");
        let mut other = Folder::open_for_writing(&directory).expect("our folder");
        let second = write_unfinished(&mut other, &directory, &name);
        assert!(matches!(second, Err(Error::Locked { .. })), "{second:?}");
        let path = directory.join(unfinished_name(&name));
        let late = OpenOptions::new().read(true).write(true).open(path);
        let late = late.expect("the file of the first one");
        let done = replace_plain(&mut opened, &directory, &name, first);
        assert!(done.expect("our folder").is_some());
        let is_ours = lock_unfinished(&late, &directory, &unfinished_name(&name));
        assert!(!is_ours.expect("our folder"));
        drop(late);
        // It has read the plain form: its own file goes again.
        let file = open_unfinished(&directory, &unfinished_name(&name)).expect("room");
        let segment = CompressedSegment {
            name: format!("{name}{SUFFIX}"),
            bytes: 0,
            compressed_bytes: 0,
        };
        let second = Unfinished { segment, file };
        let done = replace_plain(&mut other, &directory, &name, second);
        assert_eq!(done.expect("our folder"), None);
        assert_eq!(files_of_third(&directory), ["0000000003.tlj.zst"]);
        let report = verify(&directory).expect("a journal");
        assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
    }

    /// Retention waits while a segment has both forms, and then removes the compressed one.
    #[test]
    fn retention_waits_for_a_segment_that_is_replaced_by_its_compressed_form() {
        let folder = TestFolder::in_memory("compress-held");
        let directory = written(&folder);
        let name = segment_name(3);
        let opened = Folder::open_for_writing(&directory).expect("our folder");
        let held = opened
            .hold_plain(&name)
            .expect("our folder")
            .expect("it is there");
        std::thread::scope(|scope| {
            let removal = scope.spawn(|| remove_oldest(&directory, |segment| segment.index <= 5));
            until("the segments before", PATIENCE, || {
                !directory.join(segment_name(2)).exists()
            });
            std::thread::sleep(Duration::from_millis(50));
            assert!(directory.join(&name).exists());
            let plain = directory.join(&name);
            std::fs::copy(&plain, directory.join(format!("{name}{SUFFIX}"))).expect("room");
            std::fs::remove_file(&plain).expect("our folder");
            drop(held);
            let removed = removal.join().expect("it does not panic");
            assert_eq!(removed.expect("our folder"), 5);
        });
        assert_eq!(files_of_third(&directory), Vec::<String>::new());
        let report = verify(&directory).expect("a journal");
        assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
    }
}
