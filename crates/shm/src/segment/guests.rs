//! Files of readers of other users, in a folder beside those of the writer: the group of a shared bus may create files there, and
//! nobody trusts them.
//!
//! A file is `UID.NAME`, is read only if it belongs to that user, and is locked as long as its process lives. The folder is sticky: only
//! the owner of a file and the owner of the bus remove it. A file is all that one reader has, so that the owner of the bus can remove
//! what dead readers of others left.

use super::directory::{self, GroupAccess};
use super::name::Identity;
use super::ofd::LockFile;
use super::users::this_user;
use super::writer_lock::unfinished_name;
use super::{Access, Directory, Error, Length, Lock, Mapping, Options, WriterLock, access, flock};
use crate::Process;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

/// The folder.
const FOLDER: &str = "guests";
/// Entries of the folder that are looked at.
const ENTRIES_MAX: usize = 4_096;
/// Byte of a file that its process locks.
const BYTE: u64 = 0;

/// The folder of a shared bus for readers of other users.
#[derive(Debug)]
pub struct Guests(Directory);

/// A file of a reader of another user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guest {
    /// Its user.
    pub user: u32,
    /// The name that it gave itself.
    pub name: String,
}

/// The file of this process, which its reader fills. If dropped, it is removed.
#[derive(Debug)]
pub struct GuestFile {
    guests: Guests,
    file: String,
    /// The open file holds the lock.
    _lock: LockFile,
    owner: Process,
}

impl WriterLock {
    /// Makes the folder for readers of other users if this writer has a group, and removes it otherwise.
    ///
    /// # Errors
    /// A system call failed.
    pub fn share_guests(&self) -> Result<(), Error> {
        let bus = self.directory();
        let (path, group) = (bus.path_of(FOLDER), bus.group());
        if group.is_some() {
            match rustix::fs::mkdirat(bus.handle(), FOLDER, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(Error::system("make", path)(error)),
            }
        }
        let folder = match bus.open_folder(FOLDER) {
            Err(Error::Missing { .. }) => return Ok(()),
            opened => opened?,
        };
        // New files are of the group; only their owners and this user remove them.
        let mode = group.map_or(0o700, |_| 0o3770);
        access::give_file(folder.handle(), group, mode, || path.clone())?;
        if group.is_none() {
            // What cannot be removed is of no use to anybody, and in nobody's way.
            let guests = Guests(folder);
            while let Ok(all @ [_, ..]) = guests.all(ENTRIES_MAX).as_deref() {
                all.iter().for_each(|guest| guests.remove(guest));
                if all.len() < ENTRIES_MAX {
                    break;
                }
            }
            let _ = rustix::fs::unlinkat(bus.handle(), FOLDER, AtFlags::REMOVEDIR);
        }
        Ok(())
    }
}

impl Guests {
    /// The folder of a bus; `None` if its publisher shares it with no group.
    ///
    /// # Errors
    /// It is not a folder as the publisher makes it.
    pub fn of(bus: &Directory) -> Result<Option<Guests>, Error> {
        match bus.open_folder(FOLDER) {
            Err(Error::Missing { .. }) => Ok(None),
            opened => Ok(Some(Guests(opened?))),
        }
    }

    /// Unit of the length of a file.
    ///
    /// # Errors
    /// A system call failed.
    pub fn page_bytes(&self) -> Result<usize, Error> {
        self.0.page_bytes()
    }

