//! File of a run that could not write its journal to the end. The tail in shared memory has the failure until the host is started again, the
//! file also afterwards.
//!
//! The file is made ahead, since a full disk is one of the reasons, and written by threads that may wait for the disk: as far as the disk
//! allows. It has the epoch of the run in decimal digits, 0 for none.

use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the file.
const NAME: &str = "failed";
/// Bytes of the file.
const BYTES: usize = 21;
/// No position.
const NONE: u64 = u64::MAX;

/// Epoch of the run that failed, if no run since has recorded the consequence. Bytes that are not an epoch count as the last one.
pub(crate) fn failed_epoch<D: Disk>(disk: &mut D) -> Result<Option<u64>, Error> {
    let names = disk.names().map_err(Error::io("list", ""))?;
    if !names.iter().any(|name| name == NAME) {
        return Ok(None);
    }
    let mut bytes = [0; BYTES];
    match disk.read(NAME, 0, &mut bytes) {
        Ok(()) => {}
        // A crash cut the first start short.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(Error::io("read", NAME)(error)),
    }
    if bytes == [0; BYTES] {
        return Ok(None);
    }
    let text = std::str::from_utf8(&bytes).ok();
    let epoch = text.and_then(|text| text.trim_end().parse().ok());
    Ok(Some(epoch.unwrap_or(u64::MAX)).filter(|epoch| *epoch > 0))
}

/// The file, as a run has it.
#[derive(Debug)]
pub(crate) struct FailureFile {
    file: Mutex<File>,
    /// Epoch of the run.
    epoch: u64,
    /// Whether the file may have the failure of an earlier run.
    is_open: AtomicBool,
    /// Whether this run has failed.
    has_failed: AtomicBool,
    /// Position behind the record of the consequence of an earlier run's failure.
    recorded: AtomicU64,
}

impl FailureFile {
    /// Makes the file of a run if it is missing. The failure of an earlier run, if it is open, is from now on one of this run.
    pub fn make(folder: &mut Folder, epoch: u64, is_open: bool) -> Result<Arc<FailureFile>, Error> {
        let names = folder.names().map_err(Error::io("list", ""))?;
        if !names.iter().any(|name| name == NAME) {
            folder
                .create(NAME, BYTES as u64)
                .map_err(Error::io("create", NAME))?;
        }
        // Its block is on the disk from now on.
        // mutant: journal: one start alone knows a failure after a restart of the host
        let text = text(if is_open { epoch } else { 0 });
        let written = folder.write(NAME, 0, &text);
        written.map_err(Error::io("write", NAME))?;
        folder.sync(NAME).map_err(Error::io("sync", NAME))?;
        folder.sync_names().map_err(Error::io("sync", NAME))?;
        let file = folder.open_again(NAME).map_err(Error::io("open", NAME))?;
        folder.close(NAME);
        Ok(Arc::new(FailureFile {
            file: Mutex::new(file),
            epoch,
            is_open: AtomicBool::new(is_open),
            has_failed: AtomicBool::new(false),
            recorded: AtomicU64::new(NONE),
        }))
    }

    /// Notes that this run has failed, by a thread of its own: the disk may stand still.
    pub fn note(self: &Arc<Self>) {
        if self.has_failed.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        let thread = std::thread::Builder::new().name("journal-failed".to_owned());
        // Without a thread the tail alone has the failure.
        let _ = thread.spawn(move || this.write(this.epoch));
    }

    /// Notes that the records up to a position have the consequence of the earlier failure.
    pub fn recorded(&self, position: u64) {
        self.recorded.store(position, Ordering::Release);
    }

    /// Forgets the earlier failure when the disk has those records. It stays if it cannot be written: a later start reports it again.
    pub fn forget(&self, durable: u64) {
        if durable < self.recorded.load(Ordering::Acquire) {
            return;
        }
        self.recorded.store(NONE, Ordering::Release);
        if self.is_open.swap(false, Ordering::AcqRel) {
            self.write(0);
        }
    }

    /// Writes an epoch, unless it is 0 and this run has failed meanwhile.
    fn write(&self, epoch: u64) {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if epoch == 0 && self.has_failed.load(Ordering::Acquire) {
            return;
        }
        let write = || -> io::Result<()> {
            file.write_all_at(&text(epoch), 0)?;
            file.sync_data()
        };
        // The failure of the journal is known already.
        let _ = write();
    }
}

fn text(epoch: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let text = format!("{epoch:0digits$}\n", digits = BYTES - 1);
    bytes.copy_from_slice(text.as_bytes());
    bytes
}
