//! Directories of buses: location, owner, and opening of files.

use super::error::kind_name;
use super::name::Name;
use super::users::this_user;
use super::{Error, access, space};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest name of a bus or of a file in it, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// A directory of buses, all of one owner.
#[derive(Debug, Clone)]
pub struct Root {
    path: PathBuf,
    /// Its buses are read if they are of this user.
    owner: u32,
    /// Likewise if they are of this process's user.
    is_own_trusted: bool,
    /// Group that may read the files and directories created here.
    group: Option<u32>,
}

impl Root {
    /// `/dev/shm/touchline-<uid>`, private, of this process's effective user.
    pub fn of_this_user() -> Self {
        let user = this_user();
        Self {
            owner: user,
            ..Self::at(format!("/dev/shm/touchline-{user}"))
        }
    }

    /// Another place. Its parent must exist; on a `hugetlbfs` mount all segments are made of huge
    /// pages. Anything but a file system in memory costs the writer disk writes.
    ///
    /// Its buses are read if they belong to the effective user of this process, or to the one that `TOUCHLINE_OWNER` in
    /// the environment, or else the name of a directory `touchline-<uid>`, states. Only this process's user writes them.
    pub fn at(path: impl AsRef<Path>) -> Self {
        // Without the trailing slash, with which the system would follow a symlink.
        let path: PathBuf = path.as_ref().components().collect();
        Self {
            owner: access::stated_owner(&path).unwrap_or_else(this_user),
            is_own_trusted: true,
            path,
            group: None,
        }
    }

    /// Shares the directories and files created here with a group, given by name or number, whose members may read them: directories 0750,
    /// files 0640. Without a group all are private: 0700, 0600.
    ///
    /// A member of the group may hold up the next start of the writer, because it may put a read lock on its files.
    ///
    /// # Errors
    /// [`Error::NoGroup`].
    pub fn shared_with(mut self, group: Option<&str>) -> Result<Self, Error> {
        self.group = group.map(access::group_of).transpose()?;
        Ok(self)
    }

    /// Reads buses of this user alone.
    pub fn owned_by(mut self, user: u32) -> Self {
        self.owner = user;
        self.is_own_trusted = false;
        self
    }

    /// User whose files are trusted.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the root if it is missing. For writers.
    ///
    /// # Errors
    /// Among others [`Error::OtherGroup`].
    pub fn make_root(&self) -> Result<(), Error> {
        if let Some(missing) = self.missing_parent() {
            return Err(missing);
        }
        let root = self.for_writing();
        let (handle, stat) = root.make(CWD, &self.path, &self.path)?;
        let Some(group) = self.group else {
            return Ok(());
        };
        // Several publishers share it, and it has one group.
        if stat.st_mode & 0o070 != 0 && stat.st_gid != group {
            return Err(Error::OtherGroup {
                path: self.path.clone(),
                group: stat.st_gid,
                wanted: group,
            });
        }
        let path = || self.path.clone();
        access::give(handle.as_fd(), &stat, self.group, 0o750, path)
    }

    /// The directory of a bus; creates it and the root if missing. For writers.
    pub fn create(&self, bus: &str) -> Result<Directory, Error> {
        check_name("bus", bus)?;
        self.make_root()?;
        let (handle, root) = self.for_writing().open_root()?;
        root.make(handle.as_fd(), Path::new(bus), &self.path.join(bus))?;
        root.open_in(handle.as_fd(), bus)
    }

    /// The directory of a bus that exists.
    pub fn open(&self, bus: &str) -> Result<Directory, Error> {
        check_name("bus", bus)?;
        let (handle, root) = self.open_root()?;
        root.open_in(handle.as_fd(), bus)
    }

    /// Gives a file beside the buses, of this process's user, the group and the mode of their files.
    ///
    /// # Errors
    /// Among others [`Error::NotMember`].
    pub fn share(&self, file: BorrowedFd<'_>, path: &Path) -> Result<(), Error> {
        access::give_file(file, self.group, GroupAccess::Read.mode(self.group), || {
            path.to_owned()
        })
    }

