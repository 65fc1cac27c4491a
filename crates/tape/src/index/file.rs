//! Index files beside the segments.

use super::bytes::{self, HEAD_BYTES, Head, PARTS, PARTS_OF_PLACES};
use super::{Index, build};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use touchline_journal::{Error, index_path, segment_numbers};

/// What a reader needs of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Places.
    Places,
    /// Places, and blocks of instruments.
    All,
}

/// The index file of a closed segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexFile {
    /// It is the segment's.
    Right,
    /// There is none.
    Missing,
    /// It is damaged, of another version, or of another segment.
    Wrong,
}

/// Reads the index file of a segment; the reason if there is none that is the segment's.
pub(crate) fn load(directory: &Path, segment: u64, part: Part) -> Result<Index, IndexFile> {
    let read = read(&index_path(directory, segment), part);
    let index = match read {
        Ok(index) => index.ok_or(IndexFile::Wrong)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(IndexFile::Missing),
        Err(_) => return Err(IndexFile::Wrong),
    };
    // mutant: tape: an index of another segment is used
    let is_its = index.segment.index == segment && index.segment.is_in(directory).unwrap_or(false);
    match is_its && !index.blocks.is_empty() {
        true => Ok(index),
        false => Err(IndexFile::Wrong),
    }
}

fn read(path: &Path, part: Part) -> io::Result<Option<Index>> {
    let file = File::open(path)?;
    let mut head = [0; HEAD_BYTES];
    file.read_exact_at(&mut head, 0)?;
    let Some(head) = Head::decode(&head) else {
        return Ok(None);
    };
    let parts = match part {
        Part::Places => PARTS_OF_PLACES,
        Part::All => PARTS,
    };
    let bytes: u64 = head.parts[..parts]
        .iter()
        .map(|part| u64::from(part.0))
        .sum();
    // A length is not trusted before its bytes are there.
    if file.metadata()?.len() < HEAD_BYTES as u64 + bytes {
        return Ok(None);
    }
    let mut read = vec![0; bytes as usize];
    file.read_exact_at(&mut read, HEAD_BYTES as u64)?;
    Ok(bytes::decode(&head, &read, parts))
}

/// Writes the index of each closed segment from this number on that has none: the number of written files, and the first segment that is
/// not closed.
///
/// # Errors
/// A segment cannot be read, or a file not be written.
pub fn index_segments(directory: &Path, from: u64) -> Result<(u64, u64), Error> {
    let (mut written, mut next) = (0, from);
    for segment in segment_numbers(directory)? {
        if segment < from {
            continue;
        }
        if load(directory, segment, Part::All).is_err() {
            let Some(index) = build(directory, segment)? else {
                break;
            };
            write(directory, segment, &bytes::encode(&index)).map_err(|source| Error::Io {
                action: "write the index",
                name: index_path(directory, segment).display().to_string(),
                source,
            })?;
            written += 1;
        }
        next = segment + 1;
    }
    Ok((written, next))
}

/// The index file of each segment that has one or is closed, by its number.
///
/// # Errors
/// The directory cannot be read.
pub fn verify_indexes(
    directory: &Path,
    closed: impl IntoIterator<Item = u64>,
) -> Vec<(u64, IndexFile)> {
    let file = |segment| match load(directory, segment, Part::All) {
        Ok(_) => IndexFile::Right,
        Err(file) => file,
    };
    closed
        .into_iter()
        .map(|segment| (segment, file(segment)))
        .collect()
}

/// Readers see the whole file or none.
fn write(directory: &Path, segment: u64, bytes: &[u8]) -> io::Result<()> {
    let path = index_path(directory, segment);
    let unfinished = path.with_extension(format!("tli.{}", std::process::id()));
    let written = create(&unfinished, bytes).and_then(|()| std::fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    // The next reader may come after a crash of the host; the checksums find what that leaves.
    file.sync_data()
}
