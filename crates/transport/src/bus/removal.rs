//! Removal of a bus.

use super::{Error, Root};
use std::fs;
use touchline_shm::segment::WriterLock;

/// Removes the directory of a bus with everything in it. Readers that have its files mapped keep them.
///
/// # Errors
/// The bus does not exist, is published (then it is left unchanged), or a system call failed.
pub fn remove(root: &Root, bus: &str) -> Result<(), Error> {
    // Held to the end: no publisher starts in files that are being removed.
    let lock = WriterLock::acquire(root.open(bus)?)?;
    // Files of other users may be impossible to remove: then no other file is removed.
    lock.remove_guests()?;
    let path = lock.directory().path();
    fs::remove_dir_all(&path).map_err(|source| Error::Removal {
        path: path.display().to_string(),
        source,
    })
}
