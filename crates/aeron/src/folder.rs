//! The folder of a driver in memory: ownership, leftover files, and free space.

use crate::settings::DriverSettings;
use crate::{Error, raw};
use rustix::fs::{Mode, OFlags};
use std::ffi::{CString, c_char};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// First file of every driver's folder, in C or in Java.
const CNC: &str = "cnc.dat";

/// Ownership of a folder while this value lives. The system releases it when the process dies, so its successor need
/// not wait for the timeout of the old heartbeat.
#[derive(Debug)]
pub(crate) struct Ownership {
    lock_path: PathBuf,
    _lock: File,
}

impl Ownership {
    /// Acquires the folder of the settings: removes the files of a dead driver, and checks the free space.
    ///
    /// # Errors
    /// Another driver runs there, the folder is of another version or not a driver's, or the space is too small.
    pub fn take(settings: &DriverSettings) -> Result<Ownership, Error> {
        let folder = &settings.folder;
        let refuse = |why: String| Error::Folder {
            folder: folder.clone(),
            why,
        };
        let parent = folder.parent().filter(|parent| parent.is_dir());
        let parent = parent
            .ok_or_else(|| refuse("the folder above it does not exist; create it".to_owned()))?;
        remove_killed(parent, folder);
        let (ownership, was_ours) = lock(folder)?;
        if folder.exists() {
            remove_left(folder, was_ours, settings)?;
        }
        let free = rustix::fs::statvfs(parent).map_err(|error| refuse(error.to_string()))?;
        let free_bytes = free.f_bavail * free.f_frsize;
        let needed_bytes = settings.needed_bytes();
        if free_bytes < needed_bytes {
            return Err(Error::Room {
                folder: folder.clone(),
                needed_bytes,
                free_bytes,
            });
        }
        Ok(ownership)
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // While the lock is held: a process that acquires the path next creates a file of its own.
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// While this lives, what this process creates is its user's alone: Aeron makes the folder of a driver open to everybody, less what the
/// umask takes, which belongs to the process.
pub(crate) struct PrivateFiles {
    before: Mode,
    _one_at_a_time: MutexGuard<'static, ()>,
}

impl PrivateFiles {
    pub(crate) fn begin() -> PrivateFiles {
        static ONE: Mutex<()> = Mutex::new(());
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        PrivateFiles {
            before: rustix::process::umask(Mode::RWXG | Mode::RWXO),
            _one_at_a_time: one,
        }
    }
}

impl Drop for PrivateFiles {
    fn drop(&mut self) {
        rustix::process::umask(self.before);
    }
}

/// Checks the folder that Aeron has made: it is this user's alone, and so are the files that the driver makes in it later.
///
/// # Errors
/// Another process made it.
pub(crate) fn check_private(folder: &Path) -> Result<(), Error> {
    let about = fs::symlink_metadata(folder);
    let user = rustix::process::geteuid().as_raw();
    match about {
        Ok(about) if about.is_dir() && about.uid() == user && about.mode() & 0o077 == 0 => Ok(()),
        _ => Err(Error::Folder {
            folder: folder.to_owned(),
            why: "not a folder of this user alone after the driver made it; find the process that changes it, and choose another name"
                .to_owned(),
        }),
    }
}

/// Removes the folders of killed processes that were named like this one: `NAME-PID`, with a process that is gone and a
/// free lock. Folders whose name does not end in the number of this process have no such others.
fn remove_killed(parent: &Path, folder: &Path) {
    let name = folder.file_name().and_then(|name| name.to_str());
    let own = std::process::id().to_string();
    let Some(prefix) = name.and_then(|name| name.strip_suffix(own.as_str())) else {
        return;
    };
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let lock_name = entry.file_name();
        let lock_name = lock_name.to_str().unwrap_or_default();
        let Some(name) = lock_name.strip_suffix(".lock") else {
            continue;
        };
        let pid = name
            .strip_prefix(prefix)
            .and_then(|pid| pid.parse::<u32>().ok());
        if !prefix.ends_with('-')
            || pid.is_none_or(|pid| Path::new(&format!("/proc/{pid}")).exists())
        {
            continue;
        }
        // A process of another container may have that number: it holds the lock.
        if let Ok((ownership, _)) = lock(&parent.join(name)) {
            let _ = fs::remove_dir_all(parent.join(name));
            drop(ownership);
        }
    }
}

/// Locks the file beside the folder, and returns whether it existed: then the folder was of a driver of this crate.
fn lock(folder: &Path) -> Result<(Ownership, bool), Error> {
    let mut lock_path = folder.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let failed = |why: String| Error::Folder {
        folder: folder.to_owned(),
        why,
    };
    loop {
        let was_there = lock_path.exists();
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&lock_path)
            .map_err(|error| failed(format!("cannot lock {}: {error}", lock_path.display())))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(failed(
                    "another media driver runs with this folder; choose another name, or stop that driver".to_owned(),
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error.to_string())),
        }
        // Its owner may have removed the file between open and lock.
        let ours = file.metadata().map(|metadata| metadata.ino());
        let there = fs::metadata(&lock_path).map(|metadata| metadata.ino());
        if let (Ok(ours), Ok(there)) = (ours, there)
            && ours == there
        {
            let ownership = Ownership {
                lock_path,
                _lock: file,
            };
            return Ok((ownership, was_there));
        }
    }
}

/// Removes the folder of a dead driver.
fn remove_left(folder: &Path, was_ours: bool, settings: &DriverSettings) -> Result<(), Error> {
    let refuse = |why: String| {
        Err(Error::Folder {
            folder: folder.to_owned(),
            why,
        })
    };
    let is_empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    match cnc_version(folder) {
        None if !is_empty && !was_ours => {
            return refuse(
                "not the folder of a media driver; choose one that does not exist".to_owned(),
            );
        }
        Some(version) if version != own_cnc_version() && version != 0 => {
            return refuse(format!(
                "left by a media driver of another version ({}, this one is {}); stop that driver and remove the folder",
                dotted(version),
                dotted(own_cnc_version())
            ));
        }
        Some(_) if !was_ours && is_active(folder, settings) => {
            return refuse("another media driver runs with this folder; choose another name, or stop that driver".to_owned());
        }
        _ => {}
    }
    fs::remove_dir_all(folder).or_else(|error| refuse(format!("cannot be removed: {error}")))
}

/// Version of the driver's files; `None` without such a file, 0 in an incomplete one.
fn cnc_version(folder: &Path) -> Option<i32> {
    let mut bytes = [0; 4];
    let mut file = File::open(folder.join(CNC)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(i32::from_ne_bytes(bytes))
}

fn own_cnc_version() -> i32 {
    // SAFETY: returns a constant.
    unsafe { raw::touchline_aeron_cnc_version() }
}

/// Aeron encodes a version in three bytes.
fn dotted(version: i32) -> String {
    let [_, major, minor, patch] = version.to_be_bytes();
    format!("{major}.{minor}.{patch}")
}

fn is_active(folder: &Path, settings: &DriverSettings) -> bool {
    extern "C" fn say_nothing(_: *const c_char) {}
    let Ok(folder) = c_path(folder) else {
        return false;
    };
    let timeout_ms = i64::try_from(settings.timeout.as_millis()).unwrap_or(i64::MAX);
    // SAFETY: the path ends with a zero and outlives the call, which maps the file and unmaps it again.
    unsafe { raw::aeron_is_driver_active(folder.as_ptr(), timeout_ms, say_nothing) }
}

/// A path for Aeron.
pub(crate) fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Folder {
        folder: path.to_owned(),
        why: "the path contains a zero byte".to_owned(),
    })
}
