//! Folder of a store: private; one process at a time opens or rewrites a store in it.

use super::error::OpenError;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens the folder; creates it if missing.
pub fn open(folder: &Path) -> Result<File, OpenError> {
    let path = folder.display().to_string();
    let system_error = |reason| OpenError::System {
        path: path.clone(),
        reason,
    };
    let system = |reason: Errno| system_error(reason.into());
    match rustix::fs::mkdir(folder, Mode::RWXU) {
        Ok(()) => synchronise_names(folder.parent()).map_err(system_error)?,
        Err(Errno::EXIST) => {}
        Err(reason) => return Err(system(reason)),
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::open(folder, flags, Mode::empty()).map_err(system)?;
    let handle = File::from(handle);
    if !is_private(&handle) {
        return Err(OpenError::Open { path });
    }
    Ok(handle)
}

/// Lock of the folder: while it lives, no other process opens, creates or rewrites a store in it. Held for
/// milliseconds.
pub struct Turn<'a>(&'a File);

impl<'a> Turn<'a> {
    pub fn take(folder: &'a File) -> std::io::Result<Turn<'a>> {
        loop {
            match rustix::fs::flock(folder, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Turn(folder)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

/// Whether a file belongs to this user and no other user may read it.
pub fn is_private(file: &File) -> bool {
    file.metadata().is_ok_and(|about| {
        about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o077 == 0
    })
}

/// Syncs the names of a folder: a file is lost with its name.
fn synchronise_names(folder: Option<&Path>) -> std::io::Result<()> {
    let named = folder.filter(|folder| !folder.as_os_str().is_empty());
    File::open(named.unwrap_or(Path::new(".")))?.sync_all()
}
