//! Locks on single bytes of a file that belong to an open file instead of a process.
//!
//! The system releases them when the last handle of that open file is closed, so after every kind
//! of crash. Unlike process locks they are not lost when another part of the process closes the
//! same file.

use crate::Process;
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// An open file for its locks. They are released when it is dropped, also if a forked child has a
/// copy of the handle; the child releases no lock with its copy.
#[derive(Debug)]
pub struct LockFile {
    file: OwnedFd,
    owner: Process,
}

impl LockFile {
    /// Locks one byte; false if another open file holds it.
    pub fn try_lock(&self, byte: u64) -> Result<bool, Errno> {
        match self.command(libc::F_OFD_SETLK, &mut one_byte(libc::F_WRLCK, byte)) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether another open file holds the lock on that byte, as [`Self::try_lock`] takes it. A read lock, which every user who may read the
    /// file can take, does not count. Needs no write access and affects no process.
    pub fn is_held(&self, byte: u64) -> Result<bool, Errno> {
        let mut lock = one_byte(libc::F_RDLCK, byte);
        self.command(libc::F_OFD_GETLK, &mut lock)?;
        Ok(i32::from(lock.l_type) != libc::F_UNLCK)
    }

    fn command(&self, command: libc::c_int, lock: &mut libc::flock) -> Result<(), Errno> {
        // SAFETY: the handle is open as long as `self` is, and both commands that come here,
        // F_OFD_SETLK and F_OFD_GETLK, take a pointer to one `flock`, which is valid for reading and
        // writing because it comes from an exclusive reference, and is not kept after the call.
        let result =
            unsafe { libc::fcntl(self.file.as_raw_fd(), command, std::ptr::from_mut(lock)) };
        match result {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            _ => Ok(()),
        }
    }
}

impl From<OwnedFd> for LockFile {
    fn from(file: OwnedFd) -> Self {
        Self {
            file,
            owner: Process::this(),
        }
    }
}

impl AsFd for LockFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.owner.is_this() {
            return;
        }
        let mut all = one_byte(libc::F_UNLCK, 0);
        all.l_len = 0; // to the end of the file, wherever it is
        // Closing has the same effect once the last copy is closed.
        let _ = self.command(libc::F_OFD_SETLK, &mut all);
    }
}

fn one_byte(kind: libc::c_int, byte: u64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte as libc::off_t,
        l_len: 1,
        l_pid: 0, // must be 0 for locks of open files
    }
}
