//! Mark of a directory that is a copy of a journal: a file that the [copy](crate::replica) makes, and that the first start there
//! removes.
//!
//! A copy knows only the records that reached it. Its source may have lost more than records: whole runs, whose epochs
//! are in their orders. A tail on this host has none of them, since it belongs to a run before the copy.

use crate::disk::Disk;
use crate::error::Error;

/// Name of the file.
const NAME: &str = "copy";
/// Bytes of the file: a file of a journal has at least one.
const BYTES: u64 = 1;
/// Epochs that are left to runs of the source that never reached the copy.
pub(crate) const EPOCHS_ELSEWHERE: u64 = 1_000;

/// Whether a directory is marked.
pub(crate) fn is_copy<D: Disk>(disk: &mut D) -> Result<bool, Error> {
    let names = disk.names().map_err(Error::io("list", ""))?;
    Ok(names.iter().any(|name| name == NAME))
}

/// Marks a directory, on the disk when this returns.
pub(crate) fn set<D: Disk>(disk: &mut D) -> Result<(), Error> {
    if !is_copy(disk)? {
        disk.create(NAME, BYTES)
            .map_err(Error::io("create", NAME))?;
    }
    disk.sync_names().map_err(Error::io("sync", NAME))
}

/// Removes the mark. The epoch of the start must be on the disk: a crash before leaves a mark, and epochs are skipped again.
pub(crate) fn remove<D: Disk>(disk: &mut D) -> Result<(), Error> {
    disk.remove(NAME).map_err(Error::io("remove", NAME))?;
    disk.sync_names().map_err(Error::io("sync", NAME))
}
