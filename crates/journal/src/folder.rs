//! A directory on a real file system.

use crate::compressed::{Compressed, SUFFIX};
use crate::disk::{Disk, put_block, zeroed};
use crate::error::Error;
use crate::format::segment_index;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of a buffer for reads past the page cache.
const DIRECT_ALIGNMENT: usize = 4096;
/// Bytes of one write of zeros.
const ZERO_BYTES: usize = 256 << 10;
/// Segments that are known as they were made.
const MADE: usize = 4;
/// Files that a folder keeps open: a writer needs the present and the prepared segment. An open file keeps the space of a removed segment.
const OPEN_MAX: usize = 4;
/// Bytes of one read past the page cache.
const DIRECT_BYTES: usize = 1 << 20;

/// A file or directory, independent of its name: both numbers are unique while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
}

impl FileId {
    /// Makes the identity from metadata.
    pub fn of(about: &std::fs::Metadata) -> FileId {
        FileId {
            device: about.dev(),
            inode: about.ino(),
        }
    }

    /// Whether an open file is the one that has this name.
    pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
        match std::fs::symlink_metadata(path) {
            Ok(about) => Ok(FileId::of(&about) == FileId::of(&file.metadata()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Identity and length of a segment when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFile {
    /// Number of the segment.
    pub index: u64,
    /// The file.
    pub id: FileId,
    /// Length, bytes.
    pub bytes: u64,
}

/// The last segments that a folder made, by the lowest bits of their numbers: the prepared one, the present one, and
/// two before.
#[derive(Debug, Clone, Default)]
pub(crate) struct MadeSegments(Arc<Mutex<[Option<SegmentFile>; MADE]>>);

impl MadeSegments {
    fn note(&self, file: SegmentFile) {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made[file.index as usize % MADE] = Some(file);
    }

    /// A segment that this folder made, if it is one of the last.
    pub fn of(&self, index: u64) -> Option<SegmentFile> {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made[index as usize % MADE].filter(|file| file.index == index)
    }
}

/// A directory, mode 0700, of files with mode 0600.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    handle: File,
    /// Open files: a sync reports failures of writes through the handle that wrote.
    files: BTreeMap<String, File>,
    /// Those that were written since their last sync.
    unsynced: BTreeSet<String>,
    /// Open compressed segments, by the name that the segment has when it is not compressed.
    compressed: BTreeMap<String, Compressed>,
    may_write: bool,
    /// Whether files of other users, or open to them, are refused, too: of a writer and of a copy.
    is_private: bool,
    made: MadeSegments,
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
            unsynced: BTreeSet::new(),
            compressed: BTreeMap::new(),
            may_write: false,
            is_private: false,
            made: MadeSegments::default(),
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
        let folder = Self {
            is_private: true,
            ..Self::open_for_writing(path)?
        };
        folder.verify()?;
        Ok(folder)
    }

    /// Refuses a directory that another user owns or can read, as for a bus, and a symlink: after a change of the link,
    /// written files could not be found.
    fn verify(&self) -> io::Result<()> {
        if std::fs::symlink_metadata(&self.path)?.is_symlink() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is a symlink, and not followed; give the directory itself",
            ));
        }
        verify_private(&self.handle.metadata()?, "700")
    }

    /// Opens a file, if it is not open.
    fn file(&mut self, name: &str) -> io::Result<&File> {
        if !self.files.contains_key(name) {
            let file = self.open_file(name, self.may_write)?;
            self.keep_open(name, file);
        }
        Ok(&self.files[name])
    }

    /// Keeps a file open, and closes the oldest one beyond the limit. A file with writes that no sync has answered for stays open.
    fn keep_open(&mut self, name: &str, file: File) {
        self.files.insert(name.to_owned(), file);
        while self.files.len() > OPEN_MAX {
            let mut names = self.files.keys();
            let Some(oldest) =
                names.find(|other| *other != name && !self.unsynced.contains(*other))
            else {
                return;
            };
            let oldest = oldest.clone();
            self.files.remove(&oldest);
        }
    }

    fn open_file(&self, name: &str, may_write: bool) -> io::Result<File> {
        let file = self.open_regular(name, may_write)?;
        if self.is_private {
            verify_private(&file.metadata()?, "600")?;
        }
        Ok(file)
    }

    fn open_regular(&self, name: &str, may_write: bool) -> io::Result<File> {
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(may_write)
            // A pipe under the name of a segment must not block.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(self.path.join(name))?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is not a regular file",
            )),
        }
    }

    /// The compressed form of a segment, if it has no other. One of the two is there at every moment, and an open file
    /// stays readable.
    fn compressed(&mut self, name: &str) -> io::Result<Option<&mut Compressed>> {
        if self.files.contains_key(name) || segment_index(name).is_none() {
            return Ok(None);
        }
        if !self.compressed.contains_key(name) {
            match self.open_file(name, self.may_write) {
                Ok(file) => {
                    self.keep_open(name, file);
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let file = self.open_file(&format!("{name}{SUFFIX}"), false)?;
            let compressed = Compressed::open(file)?;
            if self.compressed.len() == OPEN_MAX {
                self.compressed.pop_first();
            }
            self.compressed.insert(name.to_owned(), compressed);
        }
        Ok(self.compressed.get_mut(name))
    }

    /// Makes a compressed segment one that can be written: a repair cuts it.
    fn expand(&mut self, name: &str) -> io::Result<()> {
        let bytes = self.read_all(name)?;
        let unfinished = format!("{name}.new");
        // A kill may have left a part.
        if self.path.join(&unfinished).exists() {
            self.remove_plain(&unfinished)?;
        }
        self.create(&unfinished, bytes.len() as u64)?;
        self.write(&unfinished, 0, &bytes)?;
        self.sync(&unfinished)?;
        self.rename(&unfinished, name)?;
        self.sync_names()?;
        self.keep_compressed(name)?;
        self.sync_names()
    }

    /// Takes a compressed segment out of the journal. It may have more than can be decompressed, so it stays as a file.
    fn keep_compressed(&mut self, name: &str) -> io::Result<()> {
        self.compressed.remove(name);
        let file = self.path.join(format!("{name}{SUFFIX}"));
        let kept = self.path.join(format!("{name}{SUFFIX}.cut"));
        std::fs::rename(file, kept)
    }

    /// Gives a compressed segment another name, not compressed, as its bytes are looked at there.
    fn rename_compressed(&mut self, from: &str, to: &str) -> io::Result<()> {
        let bytes = self.read_all(from)?;
        self.create(to, bytes.len() as u64)?;
        self.write(to, 0, &bytes)?;
        self.sync(to)?;
        self.sync_names()?;
        self.remove(from)
    }

    /// A file that is open for writing, for another thread.
    pub fn open_again(&mut self, name: &str) -> io::Result<File> {
        self.file(name)?.try_clone()
    }

    /// Identity of the opened directory, even if its path now leads to another one.
    pub fn id(&self) -> io::Result<FileId> {
        Ok(FileId::of(&self.handle.metadata()?))
    }

    /// Refuses a directory whose path leads elsewhere: open files go on, and cannot be found again.
    pub fn check_place(&self) -> Result<(), Error> {
        let name = self.path.display().to_string();
        let there = match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            about => Some(FileId::of(&about.map_err(Error::io("look at", &name))?)),
        };
        let own = self.id().map_err(Error::io("look at", &name))?;
        // mutant: journal: a directory that was replaced is read and written on
        match there == Some(own) {
            true => Ok(()),
            false => Err(Error::Replaced { name }),
        }
    }

    /// Refuses an open file whose name leads elsewhere.
    pub fn check_file(&self, name: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        let is_at = self
            .files
            .get(name)
            .map_or(Ok(true), |file| FileId::is_at(file, &path));
        let name = path.display().to_string();
        match is_at.map_err(Error::io("look at", &name))? {
            true => Ok(()),
            false => Err(Error::Replaced { name }),
        }
    }

    /// Segments that this folder makes, also later ones.
    pub fn made(&self) -> MadeSegments {
        self.made.clone()
    }

    /// Closes a file: the next access opens the file of that name again.
    pub fn close(&mut self, name: &str) {
        self.files.remove(name);
        self.unsynced.remove(name);
        self.compressed.remove(name);
    }

    /// Holds the plain form of a segment, so that no other process or thread replaces or removes the segment until the file is closed; waits for
    /// one that does. `None`: there is no plain form, and no process makes the compressed one.
    pub fn hold_plain(&self, name: &str) -> io::Result<Option<File>> {
        let file = match self.open_file(name, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // mutant: journal: a segment is replaced and removed at the same time
        file.lock()?;
        // Who held it before may have removed it.
        let is_at = FileId::is_at(&file, &self.path.join(name))?;
        Ok(is_at.then_some(file))
    }

    /// Removes the form of a segment that is not compressed.
    pub fn remove_plain(&mut self, name: &str) -> io::Result<()> {
        self.close(name);
        std::fs::remove_file(self.path.join(name))
    }
}

impl Disk for Folder {
    fn names(&mut self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                let segment = name.strip_suffix(SUFFIX);
                let segment = segment.filter(|segment| segment_index(segment).is_some());
                names.push(segment.unwrap_or(&name).to_owned());
            }
        }
        names.sort();
        // Compressed, and not removed in its other form yet.
        names.dedup();
        Ok(names)
    }

    fn length(&mut self, name: &str) -> io::Result<u64> {
        match self.compressed(name)? {
            Some(compressed) => Ok(compressed.length()),
            None => Ok(self.file(name)?.metadata()?.len()),
        }
    }

    fn read(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self.compressed(name)? {
            Some(compressed) => compressed.read(offset, buffer),
            None => self.file(name)?.read_exact_at(buffer, offset),
        }
    }

    fn read_aside(&mut self, name: &str, buffer: &mut [u8]) -> io::Result<()> {
        self.open_regular(name, false)?.read_exact_at(buffer, 0)
    }

    fn read_direct(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        if self.compressed(name)?.is_some() {
            return Ok(None);
        }
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
        let mut bytes = zeroed(length)?;
        let mut end = 0;
        while end < length {
            match file.read_at(buffer, end as u64) {
                Ok(0) => break,
                Ok(count) => {
                    let count = count.min(length - end);
                    put_block(&mut bytes[end..end + count], &buffer[..count]);
                    end += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(end);
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
        if let Err(error) = allocate(&file, bytes) {
            drop(file);
            // The space is needed again; the error states the reason.
            let _ = std::fs::remove_file(self.path.join(name));
            return Err(error);
        }
        // The space was taken, so that the next sync has something to write.
        self.unsynced.insert(name.to_owned());
        self.keep_open(name, file);
        Ok(())
    }

    fn write(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.compressed(name)?.is_some() {
            self.expand(name)?;
        }
        self.unsynced.insert(name.to_owned());
        self.file(name)?.write_all_at(bytes, offset)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        match self.compressed(name)? {
            // The file was synced before it got its name.
            Some(_) => {}
            None => self.file(name)?.sync_data()?,
        }
        self.unsynced.remove(name);
        Ok(())
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        if self.compressed(from)?.is_some() {
            return self.rename_compressed(from, to);
        }
        std::fs::rename(self.path.join(from), self.path.join(to))?;
        self.close(to);
        if self.unsynced.remove(from) {
            self.unsynced.insert(to.to_owned());
        }
        if let Some(file) = self.files.remove(from) {
            if let Some(index) = segment_index(to) {
                let about = file.metadata()?;
                self.made.note(SegmentFile {
                    index,
                    id: FileId::of(&about),
                    bytes: about.len(),
                });
            }
            self.files.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        if self.compressed(name)?.is_some() {
            return self.keep_compressed(name);
        }
        self.remove_plain(name)
    }
}

/// Refuses a file or directory that another user owns or can access; `cure` is the mode that would be accepted.
fn verify_private(about: &std::fs::Metadata, cure: &str) -> io::Result<()> {
    let denied = |what: String| io::Error::new(io::ErrorKind::PermissionDenied, what);
    let me = rustix::process::geteuid().as_raw();
    if about.uid() != me {
        let owner = about.uid();
        return Err(denied(format!(
            "it belongs to user {owner}, not to user {me}: give a directory and files of this user"
        )));
    }
    match about.mode() & 0o077 {
        0 => Ok(()),
        _ => Err(denied(format!(
            "it has mode {:04o}, which gives access to other users: not trusted; 'chmod {cure}' it if you know why",
            about.mode() & 0o777
        ))),
    }
}

/// Takes the space of an empty file, which then reads as zeros.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let allocated = rustix::io::retry_on_intr(|| {
        rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes)
    });
    if allocated != Err(rustix::io::Errno::OPNOTSUPP) {
        return Ok(allocated?);
    }
    // A file system without this call: only zeros take the space.
    let zeros = vec![0; ZERO_BYTES];
    let mut offset = 0;
    while offset < bytes {
        let count = (bytes - offset).min(ZERO_BYTES as u64);
        file.write_all_at(&zeros[..count as usize], offset)?;
        offset += count;
    }
    Ok(())
}
