//! The lock of a journal's writer: a file with the process id of its holder.

use crate::error::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

const NAME: &str = "lock";
/// A tool that looks at the lock holds it for a moment, and so does a child of the last writer until it is a program of its own.
const ATTEMPTS: u32 = 20;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// The right to write a journal. Ends with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
    /// The directory is locked as well: a second writer is refused also if somebody removed the file.
    _directory: File,
}

impl Lock {
    /// Takes the lock.
    pub fn acquire(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(NAME);
        let name = path.display().to_string();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io("open", &name))?;
        let held = File::open(directory).map_err(Error::io("open", &name))?;
        for _ in 0..ATTEMPTS {
            // Some file systems have no locks of directories.
            let is_free = match file.try_lock() {
                Ok(()) => !matches!(held.try_lock(), Err(TryLockError::WouldBlock)),
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(source)) => return Err(Error::io("lock", &name)(source)),
            };
            if is_free {
                let pid = format!("{:>10}\n", std::process::id());
                file.write_all_at(pid.as_bytes(), 0)
                    .map_err(Error::io("write", &name))?;
                return Ok(Self {
                    _file: file,
                    _directory: held,
                });
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::Locked {
            name: directory.display().to_string(),
            pid: pid_in(&file),
        })
    }
}

/// The process that writes a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    /// Process id; 0 before it is written.
    pub pid: u32,
    /// Time at which the process locked the journal, seconds since 1970.
    pub since_unix_s: u64,
}

/// The present writer of a journal; `None` if there is no writer. The system releases the lock when the last thread of
/// the process has ended, so without a writer no thread of an earlier one can act; a stopped process keeps the lock.
pub fn writer(directory: &Path) -> Option<Writer> {
    let pid = holder(directory)?;
    let modified = std::fs::metadata(directory.join(NAME)).and_then(|about| about.modified());
    let since = modified
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Some(Writer {
        pid,
        since_unix_s: since.map_or(0, |since| since.as_secs()),
    })
}

/// Process id of the writer, 0 before it is written; `None` if there is no writer.
pub(crate) fn holder(directory: &Path) -> Option<u32> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(nonblock);
    let file = options.open(directory.join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(pid_in(&file)),
        _ => None,
    }
}

fn pid_in(mut file: &File) -> u32 {
    let mut text = String::new();
    let is_read = file.read_to_string(&mut text).is_ok();
    text.trim().parse().ok().filter(|_| is_read).unwrap_or(0)
}
