//! Files of pcapng that a recorder writes: each ends at a whole block, also after a kill.

use super::blocks::RecordBlocks;
use crate::retention::free_bytes;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at once.
const WRITE_BYTES: usize = 64 << 10;

/// A file, or files with numbers where they are rotated.
#[derive(Debug)]
pub struct CaptureFiles {
    /// The path that was given.
    path: PathBuf,
    /// Most bytes of a file, if they are rotated by size.
    bytes_max: Option<u64>,
    /// Number of the present file; `None`: there is one file alone.
    number: Option<u64>,
    file: File,
    name: PathBuf,
    /// Bytes of the file that end at a whole block.
    whole: u64,
    /// Bytes of the files before.
    before: u64,
    /// Bytes of the files that have ended.
    durable: u64,
    made: RecordBlocks,
}

/// A file that cannot be written.
#[derive(Debug)]
pub struct FileError {
    /// The file.
    pub name: PathBuf,
    /// Error of the system.
    pub error: io::Error,
    /// Bytes of it that end at a whole block.
    pub whole: u64,
}

impl CaptureFiles {
    /// Makes the first file. With `is_rotated` it has the first free number.
    pub fn create(
        path: &Path,
        is_rotated: bool,
        bytes_max: Option<u64>,
    ) -> Result<CaptureFiles, FileError> {
        let mut made = head();
        let (file, name, number) = match is_rotated {
            true => next_file(path, 1, &mut made)?,
            false => (create(path, &mut made)?, path.to_owned(), None),
        };
        Ok(CaptureFiles {
            path: path.to_owned(),
            bytes_max,
            number,
            file,
            name,
            whole: made.position(),
            before: 0,
            durable: 0,
            made,
        })
    }

    /// Whether the file has room for a record beside its own end.
    pub fn has_room(&self, bytes: usize) -> bool {
        const END_BYTES: u64 = 8 << 10;
        let wanted = self.made.position() + bytes as u64 + END_BYTES;
        self.bytes_max.is_none_or(|most| wanted <= most)
    }

    /// Ends the file, and begins the next one.
    pub fn begin(&mut self) -> Result<(), FileError> {
        self.end()?;
        let number = self.number.map_or(1, |number| number + 1);
        let mut made = head();
        let (file, name, number) = next_file(&self.path, number, &mut made)?;
        (self.file, self.name, self.number) = (file, name, number);
        self.before += self.whole;
        self.whole = made.position();
        self.made = made;
        Ok(())
    }

    /// Appends a record.
    pub fn append(&mut self, stream: u16, kind: u16, time_ns: u64, body: &[u8]) {
        self.made.record(stream, kind, time_ns, body);
    }

    /// Number of the present file, from 1.
    pub fn number(&self) -> u64 {
        self.number.unwrap_or(1)
    }

    /// Bytes of all files up to the last whole block that was written.
    pub fn position(&self) -> u64 {
        self.before + self.whole
    }

    /// Bytes of the files that have ended: they are on the disk.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Bytes free on the file system of the files; `None` if it does not tell.
    pub fn free_bytes(&self) -> Option<u64> {
        let parent = self.path.parent();
        let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
        free_bytes(parent.unwrap_or(Path::new(".")))
    }

    /// Whether enough waits for a write.
    pub fn is_due(&self) -> bool {
        self.made.waiting().len() >= WRITE_BYTES
    }

    /// Writes what waits. A part of a block that a full disk has taken is removed again.
    pub fn flush(&mut self) -> Result<(), FileError> {
        let written = self.file.write_all(self.made.waiting());
        if let Err(error) = written {
            let whole = self.whole;
            // The file ends at a whole block, as far as the system lets it.
            let _ = self.file.set_len(whole);
            let name = self.name.clone();
            return Err(FileError { name, error, whole });
        }
        self.made.written();
        self.whole = self.made.position();
        Ok(())
    }

    /// Ends the last file: it is on the disk when this returns.
    pub fn end(&mut self) -> Result<(), FileError> {
        self.made.end_section();
        self.flush()?;
        self.file.sync_data().map_err(|error| FileError {
            name: self.name.clone(),
            error,
            whole: self.whole,
        })?;
        self.durable = self.position();
        Ok(())
    }
}

/// A file that did not exist, with the header of its section: a capture is not overwritten, and never seen without a block.
fn create(path: &Path, made: &mut RecordBlocks) -> Result<File, FileError> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.partial", std::process::id()));
    let draft = PathBuf::from(draft);
    let write = |mut file: File| file.write_all(made.waiting()).map(|()| file);
    let created = File::create(&draft).and_then(write).and_then(|file| {
        match std::fs::hard_link(&draft, path) {
            Ok(()) => Ok(file),
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => Err(taken),
            // The file system has no links.
            Err(_) => File::create_new(path).and_then(write),
        }
    });
    let _ = std::fs::remove_file(draft);
    let file = created.map_err(|error| FileError {
        name: path.to_owned(),
        error,
        whole: 0,
    })?;
    made.written();
    Ok(file)
}

/// The first file from this number on that did not exist.
fn next_file(
    path: &Path,
    from: u64,
    made: &mut RecordBlocks,
) -> Result<(File, PathBuf, Option<u64>), FileError> {
    for number in from.. {
        let name = numbered(path, number);
        if name.exists() {
            continue;
        }
        match create(&name, made) {
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((created?, name, Some(number))),
        }
    }
    unreachable!("a directory has fewer files")
}

/// Blocks of a file before its first record.
fn head() -> RecordBlocks {
    let mut made = RecordBlocks::default();
    made.begin_section();
    made
}

/// `day.pcapng` with its number: `day-0000000001.pcapng`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(ending) => format!("{stem}-{number:010}.{}", ending.to_string_lossy()),
        None => format!("{stem}-{number:010}"),
    };
    path.with_file_name(name)
}
