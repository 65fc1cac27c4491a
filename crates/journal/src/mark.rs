//! Mark of a directory that is a copy of a journal: a file that the [copy](crate::replica) makes, and that the first start there
//! removes.
//!
//! A copy knows only the records that reached it. Its source may have lost more than records: whole runs, whose epochs
//! are in their orders. A tail on this host has none of them, since it belongs to a run before the copy.

use crate::disk::Disk;
use crate::error::Error;

/// Name of the file.
const NAME: &str = "copy";
/// Bytes of the file: the number of the copy, 0 in place of 1.
const BYTES: usize = 1;
/// Epochs that are left to runs elsewhere that never reached the copy: of the source, and of each copy of a lower number.
const EPOCHS_ELSEWHERE: u64 = 1_000;

/// Number of a copy among those of one journal, 1 to 8. Copies that are promoted one after the other, without a record of the one before, take
/// epochs of their own by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyNumber(u8);

impl CopyNumber {
    /// The number of a copy without a number.
    const FIRST: CopyNumber = CopyNumber(1);
    /// Largest number.
    pub const MAX: u8 = 8;

    /// Makes a number; `None` outside its range.
    pub fn new(number: u8) -> Option<CopyNumber> {
        (1..=Self::MAX)
            .contains(&number)
            .then_some(CopyNumber(number))
    }

    /// Epochs that the first run on the copy skips.
    pub(crate) fn epochs_elsewhere(self) -> u64 {
        // mutant: journal: two copies of a journal take the same epoch
        EPOCHS_ELSEWHERE * u64::from(self.0)
    }
}

/// Whether a directory is marked.
pub(crate) fn is_copy<D: Disk>(disk: &mut D) -> Result<bool, Error> {
    let names = disk.names().map_err(Error::io("list", ""))?;
    Ok(names.iter().any(|name| name == NAME))
}

/// Number of a copy; `None`: the directory is not marked.
pub(crate) fn number<D: Disk>(disk: &mut D) -> Result<Option<CopyNumber>, Error> {
    if !is_copy(disk)? {
        return Ok(None);
    }
    let mut bytes = [0; BYTES];
    disk.read(NAME, 0, &mut bytes)
        .map_err(Error::io("read the number of the copy in", NAME))?;
    let number = CopyNumber::new(bytes[0].max(1));
    number.map(Some).ok_or_else(|| Error::Foreign {
        name: NAME.to_owned(),
        what: format!("the number of the copy is {}", bytes[0]),
    })
}

/// Marks a directory, on the disk when this returns. Without a number a marked copy keeps its own.
pub(crate) fn set<D: Disk>(disk: &mut D, as_number: Option<CopyNumber>) -> Result<(), Error> {
    let found = number(disk)?;
    let number = as_number.or(found).unwrap_or(CopyNumber::FIRST);
    if found == Some(number) {
        return disk.sync_names().map_err(Error::io("sync", NAME));
    }
    let unfinished = format!("{NAME}.new");
    let names = disk.names().map_err(Error::io("list", ""))?;
    if names.contains(&unfinished) {
        disk.remove(&unfinished)
            .map_err(Error::io("remove", &unfinished))?;
    }
    disk.create(&unfinished, BYTES as u64)
        .map_err(Error::io("create", &unfinished))?;
    disk.write(&unfinished, 0, &[number.0])
        .map_err(Error::io("write", &unfinished))?;
    disk.sync(&unfinished)
        .map_err(Error::io("sync", &unfinished))?;
    disk.rename(&unfinished, NAME)
        .map_err(Error::io("rename", &unfinished))?;
    disk.sync_names().map_err(Error::io("sync", NAME))
}

/// Removes the mark. The epoch of the start must be on the disk: a crash before leaves a mark, and epochs are skipped again.
pub(crate) fn remove<D: Disk>(disk: &mut D) -> Result<(), Error> {
    disk.remove(NAME).map_err(Error::io("remove", NAME))?;
    disk.sync_names().map_err(Error::io("sync", NAME))
}