    /// Whether the buses belong to this process's user, who may write there; or will, if there is no directory yet.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn is_own(&self) -> Result<bool, Error> {
        match self.open_root() {
            Ok((_, root)) => Ok(root.owner == this_user()),
            Err(Error::Missing { .. }) => Ok(self.owner == this_user()),
            Err(error) => Err(error),
        }
    }

    /// Names of the buses below this root, sorted, without plain files; [`WriterLock::holder`](super::WriterLock::holder) tells whether a
    /// bus has a writer. A root that does not exist has no buses; a root whose parent does not exist is an error.
    pub fn buses(&self) -> Result<Vec<String>, Error> {
        match self.open_root() {
            Ok((root, _)) => names(root.as_fd(), &self.path, |kind| {
                kind != FileType::RegularFile
            }),
            Err(Error::Missing { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// This root, whose files must be of this process's user.
    fn for_writing(&self) -> Self {
        self.clone().owned_by(this_user())
    }

    /// The directory, and this root with its one owner.
    fn open_root(&self) -> Result<(OwnedFd, Self), Error> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, &self.path, flags, Mode::empty());
        let handle = match (handle, self.missing_parent()) {
            (Err(Errno::NOENT), Some(missing)) => return Err(missing),
            (handle, _) => handle.map_err(Error::opening(&self.path))?,
        };
        let stat = rustix::fs::fstat(&handle).map_err(Error::system("examine", &self.path))?;
        let is_own = self.is_own_trusted && stat.st_uid == this_user();
        let owner = if is_own { stat.st_uid } else { self.owner };
        let root = self.clone().owned_by(owner);
        root.verify_directory(handle.as_fd(), &self.path)?;
        Ok((handle, root))
    }

    /// Error: the parent directory of this root does not exist.
    fn missing_parent(&self) -> Option<Error> {
        let parent = self.path.parent()?;
        let is_missing = !parent.as_os_str().is_empty() && !parent.exists();
        is_missing.then(|| Error::NoParent {
            path: self.path.clone(),
            parent: parent.to_owned(),
        })
    }

    fn open_in(&self, root: BorrowedFd<'_>, bus: &str) -> Result<Directory, Error> {
        let path = self.path.join(bus);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = open_beneath(root, bus, flags, Mode::empty())
            .map_err(|error| refused(root, &self.path, error, Error::opening(&path)))?;
        self.verify_directory(handle.as_fd(), &path)?;
        Ok(Directory {
            handle: Arc::new(handle),
            name: bus.to_owned(),
            root: self.clone(),
        })
    }

    /// Creates one directory, or continues with one that a killed start left.
    fn make(
        &self,
        parent: BorrowedFd<'_>,
        name: &Path,
        path: &Path,
    ) -> Result<(OwnedFd, Stat), Error> {
        match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(Error::system("make", path)(error)),
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle =
            rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(Error::opening(path))?;
        let stat = self.verify_directory(handle.as_fd(), path)?;
        // The umask may have removed bits.
        let mode = stat.st_mode & 0o777 | 0o700;
        access::give(handle.as_fd(), &stat, None, mode, || path.to_owned())?;
        Ok((handle, stat))
    }

    fn verify_directory(&self, handle: BorrowedFd<'_>, path: &Path) -> Result<Stat, Error> {
        self.verify(
            handle,
            path,
            FileType::Directory,
            access::DIRECTORY_MODE_MAX,
        )
    }

    /// Checks type, owner and mode of an open handle.
    fn verify(
        &self,
        handle: BorrowedFd<'_>,
        path: &Path,
        kind: FileType,
        allowed: u32,
    ) -> Result<Stat, Error> {
        let stat = rustix::fs::fstat(handle).map_err(Error::system("examine", path))?;
        let path = || path.to_owned();
        let found = FileType::from_raw_mode(stat.st_mode);
        if found != kind {
            return Err(Error::Kind {
                path: path(),
                owner: (stat.st_uid != self.owner).then_some(stat.st_uid),
                found: kind_name(found),
                expected: kind_name(kind),
            });
        }
        if stat.st_uid != self.owner {
            return Err(Error::Foreign {
                path: path(),
                owner: stat.st_uid,
                expected: self.owner,
            });
        }
        // Without the higher bits: a directory may pass its group on to new files.
        let mode = stat.st_mode & 0o777;
        if mode & !allowed != 0 {
            return Err(Error::Exposed {
                path: path(),
                mode,
                allowed,
            });
        }
        Ok(stat)
    }
}

/// Access of the group of a shared bus to a file. To be stated by every process that creates or opens the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupAccess {
    /// None: the file is of its owner alone.
    None,
    /// Its members read it.
    #[default]
    Read,
    /// The same; several processes of the owner write it, and members did for earlier versions: readers report to the writer there.
    Reports,
}

impl GroupAccess {
    /// Mode of a file of a bus that is shared with this group.
    fn mode(self, group: Option<u32>) -> u32 {
        match self {
            GroupAccess::None => 0o600,
            GroupAccess::Read | GroupAccess::Reports => group.map_or(0o600, |_| 0o640),
        }
    }

    /// Most access of a file.
    fn mode_max(self) -> u32 {
        match self {
            GroupAccess::None => 0o600,
            GroupAccess::Read => 0o640,
            GroupAccess::Reports => 0o660,
        }
    }
}

/// The directory of one bus, opened and verified. A clone is the same directory.
#[derive(Debug, Clone)]
pub struct Directory {
    handle: Arc<OwnedFd>,
    name: String,
    root: Root,
}

