//! A directory on a real file system.

use crate::disk::Disk;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Alignment of a buffer for reads past the page cache.
const DIRECT_ALIGNMENT: usize = 4096;
/// Bytes of one read past the page cache.
const DIRECT_BYTES: usize = 1 << 20;

/// A directory, mode 0700, of files with mode 0600.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    handle: File,
    /// Open files: a sync reports failures of writes through the handle that wrote.
    files: BTreeMap<String, File>,
    may_write: bool,
}

impl Folder {
    /// Opens a directory for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        let handle = File::open(path)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                "a journal is a directory",
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            handle,
            files: BTreeMap::new(),
            may_write: false,
        })
    }

    /// Opens a directory for writing.
    pub fn open_for_writing(path: &Path) -> io::Result<Self> {
        Ok(Self {
            may_write: true,
            ..Self::open(path)?
        })
    }

    /// Creates the directory if it is missing, and opens it for writing.
    pub fn create_directory(path: &Path) -> io::Result<Self> {
        match std::fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {
                let parent = path
                    .parent()
                    .filter(|parent| !parent.as_os_str().is_empty());
                File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        Self::open_for_writing(path)
    }

    fn file(&mut self, name: &str) -> io::Result<&File> {
        if !self.files.contains_key(name) {
            let file = std::fs::OpenOptions::new()
                .read(true)
                .write(self.may_write)
                .custom_flags(OFlags::NOFOLLOW.bits() as i32)
                .open(self.path.join(name))?;
            self.files.insert(name.to_owned(), file);
        }
        Ok(&self.files[name])
    }
}

impl Disk for Folder {
    fn names(&mut self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn length(&mut self, name: &str) -> io::Result<u64> {
        Ok(self.file(name)?.metadata()?.len())
    }

    fn read(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file(name)?.read_exact_at(buffer, offset)
    }

    fn read_direct(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let length = self.length(name)? as usize;
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::open(self.path.join(name), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::INVAL) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut buffer = vec![0; DIRECT_BYTES + DIRECT_ALIGNMENT];
        let start = buffer.as_ptr().align_offset(DIRECT_ALIGNMENT);
        let buffer = &mut buffer[start..start + DIRECT_BYTES];
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            match file.read_at(buffer, bytes.len() as u64) {
                Ok(0) => break,
                Ok(count) => bytes.extend(&buffer[..count.min(length - bytes.len())]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(bytes))
    }

    fn create(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        // A file beyond the limit of the process would be a signal that ends it.
        let limit = getrlimit(Resource::Fsize).current;
        if limit.is_some_and(|limit| bytes > limit) {
            return Err(io::Error::from(rustix::io::Errno::FBIG));
        }
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(self.path.join(name))?;
        let allocated = rustix::io::retry_on_intr(|| {
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)
        });
        match allocated {
            Ok(()) => {}
            // A file system without this call: zeros take the space.
            Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes)?,
            Err(error) => {
                drop(file);
                // The space is needed again; the error says why the file is missing.
                let _ = std::fs::remove_file(self.path.join(name));
                return Err(error.into());
            }
        }
        self.files.insert(name.to_owned(), file);
        Ok(())
    }

    fn write(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file(name)?.write_all_at(bytes, offset)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.file(name)?.sync_data()
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))?;
        self.files.remove(to);
        if let Some(file) = self.files.remove(from) {
            self.files.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.files.remove(name);
        std::fs::remove_file(self.path.join(name))
    }
}
