//! The lock of a journal's writer: a file with the process id of its holder.

use crate::error::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

const NAME: &str = "lock";
/// A tool that looks at the lock holds it for a moment.
const ATTEMPTS: u32 = 20;

/// The right to write a journal. Ends with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
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
        for _ in 0..ATTEMPTS {
            match file.try_lock() {
                Ok(()) => {
                    let pid = format!("{:>10}\n", std::process::id());
                    file.write_all_at(pid.as_bytes(), 0)
                        .map_err(Error::io("write", &name))?;
                    return Ok(Self { _file: file });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
                Err(TryLockError::Error(source)) => return Err(Error::io("lock", &name)(source)),
            }
        }
        Err(Error::Locked {
            name: directory.display().to_string(),
            pid: pid_in(&file),
        })
    }
}

/// Process id of the writer, 0 if it has not written it yet; `None` if there is no writer.
pub(crate) fn holder(directory: &Path) -> Option<u32> {
    let file = File::open(directory.join(NAME)).ok()?;
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
