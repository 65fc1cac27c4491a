//! Locks on single bytes of a file that belong to an open file, not to a process.
//!
//! The system releases them when the last handle of that open file is closed, so on every kind of
//! death; and other than the older kind, a lock is not lost because some other part of the process
//! closed the same file.

use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Takes the lock on one byte for this open file; false if another open file holds it.
pub fn try_lock(file: BorrowedFd<'_>, byte: u64) -> Result<bool, Errno> {
    let mut lock = one_byte(libc::F_WRLCK, byte);
    match command(file, libc::F_OFD_SETLK, &mut lock) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether another open file holds a lock on that byte. Disturbs nobody; needs no write access.
pub fn is_held(file: BorrowedFd<'_>, byte: u64) -> Result<bool, Errno> {
    let mut lock = one_byte(libc::F_WRLCK, byte);
    command(file, libc::F_OFD_GETLK, &mut lock)?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
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

fn command(
    file: BorrowedFd<'_>,
    command: libc::c_int,
    lock: &mut libc::flock,
) -> Result<(), Errno> {
    // SAFETY: the handle is open for as long as the borrow lasts, and both commands that come here,
    // F_OFD_SETLK and F_OFD_GETLK, take a pointer to one `flock`, which is valid for reading and
    // writing because it comes from an exclusive reference, and is not kept after the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) };
    match result {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        _ => Ok(()),
    }
}