impl Directory {
    /// The name of the bus.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Path, for messages.
    pub fn path(&self) -> PathBuf {
        self.root.path.join(&self.name)
    }

    /// Names of the complete files, sorted.
    pub fn files(&self) -> Result<Vec<String>, Error> {
        names(self.handle(), &self.path(), |_| true)
    }

    /// Unit of segment sizes: the size of a page, or of a huge page on `hugetlbfs`.
    pub fn page_bytes(&self) -> Result<usize, Error> {
        let bytes =
            space::page_bytes(self.handle()).map_err(Error::system("examine", self.path()))?;
        Ok(bytes as usize)
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    pub(super) fn path_of(&self, file: &str) -> PathBuf {
        self.path().join(file)
    }

    /// A folder in this directory, of the same owner, in which its group may create files.
    pub(super) fn open_folder(&self, name: &str) -> Result<Directory, Error> {
        let path = self.path_of(name);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = open_beneath(self.handle(), name, flags, Mode::empty());
        let handle = handle.map_err(Error::opening(&path))?;
        let (kind, allowed) = (FileType::Directory, 0o770);
        let stat = self.root.verify(handle.as_fd(), &path, kind, allowed)?;
        Ok(Directory {
            handle: Arc::new(handle),
            name: name.to_owned(),
            root: Root {
                path: self.path(),
                group: Some(stat.st_gid),
                ..self.root.clone()
            },
        })
    }

    /// The directory with the user who owns its files.
    pub(super) fn owned_by(mut self, user: u32) -> Directory {
        self.root = self.root.owned_by(user);
        self
    }

    /// Group that the writer shares it with.
    pub(super) fn group(&self) -> Option<u32> {
        self.root.group
    }

    /// Opens a file that exists and verifies it.
    pub(super) fn open_file(
        &self,
        file: &str,
        access: OFlags,
        of_group: GroupAccess,
    ) -> Result<(OwnedFd, Stat), Error> {
        // NONBLOCK: a pipe under this name must not block the open.
        let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let handle = match open_beneath(self.handle(), file, flags, Mode::empty()) {
            Err(Errno::LOOP) => {
                // A link that is gone meanwhile has no known owner, so no user owns it.
                let about = rustix::fs::statat(self.handle(), file, AtFlags::SYMLINK_NOFOLLOW);
                let owner = about.map_or(u32::MAX, |about| about.st_uid);
                return Err(Error::Kind {
                    path: self.path_of(file),
                    owner: (owner != self.root.owner).then_some(owner),
                    found: kind_name(FileType::Symlink),
                    expected: kind_name(FileType::RegularFile),
                });
            }
            Err(Errno::ACCESS) if !access.intersects(OFlags::RDWR) => {
                return Err(self.not_readable(file));
            }
            other => other.map_err(|error| Error::opening(&self.path_of(file))(error))?,
        };
        let allowed = of_group.mode_max();
        // The path is built only for an error: readers check the lock repeatedly.
        let verify = |path: &Path| {
            let kind = FileType::RegularFile;
            self.root.verify(handle.as_fd(), path, kind, allowed)
        };
        let stat = verify(&self.root.path).or_else(|_| verify(&self.path_of(file)))?;
        Ok((handle, stat))
    }

    /// Creates a file that must not exist, of the owner alone.
    fn create_private(&self, file: &str) -> Result<OwnedFd, Errno> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = open_beneath(self.handle(), file, flags, Mode::RUSR | Mode::WUSR)?;
        // The mode does not depend on the umask.
        rustix::fs::fchmod(&handle, Mode::RUSR | Mode::WUSR)?;
        Ok(handle)
    }

    /// Creates a file that must not exist, with its final mode.
    pub(super) fn create_file(&self, file: &str, of_group: GroupAccess) -> Result<OwnedFd, Error> {
        let made = self.create_private(file);
        let handle = made.map_err(Error::system("make", self.path_of(file)))?;
        self.grant(handle.as_fd(), file, of_group)?;
        Ok(handle)
    }

    /// Gives an open file of this bus the group and the mode that this writer grants.
    pub(super) fn grant(
        &self,
        file: BorrowedFd<'_>,
        name: &str,
        of_group: GroupAccess,
    ) -> Result<(), Error> {
        let group = self.root.group;
        access::give_file(file, group, of_group.mode(group), || self.path_of(name))
    }

    /// Gives the directory the group and the mode that its writer grants. For the holder of its lock.
    pub(super) fn grant_itself(&self) -> Result<(), Error> {
        let group = self.root.group;
        let mode = group.map_or(0o700, |_| access::DIRECTORY_MODE_MAX);
        access::give_file(self.handle(), group, mode, || self.path())
    }

    /// Whether this process's user is the owner.
    pub fn is_own(&self) -> bool {
        self.root.owner == this_user()
    }

