//! What a FIX session must know after its end, in a file.
//!
//! The file is here and not beside the session: `feed` owns no files. A gateway opens the store, and lends
//! it to the session.
//!
//! ```text
//! file    magic | slot | slot | record | record | …
//! slot    crc u32 | epoch u32 | next_in u64 | turn u64           the valid one of the later turn counts
//! record  crc u32 | length u32 | epoch u32 | number u64 | message
//! ```
//!
//! Whoever is killed leaves at most one record that is cut short, which the next start removes: its number
//! was not sent. A reset begins a new epoch with one write; records of an older one do not count.
//!
//! Once a write or a sync has failed, nobody knows what is on the disk: the numbers stay as they were, and
//! everything is refused until the file is opened, and read, again.

mod checksum;
mod names;
#[cfg(test)]
mod tests;

use checksum::crc32;
use rustix::fs::{FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use touchline_feed::fix::{Store, StoreError};

pub use names::file_name;

/// When what was written must have reached the disk. A killed process loses nothing either way: only a
/// host that loses its power does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// When the system sees fit.
    #[default]
    Later,
    /// Before each message is sent.
    Each,
}

/// The numbers and messages of one session, in one file that one process has open.
#[derive(Debug)]
pub struct FileStore {
    file: File,
    sync: Sync,
    epoch: u32,
    turn: u64,
    next_in: u64,
    next_out: u64,
    /// Where the next record goes.
    end: u64,
    /// Where the latest messages are: a ring by number.
    places: Box<[Place]>,
    /// One record, to be written at once.
    record: Vec<u8>,
    /// What went wrong, after which nothing is done any more.
    failed: Option<StoreError>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    number: u64,
    at: u64,
    length: u32,
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or the file cannot be used.
    #[error(
        "the session's store {path}: {reason}; give a folder of this user that nobody else may read"
    )]
    System {
        /// Which one.
        path: String,
        /// Why.
        reason: std::io::Error,
    },
    /// Others may read it, or it is another user's.
    #[error(
        "the session's store {path} can be read by others or is not ours; make it 0700 (a folder) or 0600 (a file) of this user"
    )]
    Open {
        /// Which one.
        path: String,
    },
    /// Another process has it.
    #[error("the session's store {path} is in use by another process; stop that one first")]
    InUse {
        /// Which one.
        path: String,
    },
    /// It is no store, or one of another version, or was changed.
    #[error(
        "the session's store {path} is damaged at byte {at}; move it away, agree on new numbers with the counterparty, and start again"
    )]
    Damaged {
        /// Which one.
        path: String,
        /// Where.
        at: u64,
    },
}

const MAGIC: [u8; 8] = *b"TLFIX\0\0\x01";
const SLOT: usize = 24;
const HEAD: u64 = 8 + 2 * SLOT as u64;
const RECORD_HEAD: usize = 20;
/// No message is longer: what says that it is was not written here.
const MESSAGE_BYTES_MAX: u32 = 1 << 24;

