//! Name of an open file, and whether it still leads to that file: names may be removed while the file is in use.

use rustix::fs::Stat;
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A path and the identity of the file that it led to.
#[derive(Clone, Debug)]
pub struct Name {
    path: PathBuf,
    identity: Identity,
}

impl Name {
    /// The path of an open file.
    pub fn new(path: PathBuf, file: impl AsFd) -> Result<Self, Errno> {
        let identity = Identity::of(file)?;
        Ok(Self { path, identity })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Identity of the file.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether the path leads to another file or nowhere; a symlink also counts. One system call. If the call fails,
    /// the name counts as present: a temporary lack of memory must not end the process.
    pub fn is_lost(&self) -> bool {
        self.bytes().is_none()
    }

    /// Length of the file, unless the name is lost; `Some(None)` if the call fails. As [`Name::is_lost`] otherwise.
    pub fn bytes(&self) -> Option<Option<u64>> {
        match rustix::fs::lstat(&self.path) {
            Ok(stat) if Identity::from(&stat) == self.identity => Some(Some(stat.st_size as u64)),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(_) => Some(None),
        }
    }
}

/// Identity of a file or directory: the same under every name while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// From device and inode.
    #[cfg(test)]
    pub const fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    /// Identity of an open file.
    pub fn of(file: impl AsFd) -> Result<Self, Errno> {
        Ok(Self::from(&rustix::fs::fstat(file)?))
    }

    /// Format of `/proc/locks`.
    pub fn as_in_proc(&self) -> String {
        let (major, minor) = (
            rustix::fs::major(self.device),
            rustix::fs::minor(self.device),
        );
        format!("{major:02x}:{minor:02x}:{}", self.inode)
    }
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}
