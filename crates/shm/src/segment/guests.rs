//! Files of readers of other users, in a folder beside those of the writer: the group of a shared bus may create files there, so
//! their content is not trusted.
//!
//! A file is `UID.NAME`, is read only if it belongs to that user, and is locked as long as its process lives. Where another user has put
//! a file of this name it is `UID-KEY.NAME`, with a random key. The folder is sticky: only the owner of a file and the owner
//! of the bus remove it. A file is all that one reader has, so that the owner of the bus can remove
//! what dead readers of others left.

use super::directory::{self, GroupAccess};
use super::name::{Identity, Name};
use super::ofd::LockFile;
use super::users::this_user;
use super::writer_lock::unfinished_name;
use super::{Access, Directory, Error, Length, Lock, Mapping, Options, WriterLock, access, flock};
use crate::Process;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The folder of their statistics.
const FOLDER: &str = "guests";
/// The folder of their positions, on a lossless bus.
const PLACES: &str = "places";
/// Time in which a reader makes its file: an older one without its name is that of a reader that died.
const MAKING: Duration = Duration::from_secs(60);
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
    /// Part of the file's name if another user has taken the shorter one.
    key: Option<u32>,
}

/// A pass through the folder that goes on with the next look.
#[derive(Debug)]
pub struct Pass(Dir);

/// Lock of the file of a reader, held by its process as long as that lives.
#[derive(Debug)]
pub struct GuestLock(LockFile);

/// The file of this process, which its reader fills. If dropped, it is removed.
#[derive(Debug)]
pub struct GuestFile {
    guests: Guests,
    file: String,
    user: u32,
    /// The open file holds the lock.
    lock: LockFile,
    owner: Process,
}

impl WriterLock {
    /// Makes the folder for readers of other users if this writer has a group, and removes it otherwise.
    ///
    /// # Errors
    /// A system call failed.
    pub fn share_guests(&self) -> Result<(), Error> {
        self.share(FOLDER, true)
    }

    /// The same for the positions of those that the writer waits for, if it waits for any.
    ///
    /// # Errors
    /// A system call failed.
    pub fn share_places(&self, is_lossless: bool) -> Result<(), Error> {
        self.share(PLACES, is_lossless)
    }

    fn share(&self, name: &str, is_wanted: bool) -> Result<(), Error> {
        let bus = self.directory();
        let (path, group) = (bus.path_of(name), bus.group());
        if group.is_none() || !is_wanted {
            // A folder that cannot be removed stays: it is unused, and blocks no other file.
            return self.remove_folder(name).map_or_else(|_| Ok(()), Ok);
        }
        match rustix::fs::mkdirat(bus.handle(), name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(Error::system("make", path)(error)),
        }
        let folder = bus.open_folder(name)?;
        // New files are of the group; only their owners and this user remove them.
        access::give_file(folder.handle(), group, 0o3770, || path.clone())
    }

    /// Removes the folders for readers of other users with all that is in them, if there are any.
    ///
    /// # Errors
    /// A system call failed: a member of the group filled a folder of its own there, which only that user can remove.
    pub fn remove_guests(&self) -> Result<(), Error> {
        self.remove_folder(FOLDER)?;
        self.remove_folder(PLACES)
    }

    fn remove_folder(&self, name: &str) -> Result<(), Error> {
        let bus = self.directory();
        let path = bus.path_of(name);
        let folder = match bus.open_folder(name) {
            Err(Error::Missing { .. }) => return Ok(()),
            opened => opened?,
        };
        // From here on no user can create a file there.
        access::give_file(folder.handle(), None, 0o700, || path.clone())?;
        std::fs::remove_dir_all(&path).map_err(|error| {
            let error = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            Error::system("remove", path)(error)
        })
    }
}

impl Guests {
    /// The folder of a bus; `None` if its publisher shares it with no group.
    ///
    /// # Errors
    /// It is not a folder as the publisher makes it.
    pub fn of(bus: &Directory) -> Result<Option<Guests>, Error> {
        Guests::in_folder(bus, FOLDER)
    }

    /// The folder of the positions of readers that the writer of a lossless bus waits for.
    ///
    /// # Errors
    /// As [`Guests::of`].
    pub fn places(bus: &Directory) -> Result<Option<Guests>, Error> {
        Guests::in_folder(bus, PLACES)
    }

    fn in_folder(bus: &Directory, name: &str) -> Result<Option<Guests>, Error> {
        match bus.open_folder(name) {
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

    /// Its files, by user and name: at most `most` of each user, however many files members of the group create there.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(&self, most: usize) -> Result<Vec<Guest>, Error> {
        let mut all = BTreeMap::<u32, BTreeSet<Guest>>::new();
        for guest in self.entries()?.filter_map(|entry| self.guest(&entry)) {
            let of_its_user = all.entry(guest.user).or_default();
            of_its_user.insert(guest);
            if of_its_user.len() > most {
                of_its_user.pop_last();
            }
        }
        Ok(all.into_values().flatten().collect())
    }

    /// The lock of the file of a reader.
    ///
    /// # Errors
    /// The file is not one that a reader of this user makes, or a system call failed.
    pub fn lock(&self, guest: &Guest) -> Result<GuestLock, Error> {
        self.lock_of(guest).map(GuestLock)
    }

    /// Number of the files of this process's user.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn of_this_user(&self) -> Result<usize, Error> {
        let user = this_user();
        let all = self.entries()?.filter_map(|entry| self.guest(&entry));
        Ok(all.filter(|guest| guest.user == user).count())
    }