    /// Checks that this process's user is the owner, who alone writes.
    pub(super) fn check_is_own(&self) -> Result<(), Error> {
        match self.is_own() {
            true => Ok(()),
            false => Err(Error::Foreign {
                path: self.path(),
                owner: self.root.owner,
                expected: this_user(),
            }),
        }
    }

    /// Error: a file may not be read by this user, or the directory may not be searched.
    fn not_readable(&self, file: &str) -> Error {
        match rustix::fs::statat(self.handle(), file, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Error::denied(self.path_of(file), &stat),
            Err(_) => {
                let open = Error::system("open", self.path_of(file));
                refused(self.handle(), &self.path(), Errno::ACCESS, open)
            }
        }
    }

    /// Opens a permanent file for reading and writing; creates it if missing, of the owner alone.
    pub(super) fn open_or_create_file(
        &self,
        file: &str,
        of_group: GroupAccess,
    ) -> Result<OwnedFd, Error> {
        match self.create_private(file) {
            Err(Errno::EXIST) => Ok(self.open_file(file, OFlags::RDWR, of_group)?.0),
            made => made.map_err(Error::system("make", self.path_of(file))),
        }
    }

    /// Removes a file or a symlink; never the target of a symlink.
    pub(super) fn remove_file(&self, file: &str) -> Result<(), Error> {
        match rustix::fs::unlinkat(self.handle(), file, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Error::system("remove", self.path_of(file))(error)),
        }
    }

    /// The directory, opened for reading: a handle opened with `PATH` cannot be locked.
    pub(super) fn open_readable(&self) -> Result<OwnedFd, Errno> {
        open_readable(self.handle())
    }

    /// Removes the directory, which must be empty. Another directory under its name stays.
    pub(super) fn remove_itself(&self) -> Result<(), Error> {
        let path = self.path();
        let name = Name::new(path.clone(), self.handle());
        // mutant: names: a directory is removed that took another one's place
        if name.map_err(Error::system("examine", &path))?.is_lost() {
            return Err(Error::Missing { path });
        }
        let (root, _) = self.root.open_root()?;
        rustix::fs::unlinkat(&root, &self.name, AtFlags::REMOVEDIR)
            .map_err(Error::system("remove", self.path()))
    }
}

/// Checks a name: one component of a path, displayed the same by every tool.
pub(super) fn check_name(what: &'static str, name: &str) -> Result<(), Error> {
    let safe = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > NAME_BYTES_MAX {
        "it is too long"
    } else if name.starts_with('.') {
        "it starts with '.'"
    } else if !name.bytes().all(safe) {
        "it has other characters"
    } else {
        return Ok(());
    };
    Err(Error::Name {
        what,
        name: name.chars().take(NAME_BYTES_MAX).collect(),
        why,
    })
}

/// Opens one component below a directory, without symlinks and without leaving the directory.
fn open_beneath(
    parent: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    // PATH | NOFOLLOW opens a symlink in the last component itself, which is then refused by its
    // type; NO_SYMLINKS covers the components before it.
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(parent, name, flags, mode, resolve) {
        // An old kernel, or a sandbox without the call. NOFOLLOW and the alphabet of names, which
        // has no slash, have the same effect.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(parent, name, flags, mode),
        other => other,
    }
}

/// Error of a directory that is open: that this user may not read or search it says who may.
fn refused(
    directory: BorrowedFd<'_>,
    path: &Path,
    error: Errno,
    other: impl FnOnce(Errno) -> Error,
) -> Error {
    match (error, rustix::fs::fstat(directory)) {
        (Errno::ACCESS, Ok(stat)) => Error::denied(path.to_owned(), &stat),
        (error, _) => other(error),
    }
}

/// Names of entries that may be a bus or a file of one.
fn names(
    directory: BorrowedFd<'_>,
    path: &Path,
    is_wanted: impl Fn(FileType) -> bool,
) -> Result<Vec<String>, Error> {
    let names = entries_of(directory, is_wanted);
    let list = Error::system("list", path);
    let mut names = names.map_err(|error| refused(directory, path, error, list))?;
    names.retain(|name| check_name("file", name).is_ok());
    names.sort();
    Ok(names)
}

/// All entries with a UTF-8 name.
pub(super) fn entries(directory: BorrowedFd<'_>) -> Result<Vec<String>, Errno> {
    entries_of(directory, |_| true)
}

/// Entries of some kinds; a file system may not tell the kind.
fn entries_of(
    directory: BorrowedFd<'_>,
    is_wanted: impl Fn(FileType) -> bool,
) -> Result<Vec<String>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::new(open_readable(directory)?)? {
        let entry = entry?;
        if let (true, Ok(name)) = (is_wanted(entry.file_type()), entry.file_name().to_str()) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Opens the directory of a `PATH` handle for reading.
fn open_readable(directory: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, ".", flags, Mode::empty())
}
