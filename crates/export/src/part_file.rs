//! A file that appears under its name when it is complete.

use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// File `NAME.part` that gets its name when it is complete; dropped earlier, it is removed. A part that a killed run left is
/// written again by the next run; one that is being written is refused.
#[derive(Debug)]
pub struct PartFile {
    part: PathBuf,
    /// `None` once it has its name.
    writer: Option<BufWriter<File>>,
    bytes: u64,
}

const PART: &str = ".part";
const BUFFER_BYTES: usize = 1 << 18;

impl PartFile {
    /// Creates `NAME.part`, and the folders above it.
    ///
    /// # Errors
    /// It cannot be created, or another process writes it.
    pub fn create(path: &Path) -> io::Result<PartFile> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut part = path.as_os_str().to_owned();
        part.push(PART);
        let part = PathBuf::from(part);
        let file = loop {
            let file = open_locked(&part)?;
            if is_at(&file, &part)? {
                break file;
            }
        };
        file.set_len(0)?;
        Ok(PartFile {
            part,
            writer: Some(BufWriter::with_capacity(BUFFER_BYTES, file)),
            bytes: 0,
        })
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Path of the growing file.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Appends the content of a file, by the kernel where that is possible.
    ///
    /// # Errors
    /// One of the two cannot be read or written.
    pub fn append(&mut self, mut content: &File) -> io::Result<()> {
        self.flush()?;
        if let Some(writer) = &mut self.writer {
            self.bytes += io::copy(&mut content, writer.get_mut())?;
        }
        Ok(())
    }

    /// Writes all content to the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        let writer = self.writer.as_ref();
        writer.map_or(Ok(()), |writer| writer.get_ref().sync_all())
    }

    /// Gives the file, which was synced, its name; it replaces an older one.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn publish(mut self, path: &Path) -> io::Result<()> {
        if self.writer.is_some() {
            std::fs::rename(&self.part, path)?;
            self.writer = None;
        }
        match path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            Some(folder) => File::open(folder)?.sync_all(),
            None => File::open(".")?.sync_all(),
        }
    }
}

/// The file at this path, locked.
fn open_locked(part: &Path) -> io::Result<File> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(part)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::new(
            ErrorKind::ResourceBusy,
            "another export writes it; wait for its end, or give another folder",
        ),
        TryLockError::Error(error) => error,
    })?;
    Ok(file)
}

/// Whether a path still has this file: the run that had the lock may have given it its name, or removed it, between our open and our lock.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(writer) = &mut self.writer else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        let written = writer.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if self.writer.is_some() {
            // A part that cannot be removed is written again by the next run.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_testing::Folder;

    #[test]
    fn a_file_is_whole_or_not_there() {
        let folder = Folder::new("part-file");
        let path = folder.join("a/b.csv");
        let mut file = PartFile::create(&path).expect("our folder");
        file.write_all(b"one").expect("room");
        let second = PartFile::create(&path).expect_err("it is being written");
        assert_eq!(second.kind(), ErrorKind::ResourceBusy);
        drop(file);
        assert_eq!(std::fs::read_dir(folder.join("a")).unwrap().count(), 0);
        // A killed run leaves its part.
        std::fs::write(folder.join("a/b.csv.part"), "longer than the new one").unwrap();
        std::fs::write(&path, "old").unwrap();
        let mut file = PartFile::create(&path).expect("our folder");
        file.write_all(b"new").expect("room");
        file.flush().expect("room");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        file.sync().expect("room");
        file.publish(&path).expect("room");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.join("a")).unwrap().count(), 1);
    }

    /// A run that has opened a part may get the lock when the file has its name already.
    #[test]
    fn a_published_file_is_never_emptied() {
        let folder = Folder::new("part-file-race");
        let (path, part) = (folder.join("b.csv"), folder.join("b.csv.part"));
        let rounds = 300;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let Ok(mut file) = PartFile::create(&path) else {
                            continue;
                        };
                        file.write_all(b"whole").expect("room");
                        file.flush().expect("room");
                        file.publish(&path).expect("room");
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole");
        let file = open_locked(&part).expect("our folder");
        assert!(is_at(&file, &part).unwrap());
        std::fs::rename(&part, &path).unwrap();
        assert!(!is_at(&file, &part).unwrap(), "it has its name");
        let _other = File::create(&part).unwrap();
        assert!(!is_at(&file, &part).unwrap(), "the part of another run");
    }
}
