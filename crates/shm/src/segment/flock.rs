//! Locks on whole files and directories, which exclude a second writer even if names were removed.
//!
//! They belong to the file instead of its name: opening the same file under any name finds the lock held. A directory
//! can have such a lock, but no lock on bytes, because it cannot be opened for writing.

use super::name::Identity;
use crate::Process;
use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};
use std::io::Read;
use std::os::fd::AsFd;

/// Bytes of the system's list of locks that are read.
const LOCKS_BYTES_MAX: u64 = 16 << 20;
/// Read at once as far as the system does so.
const LOCKS_BYTES: usize = 64 << 10;
/// Number of readings of that list. The system gives a long one page by page, and one that changes between two pages lacks a
/// lock that was held all the time.
const LOCKS_READINGS: u32 = 4;

/// Locks this open file; false if it is locked elsewhere.
pub fn try_lock(file: impl AsFd) -> Result<bool, Errno> {
    let exclusive = FlockOperation::NonBlockingLockExclusive;
    match retry_on_intr(|| rustix::fs::flock(file.as_fd(), exclusive)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Unlocks it, also if a forked child has a copy of the handle. In the child the call has no effect: the lock is its owner's.
pub fn unlock(file: impl AsFd, owner: Process) {
    if owner.is_this() {
        // Closing has the same effect once the last copy is closed.
        let _ = rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingUnlock);
    }
}

/// Process that holds a lock on a file, in this process's namespace; `None` if the system does not report it.
pub fn holder(file: Identity) -> Option<u32> {
    (0..LOCKS_READINGS).find_map(|_| look_for_holder(file))
}

fn look_for_holder(file: Identity) -> Option<u32> {
    let mut locks = String::with_capacity(LOCKS_BYTES);
    let list = std::fs::File::open("/proc/locks").ok()?;
    // Any user may hold any number of locks.
    list.take(LOCKS_BYTES_MAX).read_to_string(&mut locks).ok()?;
    locks.lines().find_map(|line| holder_in(line, file))
}

/// A line is `12: FLOCK  ADVISORY  WRITE 4711 00:1a:2345 0 EOF`: process, device in hexadecimal, inode.
fn holder_in(line: &str, file: Identity) -> Option<u32> {
    let mut fields = line.split_whitespace().skip(1);
    if fields.next()? != "FLOCK" {
        return None;
    }
    let process = fields.nth(2)?.parse().ok().filter(|process| *process > 0);
    (fields.next()? == file.as_in_proc()).then_some(process)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Enough for several pages of the system's list, whose beginning changes all the time.
    #[test]
    #[cfg_attr(miri, ignore = "the system's list is not there")]
    fn a_holder_is_found_while_others_lock_and_unlock() {
        const LOCKS: usize = 200;
        let folder = touchline_testing::Folder::new("flock");
        let lock = |number: usize| {
            let file = std::fs::File::create(folder.join(number.to_string())).unwrap();
            assert!(try_lock(&file).unwrap());
            file
        };
        let locks: Vec<_> = (0..LOCKS).map(lock).collect();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    drop((LOCKS..LOCKS + 100).map(lock).collect::<Vec<_>>());
                }
            });
            let found = |file: &std::fs::File| holder(Identity::of(file).unwrap());
            let missed = (0..40).find_map(|_| locks.iter().position(|file| found(file).is_none()));
            ended.store(true, Ordering::Relaxed);
            assert_eq!(missed, None);
        });
    }

    #[test]
    fn a_holder_is_found_by_device_and_inode() {
        let file = Identity::new(rustix::fs::makedev(0, 0x1a), 2345);
        let line = |line: &str| holder_in(line, file);
        assert_eq!(
            line("12: FLOCK  ADVISORY  WRITE 4711 00:1a:2345 0 EOF"),
            Some(4711)
        );
        for other in [
            "",
            "12: OFDLCK ADVISORY  WRITE -1 00:1a:2345 0 0",
            "12: POSIX  ADVISORY  WRITE 4711 00:1a:2345 0 EOF",
            "12: FLOCK  ADVISORY  WRITE 4711 00:1b:2345 0 EOF",
            "12: FLOCK  ADVISORY  WRITE 4711 00:1a:234 0 EOF",
            "12: FLOCK  ADVISORY  WRITE 0 00:1a:2345 0 EOF",
            "12: FLOCK  ADVISORY  WRITE",
        ] {
            assert_eq!(line(other), None, "{other}");
        }
    }
}