impl FileStore {
    /// Opens the store of a session in a folder, or makes both. The latest `messages` messages can be sent
    /// again.
    ///
    /// # Errors
    /// What is wrong with the folder or the file, and what to do.
    pub fn open(
        folder: &Path,
        name: &str,
        messages: usize,
        sync: Sync,
    ) -> Result<FileStore, OpenError> {
        let path = folder.join(name).display().to_string();
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
        let folder = File::from(handle);
        is_private(&folder).map_err(|_| OpenError::Open {
            path: folder_name(&path),
        })?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat2(&folder, name, flags, mode, inside).map_err(system)?;
        let file = File::from(file);
        folder.sync_all().map_err(system_error)?;
        is_private(&file).map_err(|_| OpenError::Open { path: path.clone() })?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| OpenError::InUse { path: path.clone() })?;
        let mut store = FileStore {
            file,
            sync,
            epoch: 1,
            turn: 0,
            next_in: 1,
            next_out: 1,
            end: HEAD,
            places: vec![Place::default(); messages.max(1)].into(),
            record: Vec::new(),
            failed: None,
        };
        match store.load() {
            Ok(None) => Ok(store),
            Ok(Some(at)) => Err(OpenError::Damaged { path, at }),
            Err(reason) => Err(OpenError::System { path, reason }),
        }
    }

    /// Reads everything; answers where the file is damaged, if it is.
    fn load(&mut self) -> std::io::Result<Option<u64>> {
        let size = self.file.metadata()?.len();
        if size < HEAD {
            // Nobody got as far as to begin it.
            self.file.set_len(0)?;
            self.file.write_all_at(&MAGIC, 0)?;
            for turn in 1..=2 {
                self.write_slot(self.epoch, 1, turn)?;
                self.turn = turn;
            }
            return Ok(None);
        }
        let mut head = [0; HEAD as usize];
        self.file.read_exact_at(&mut head, 0)?;
        if head[..8] != MAGIC {
            return Ok(Some(0));
        }
        let slots = [slot(&head[8..8 + SLOT]), slot(&head[8 + SLOT..])];
        let Some(latest) = slots.into_iter().flatten().max_by_key(|slot| slot.turn) else {
            return Ok(Some(8));
        };
        (self.epoch, self.next_in, self.turn) = (latest.epoch, latest.next_in, latest.turn);
        self.load_records(size)
    }

    fn load_records(&mut self, size: u64) -> std::io::Result<Option<u64>> {
        while self.end < size {
            let mut head = [0; RECORD_HEAD];
            let is_torn = size - self.end < RECORD_HEAD as u64;
            if is_torn {
                break;
            }
            self.file.read_exact_at(&mut head, self.end)?;
            let length = word(&head[4..8]);
            let behind = self.end + RECORD_HEAD as u64 + u64::from(length);
            // What reaches the end may be cut short. What does not was written whole once.
            let is_last = behind >= size;
            if length > MESSAGE_BYTES_MAX {
                return Ok(Some(self.end));
            }
            if behind > size {
                break;
            }
            self.record.resize(RECORD_HEAD + length as usize, 0);
            self.file.read_exact_at(&mut self.record, self.end)?;
            if crc32(&self.record[4..]) != word(&head[..4]) {
                match is_last {
                    true => break,
                    false => return Ok(Some(self.end)),
                }
            }
            let number = long(&head[12..20]);
            if word(&head[8..12]) == self.epoch {
                if number != self.next_out {
                    return Ok(Some(self.end));
                }
                self.note(number, self.end, length);
                self.next_out += 1;
            } else if self.next_out > 1 {
                return Ok(Some(self.end));
            }
            self.end = behind;
        }
        if self.next_out == 1 {
            self.end = HEAD;
        }
        self.file.set_len(self.end)?;
        Ok(None)
    }

    fn note(&mut self, number: u64, at: u64, length: u32) {
        let row = (number % self.places.len() as u64) as usize;
        self.places[row] = Place { number, at, length };
    }

    /// Writes the slot that does not count at present.
    fn write_slot(&self, epoch: u32, next_in: u64, turn: u64) -> std::io::Result<()> {
        let mut slot = [0; SLOT];
        slot[4..8].copy_from_slice(&epoch.to_le_bytes());
        slot[8..16].copy_from_slice(&next_in.to_le_bytes());
        slot[16..].copy_from_slice(&turn.to_le_bytes());
        let sum = crc32(&slot[4..]);
        slot[..4].copy_from_slice(&sum.to_le_bytes());
        self.file.write_all_at(&slot, 8 + turn % 2 * SLOT as u64)
    }

    /// The slot is on the disk, as far as it is to be, before the numbers are believed here.
    fn turn_to(&mut self, epoch: u32, next_in: u64) -> Result<(), StoreError> {
        self.is_sound()?;
        let turn = self.turn + 1;
        let written = self.write_slot(epoch, next_in, turn);
        self.sound(written.and_then(|()| self.synchronise()))?;
        (self.epoch, self.next_in, self.turn) = (epoch, next_in, turn);
        Ok(())
    }

    /// Nothing has failed yet.
    fn is_sound(&self) -> Result<(), StoreError> {
        self.failed.map_or(Ok(()), Err)
    }

    /// What failed is the last thing that was done.
    fn sound<T>(&mut self, done: std::io::Result<T>) -> Result<T, StoreError> {
        done.map_err(|error| {
            let failed = StoreError::System(error.raw_os_error().unwrap_or(0));
            *self.failed.insert(failed)
        })
    }

    fn synchronise(&self) -> std::io::Result<()> {
        match self.sync {
            Sync::Later => Ok(()),
            Sync::Each => self.file.sync_data(),
        }
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        // The lock belongs to all copies of the handle, and a child that is just being started has one.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

impl Store for FileStore {
    fn next_out(&self) -> u64 {
        self.next_out
    }

    fn next_in(&self) -> u64 {
        self.next_in
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.is_sound()?;
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        if length > MESSAGE_BYTES_MAX {
            return Err(*self.failed.insert(StoreError::TooLong));
        }
        self.record.clear();
        self.record.extend_from_slice(&[0; 4]);
        self.record.extend_from_slice(&length.to_le_bytes());
        self.record.extend_from_slice(&self.epoch.to_le_bytes());
        self.record.extend_from_slice(&self.next_out.to_le_bytes());
        self.record.extend_from_slice(message);
        let sum = crc32(&self.record[4..]);
        self.record[..4].copy_from_slice(&sum.to_le_bytes());
        let written = self.file.write_all_at(&self.record, self.end);
        let written = self.sound(written.and_then(|()| self.synchronise()));
        if written.is_err() {
            // The message is not sent. If this fails too, the next start cuts a part, and takes a whole
            // record for a number that nobody saw.
            let _ = self.file.set_len(self.end);
            return written;
        }
        self.note(self.next_out, self.end, length);
        self.end += self.record.len() as u64;
        self.next_out += 1;
        Ok(())
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.turn_to(self.epoch, next_in)
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        self.is_sound()?;
        let place = self.places[(number % self.places.len() as u64) as usize];
        let length = place.length as usize;
        if place.number != number || length == 0 || room.len() < length {
            return Ok(0);
        }
        self.record.resize(RECORD_HEAD + length, 0);
        let read = self.file.read_exact_at(&mut self.record, place.at);
        self.sound(read)?;
        if crc32(&self.record[4..]) != word(&self.record[..4]) {
            return Err(*self.failed.insert(StoreError::Damaged));
        }
        room[..length].copy_from_slice(&self.record[RECORD_HEAD..]);
        Ok(length)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.turn_to(self.epoch + 1, 1)?;
        (self.next_out, self.end) = (1, HEAD);
        self.places.fill(Place::default());
        // Records that stay do not count, being of another epoch; but new ones must not be written
        // over a part of them.
        let cut = self.file.set_len(HEAD);
        self.sound(cut)
    }
}

struct Slot {
    epoch: u32,
    next_in: u64,
    turn: u64,
}

/// A slot, if it is valid.
fn slot(bytes: &[u8]) -> Option<Slot> {
    (crc32(&bytes[4..]) == word(&bytes[..4])).then(|| Slot {
        epoch: word(&bytes[4..8]),
        next_in: long(&bytes[8..16]),
        turn: long(&bytes[16..24]),
    })
}

fn word(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn long(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |long, byte| long << 8 | u64::from(*byte))
}

fn folder_name(path: &str) -> String {
    let folder = Path::new(path).parent();
    folder
        .map(|folder| folder.display().to_string())
        .unwrap_or_default()
}

/// The names in a folder are on the disk: what is synchronised under a name that is lost is lost with it.
fn synchronise_names(folder: Option<&Path>) -> std::io::Result<()> {
    let named = folder.filter(|folder| !folder.as_os_str().is_empty());
    File::open(named.unwrap_or(Path::new(".")))?.sync_all()
}

/// Whether it is ours, and nobody else may read it.
fn is_private(file: &File) -> Result<(), ()> {
    let about = file.metadata().map_err(|_| ())?;
    let is_ours = about.uid() == rustix::process::geteuid().as_raw();
    match is_ours && about.mode() & 0o077 == 0 {
        true => Ok(()),
        false => Err(()),
    }
}
