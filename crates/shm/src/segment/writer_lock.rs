//! One writer for each bus: the first to start, until it ends.

use super::build::Build;
use super::directory::{self, GroupAccess};
use super::holder::{Holder, SIGNATURE_BYTES_MAX};
use super::name::Name;
use super::ofd::LockFile;
use super::{Directory, Error, flock, space};
use crate::Process;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// File that names the writer to every process that queries it. The guarantee of a single writer does not rest on it alone.
const FILE: &str = "lock";
/// Locked by the writer.
const WRITER_BYTE: u64 = 0;
/// Locked by the writer once the file names it, so that no query returns its predecessor.
const SIGNED_BYTE: u64 = 1;
/// Number of checks for the signature of a starting writer, and their interval.
const LOOKS: u32 = 50;
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// The right to write a bus. Released when dropped, or by the system when the process dies.
#[derive(Debug)]
pub struct WriterLock {
    directory: Directory,
    /// The open file holds the lock.
    file: LockFile,
    file_name: Name,
    /// Released last: until then no other writer starts.
    folder: FolderLock,
}

impl WriterLock {
    /// Takes the bus and removes unfinished files of an earlier writer.
    ///
    /// # Errors
    /// [`Error::Busy`] names the writer, [`Error::InUse`] likewise if its lock file was removed. [`Error::Missing`]:
    /// the bus was just removed, see [`WriterLock::remove_directory`].
    pub fn acquire(directory: Directory) -> Result<Self, Error> {
        directory.check_is_own()?;
        // A process without write access is refused here, and delays no other.
        let file = LockFile::from(directory.open_or_create_file(FILE, GroupAccess::Read)?);
        let folder = FolderLock::acquire(&directory)?;
        let path = directory.path_of(FILE);
        let failed = || Error::system("lock", &path);
        // mutant: shm: two writers hold the lock
        if !file.try_lock(WRITER_BYTE).map_err(failed())? {
            return Err(Error::Busy {
                bus: directory.name().to_owned(),
                holder: wait_for_signature(&file),
            });
        }
        let lock = Self {
            file_name: Name::new(path.clone(), &file).map_err(failed())?,
            directory,
            file,
            folder,
        };
        // Its last holder may have removed it after this open: then it locks nothing.
        if let Some(path) = lock.lost_name() {
            let path = path.to_owned();
            return Err(Error::Missing { path });
        }
        // Not before: another process may hold the bus, with another group.
        lock.directory
            .grant(lock.file.as_fd(), FILE, GroupAccess::Read)?;
        lock.directory.grant_itself()?;
        sign(&lock.file).map_err(failed())?;
        lock.file.try_lock(SIGNED_BYTE).map_err(failed())?;
        remove_unfinished(&lock.directory)?;
        Ok(lock)
    }

    /// A name that no longer leads here: the path of the bus, or that of its lock file. Another writer may then start
    /// under it, and other processes cannot find this one. Two system calls.
    pub fn lost_name(&self) -> Option<&Path> {
        let names = [&self.folder.name, &self.file_name];
        names
            .into_iter()
            .find(|name| name.is_lost())
            .map(Name::path)
    }

    /// Present writer of a bus, without affecting it. `None`: there is none.
    pub fn holder(directory: &Directory) -> Result<Option<Holder>, Error> {
        let Some(file) = lock_of(directory)? else {
            return Ok(None);
        };
        Ok(Some(wait_for_signature(&file)))
    }

    /// Build of the present or last writer of a bus; `None` if it states none.
    pub fn last_build(directory: &Directory) -> Option<Build> {
        let (file, _) = directory
            .open_file(FILE, OFlags::RDONLY, GroupAccess::Read)
            .ok()?;
        let holder = read_signature(&LockFile::from(file))?;
        holder.build.map(|build| *build)
    }

    /// Whether a bus has a writer. As [`WriterLock::holder`], but without waiting for its signature.
    pub fn is_held(directory: &Directory) -> Result<bool, Error> {
        Ok(lock_of(directory)?.is_some())
    }

    /// The bus that may be written.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Removes a file that this bus no longer uses. Readers that have it mapped keep it.
    pub fn remove(&self, file: &str) -> Result<(), Error> {
        directory::check_name("file", file)?;
        self.directory.remove_file(file)
    }