    /// Its files, by user and name, `most` at most of each user, whatever members of the group create there.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(&self, most: usize) -> Result<Vec<Guest>, Error> {
        let failed = || Error::system("list", self.0.path());
        let entries = Dir::new(self.0.open_readable().map_err(failed())?).map_err(failed())?;
        let named = entries.take(ENTRIES_MAX).filter_map(|entry| {
            let entry = entry.ok()?;
            Guest::parse(entry.file_name().to_str().ok()?)
        });
        let mut all: Vec<Guest> = named.collect();
        all.sort();
        let of_one_user = all.chunk_by(|one, next| one.user == next.user);
        Ok(of_one_user
            .flat_map(|all| all.iter().take(most).cloned())
            .collect())
    }

    /// Number of the files of this process's user.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn of_this_user(&self) -> Result<usize, Error> {
        let user = this_user();
        let all = self.all(usize::MAX)?.into_iter();
        Ok(all.filter(|guest| guest.user == user).count())
    }

    /// Maps the file of a reader, and whether its process lives.
    ///
    /// # Errors
    /// The file belongs to another user than its name says, is no regular file, is open to others, or has another length than
    /// its head states.
    pub fn open(&self, guest: &Guest, length: Length) -> Result<(Mapping, bool), Error> {
        let (file, of_user) = (guest.file(), self.0.clone().owned_by(guest.user));
        let options = Options {
            prefault: false,
            lock: Lock::No,
            length,
            ..Options::default()
        };
        let mapping = Mapping::open(&of_user, &file, Access::Read, &options)?;
        let (handle, _) = of_user.open_file(&file, OFlags::RDONLY, GroupAccess::Read)?;
        let is_held = LockFile::from(handle).is_held(BYTE);
        let is_held =
            is_held.map_err(Error::system("look at the lock of", self.0.path_of(&file)))?;
        Ok((mapping, is_held))
    }

    /// Process that writes the file of a reader, as the system says; `None` if it does not.
    pub fn process(&self, guest: &Guest) -> Option<u32> {
        let of_user = self.0.clone().owned_by(guest.user);
        let opened = of_user.open_file(&guest.file(), OFlags::RDONLY, GroupAccess::Read);
        flock::holder(Identity::of(opened.ok()?.0).ok()?)
    }

    /// Creates the file of a reader of this process with this name.
    ///
    /// # Errors
    /// A living process of this user has the name: [`Error::InUse`]. Or as for [`Mapping::create`].
    pub fn create<T, E: From<Error>>(
        self,
        name: &str,
        bytes: usize,
        fill: impl FnOnce(&Mapping) -> Result<T, E>,
    ) -> Result<(GuestFile, T), E> {
        directory::check_name("reader", name)?;
        let guest = Guest {
            user: this_user(),
            name: name.to_owned(),
        };
        let (file, path) = (guest.file(), self.0.path_of(&guest.file()));
        let own = Guests(self.0.clone().owned_by(guest.user));
        if self.open(&guest, Length::Any).is_ok_and(|(_, lives)| lives) {
            let process = self.process(&guest);
            return Err(Error::InUse { path, process }.into());
        }
        let options = Options {
            lock: Lock::No,
            ..Options::default()
        };
        let draft = Mapping::create_in(&own.0, &file, bytes, &options)?;
        let filled = fill(&draft.mapping())?;
        // Before its name is there: a file without a lock is a dead reader's, and may be removed.
        let unfinished = unfinished_name(&file);
        let (handle, _) = own
            .0
            .open_file(&unfinished, OFlags::RDWR, GroupAccess::Read)?;
        let lock = LockFile::from(handle);
        lock.try_lock(BYTE).map_err(Error::system("lock", &path))?;
        draft.publish()?;
        let made = GuestFile {
            guests: self,
            file,
            _lock: lock,
            owner: Process::this(),
        };
        Ok((made, filled))
    }

    /// Removes the file of a dead reader, if this process may.
    pub fn remove(&self, guest: &Guest) {
        // Of a reader of another user only the owner of the bus can.
        let _ = self.0.remove_file(&guest.file());
    }
}

impl Guest {
    fn file(&self) -> String {
        format!("{}.{}", self.user, self.name)
    }

    fn parse(file: &str) -> Option<Guest> {
        let (user, name) = file.split_once('.')?;
        directory::check_name("reader", name).ok()?;
        let guest = Guest {
            user: user.parse().ok()?,
            name: name.to_owned(),
        };
        // `+7` and `007` are numbers, and not the name of a user's file.
        (guest.file() == file).then_some(guest)
    }
}

/// A reader that leaves is not shown.
impl Drop for GuestFile {
    fn drop(&mut self) {
        // A forked child removes nothing of its parent's.
        if self.owner.is_this() {
            let _ = self.guests.0.remove_file(&self.file);
        }
    }
}