    /// Removes the files of dead readers: a reader those of its own user, the owner of the bus those of all users and every entry that is
    /// not a reader's file. Only the locks of the files are checked, never their content. An entry that cannot be removed stays.
    pub fn sweep(&self) {
        for entry in self.entries().into_iter().flatten() {
            self.sweep_one(&entry);
        }
    }

    /// Sweeps the next `most` entries of a pass that are not of known readers, and returns the readers among them: however many files
    /// others create, a look takes no longer. A pass begins with `None` and ends as it began.
    pub fn sweep_next(
        &self,
        pass: &mut Option<Pass>,
        most: usize,
        is_known: impl Fn(&Guest) -> bool,
    ) -> Vec<Guest> {
        let (mut found, mut left) = (Vec::new(), most);
        while left > 0
            && let Some(entry) = self.next_of(pass)
        {
            let named = || Guest::parse(entry.to_str().ok()?);
            if !named().is_some_and(|guest| is_known(&guest)) {
                left -= 1;
                found.extend(self.sweep_one(&entry));
            }
        }
        found
    }

    /// Removes, as the owner of the bus, files that are not readers' among the next `most` entries of a pass. The file of a dead reader
    /// stays for a while: it has the reader's name.
    pub fn sweep_strangers(&self, pass: &mut Option<Pass>, most: usize) {
        for _ in 0..most {
            let Some(entry) = self.next_of(pass) else {
                return;
            };
            if self.guest(&entry).is_none() && !self.is_being_made(&entry) {
                self.remove(&entry);
            }
        }
    }

