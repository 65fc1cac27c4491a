//! Removes a bus that is not needed any more.

use super::{Error, Root};
use std::fs;
use touchline_shm::segment::WriterLock;

/// Removes the directory of a bus with everything in it. Readers that have its files mapped keep them.
///
/// # Errors
/// There is no such bus, somebody publishes it (it is left alone then), or the system refuses.
pub fn remove(root: &Root, bus: &str) -> Result<(), Error> {
    // Held to the end: no publisher begins in files that are about to go.
    let lock = WriterLock::acquire(root.open(bus)?)?;
    let path = lock.directory().path();
    fs::remove_dir_all(&path).map_err(|source| Error::Removal {
        path: path.display().to_string(),
        source,
    })
}