    /// Removes the directory with all its files, and releases the lock. Readers that have a file mapped keep it. A
    /// process that takes the lock at this moment finds the directory removed. A forked child removes no file: the directory is
    /// that of the process that took the lock.
    ///
    /// # Errors
    /// A system call failed, or another process created a file in it meanwhile.
    pub fn remove_directory(self) -> Result<(), Error> {
        if !self.folder.owner.is_this() {
            return Ok(());
        }
        let entries = directory::entries(self.directory.handle())
            .map_err(Error::system("list", self.directory.path()))?;
        let others = |name: &&String| !matches!(name.as_str(), "." | ".." | FILE);
        for name in entries.iter().filter(others) {
            self.directory.remove_file(name)?;
        }
        // The lock file last: no other writer starts before that.
        self.directory.remove_file(FILE)?;
        self.directory.remove_itself()
    }
}

/// Lock on the directory itself, which survives the removal of files in it.
#[derive(Debug)]
struct FolderLock {
    folder: OwnedFd,
    name: Name,
    owner: Process,
}

impl FolderLock {
    fn acquire(directory: &Directory) -> Result<Self, Error> {
        let path = directory.path();
        let failed = || Error::system("lock", &path);
        let folder = directory.open_readable().map_err(failed())?;
        let name = Name::new(path.clone(), &folder).map_err(failed())?;
        // Its holder is about to take or release the lock file; or has lost it.
        for _ in 0..LOOKS {
            if flock::try_lock(&folder).map_err(failed())? {
                return Ok(Self {
                    folder,
                    name,
                    owner: Process::this(),
                });
            }
            if let Some(holder) = WriterLock::holder(directory)? {
                return Err(Error::Busy {
                    bus: directory.name().to_owned(),
                    holder,
                });
            }
            std::thread::sleep(LOOK);
        }
        Err(Error::InUse {
            process: flock::holder(name.identity()),
            path,
        })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        flock::unlock(&self.folder, self.owner);
    }
}

/// Name of a file before it is complete, which readers cannot ask for.
pub(super) fn unfinished_name(file: &str) -> String {
    format!(".{file}.new")
}

fn remove_unfinished(directory: &Directory) -> Result<(), Error> {
    let entries =
        directory::entries(directory.handle()).map_err(Error::system("list", directory.path()))?;
    for name in entries {
        if name.starts_with('.') && name.ends_with(".new") {
            directory.remove_file(&name)?;
        }
    }
    Ok(())
}

fn sign(file: &LockFile) -> Result<(), Errno> {
    if space::is_hugetlbfs(file) {
        return Ok(()); // files there can be mapped but not written; the second writer learns less
    }
    // In place and always with the same length, so that it fits on a full file system.
    let text = Holder::this_process().signature();
    let text = format!("{text:<SIGNATURE_BYTES_MAX$}");
    rustix::io::pwrite(file, text.as_bytes(), 0)?;
    Ok(())
}

/// Lock file of a bus, if it is locked.
fn lock_of(directory: &Directory) -> Result<Option<LockFile>, Error> {
    let file = match directory.open_file(FILE, OFlags::RDONLY, GroupAccess::Read) {
        Ok((file, _)) => LockFile::from(file),
        Err(Error::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let held = file.is_held(WRITER_BYTE);
    let failed = |error| Error::system("look at the lock of", directory.path_of(FILE))(error);
    Ok(held.map_err(failed)?.then_some(file))
}

/// Signature of the holder, which may have taken the lock just now.
fn wait_for_signature(file: &LockFile) -> Holder {
    for _ in 0..LOOKS {
        if file.is_held(SIGNED_BYTE) == Ok(true) {
            return read_signature(file).unwrap_or_default();
        }
        std::thread::sleep(LOOK);
    }
    Holder::default()
}

fn read_signature(file: &LockFile) -> Option<Holder> {
    let mut text = [0; SIGNATURE_BYTES_MAX];
    let length = rustix::io::pread(file, &mut text, 0).ok()?;
    Holder::parse(std::str::from_utf8(&text[..length]).ok()?)
}