    /// The next entry of a pass; `None` at its end.
    fn next_of(&self, pass: &mut Option<Pass>) -> Option<CString> {
        if pass.is_none() {
            // A folder that cannot be read now is read by the next look.
            *pass = self.list().ok().map(Pass);
        }
        while let Some(Ok(entry)) = pass.as_mut().and_then(|Pass(entries)| entries.next()) {
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                return Some(entry.file_name().to_owned());
            }
        }
        *pass = None;
        None
    }

    /// Removes the file of a dead reader, and an entry that is not a reader's file; returns its reader otherwise.
    fn sweep_one(&self, entry: &CStr) -> Option<Guest> {
        let (is_owner, user) = (self.0.is_own(), this_user());
        let guest = self.guest(entry);
        let is_left = match &guest {
            Some(guest) if is_owner || guest.user == user => self.is_dead(guest),
            Some(_) => false,
            None => is_owner && !self.is_being_made(entry),
        };
        if is_left {
            self.remove(entry);
        }
        guest.filter(|_| !is_left)
    }

    fn remove(&self, entry: &CStr) {
        if self.unlink(entry, AtFlags::empty()) == Err(Errno::ISDIR) {
            let _ = self.unlink(entry, AtFlags::REMOVEDIR);
        }
    }

    fn list(&self) -> Result<Dir, Error> {
        let failed = || Error::system("list", self.0.path());
        Dir::new(self.0.open_readable().map_err(failed())?).map_err(failed())
    }

    fn entries(&self) -> Result<impl Iterator<Item = CString>, Error> {
        let entries = self.list()?;
        let names = entries.map_while(|entry| Some(entry.ok()?.file_name().to_owned()));
        Ok(names.filter(|name| !matches!(name.to_bytes(), b"." | b"..")))
    }

    /// The reader whose file this is: any member of the group can give a file the name of another user's.
    fn guest(&self, entry: &CStr) -> Option<Guest> {
        let guest = Guest::parse(entry.to_str().ok()?)?;
        self.is_file_of(entry, guest.user).then_some(guest)
    }

    fn is_file_of(&self, entry: &CStr, user: u32) -> bool {
        let is_file =
            |about: &Stat| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
        self.stat(entry)
            .is_ok_and(|about| about.st_uid == user && is_file(&about))
    }

    fn stat(&self, entry: &CStr) -> Result<Stat, Errno> {
        rustix::fs::statat(self.0.handle(), entry, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn unlink(&self, entry: &CStr, flags: AtFlags) -> Result<(), Errno> {
        rustix::fs::unlinkat(self.0.handle(), entry, flags)
    }

    /// Whether no process has the file of a reader locked, or it is one that no reader can have made.
    fn is_dead(&self, guest: &Guest) -> bool {
        match self.lock_of(guest) {
            Ok(lock) => lock.is_held(BYTE) == Ok(false),
            Err(error) => matches!(error, Error::Exposed { .. } | Error::Denied { .. }),
        }
    }

    /// Whether the file belongs to a starting reader and is still without a name.
    fn is_being_made(&self, entry: &CStr) -> bool {
        let user = || {
            let file = entry.to_str().ok()?;
            let guest = Guest::parse(file.strip_prefix('.')?.strip_suffix(".new")?)?;
            Some(guest.user)
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let is_new = |about: Stat| {
            let changed = Duration::from_secs(about.st_ctime as u64);
            now.is_ok_and(|now| now.saturating_sub(changed) < MAKING)
        };
        user().is_some_and(|user| self.is_file_of(entry, user))
            && self.stat(entry).is_ok_and(is_new)
    }

    fn lock_of(&self, guest: &Guest) -> Result<LockFile, Error> {
        let of_user = self.0.clone().owned_by(guest.user);
        let opened = of_user.open_file(&guest.file(), OFlags::RDONLY, GroupAccess::Read);
        Ok(opened?.0.into())
    }

    /// Maps the file of a reader, and whether its process lives.
    ///
    /// # Errors
    /// The file belongs to another user than its name says, is not a regular file, is open to others, or has another length than
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
        let is_held = self.lock_of(guest)?.is_held(BYTE);
        let is_held =
            is_held.map_err(Error::system("look at the lock of", self.0.path_of(&file)))?;
        Ok((mapping, is_held))
    }

    /// The reader with a file name that no other user has taken.
    ///
    /// # Errors
    /// A living process of its user has the name.
    fn free(&self, guest: Guest) -> Result<Guest, Error> {
        let all = self.entries()?.filter_map(|entry| self.guest(&entry));
        let mut same = all.filter(|other| (other.user, &other.name) == (guest.user, &guest.name));
        let lives = |other: &Guest| self.open(other, Length::Any).is_ok_and(|(_, lives)| lives);
        if let Some(other) = same.find(lives) {
            return Err(Error::InUse {
                path: self.0.path_of(&other.file()),
                process: self.process(&other),
            });
        }
        let is_foreign = |file: String| {
            let about = rustix::fs::statat(self.0.handle(), file, AtFlags::SYMLINK_NOFOLLOW);
            about.is_ok_and(|about| about.st_uid != guest.user)
        };
        let is_taken = is_foreign(guest.file()) || is_foreign(unfinished_name(&guest.file()));
        // The system's random numbers: a name that could be guessed could be taken, too.
        // mutant: guests: a name that another user took is given up
        let key = is_taken.then(|| RandomState::new().build_hasher().finish() as u32);
        Ok(Guest { key, ..guest })
    }

    /// Process that writes the file of a reader, as the system says; `None` if it does not.
    pub fn process(&self, guest: &Guest) -> Option<u32> {
        flock::holder(Identity::of(self.lock_of(guest).ok()?).ok()?)
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
        let guest = self.free(Guest {
            user: this_user(),
            name: name.to_owned(),
            key: None,
        })?;
        let (file, path) = (guest.file(), self.0.path_of(&guest.file()));
        let own = Guests(self.0.clone().owned_by(guest.user));
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
        if !lock.try_lock(BYTE).map_err(Error::system("lock", &path))? {
            let process = None;
            return Err(Error::InUse { path, process }.into());
        }
        draft.publish()?;
        let made = GuestFile {
            guests: self,
            file,
            user: guest.user,
            lock,
            owner: Process::this(),
        };
        Ok((made, filled))
    }
}

impl Guest {
    fn file(&self) -> String {
        match self.key {
            None => format!("{}.{}", self.user, self.name),
            Some(key) => format!("{}-{key:08x}.{}", self.user, self.name),
        }
    }

    fn parse(file: &str) -> Option<Guest> {
        let (before, name) = file.split_once('.')?;
        directory::check_name("reader", name).ok()?;
        let (user, key) = match before.split_once('-') {
            Some((user, key)) => (user, Some(u32::from_str_radix(key, 16).ok()?)),
            None => (before, None),
        };
        let guest = Guest {
            user: user.parse().ok()?,
            name: name.to_owned(),
            key,
        };
        // `+7` and `007` are numbers, and not the name of a user's file.
        (guest.file() == file).then_some(guest)
    }
}

impl GuestLock {
    /// Whether the process of the reader lives; also true if the system does not say.
    pub fn is_held(&self) -> bool {
        self.0.is_held(BYTE) != Ok(false)
    }
}

impl GuestFile {
    /// Its user.
    pub fn user(&self) -> u32 {
        self.user
    }
}

/// A reader that leaves is not shown.
impl Drop for GuestFile {
    fn drop(&mut self) {
        // Another reader of this user may have the name meanwhile, also this one after it was moved.
        let name = Name::new(self.guests.0.path_of(&self.file), &self.lock);
        // A forked child does not remove files of its parent.
        if self.owner.is_this() && name.is_ok_and(|name| !name.is_lost()) {
            let _ = self.guests.0.remove_file(&self.file);
        }
    }
}
