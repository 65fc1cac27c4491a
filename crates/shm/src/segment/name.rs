//! Whether a name still leads to a file that is open: cleaners remove names, and the file lives on unseen.

use rustix::fs::Stat;
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A path, and what it led to when that was opened.
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

    /// What it led to.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether it leads to something else by now, or nowhere; to a symlink as well. One system call. If the system
    /// call fails, the name counts as present: a moment without memory must end no process.
    pub fn is_lost(&self) -> bool {
        match rustix::fs::lstat(&self.path) {
            // mutant: names: only a name that is gone is lost, not one that leads elsewhere
            Ok(stat) => Identity::from(&stat) != self.identity,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => true,
            Err(_) => false,
        }
    }
}

/// A file or directory as the system numbers it: the same under every name, as long as it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// By its numbers.
    #[cfg(test)]
    pub const fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    /// Of an open file.
    pub fn of(file: impl AsFd) -> Result<Self, Errno> {
        Ok(Self::from(&rustix::fs::fstat(file)?))
    }

    /// As `/proc/locks` writes it.
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
