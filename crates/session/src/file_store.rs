//! File store of a FIX session: sequence numbers and sent messages.
//!
//! The crates of the path own no files: a gateway opens the store and lends it to the session. `layout` defines the
//! file format, `load` the checks at start.
//!
//! Order of a stored message: its record; with [`Sync::Each`] a sync to disk; a slot with the next number; only then is
//! it sent. So every sent message is below the number in a slot, and a file in which such a message is missing or
//! changed is refused. A killed process leaves at most one record above that number. The next start removes it if it is
//! incomplete: its message was not sent.
//!
//! A reset starts a new epoch with one write; records of earlier epochs do not count.
//!
//! After a failed write or sync the contents of the disk are unknown: the numbers stay unchanged, and every call is
//! refused until the file is opened and read again.

mod checksum;
mod error;
mod folder;
mod layout;
mod load;
mod names;
mod rewrite;
#[cfg(test)]
mod tests;

use crate::fix::{Store, StoreError};
use checksum::crc32;
use folder::Turn;
use layout::{HEAD, MESSAGE_BYTES_MAX, RECORD_HEAD, RecordHead, Slot};
use load::{Fault, Loaded};
use rewrite::Rewrite;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub use error::{Damage, Numbers, OpenError};
pub use names::file_name;

/// When written data must reach the disk. A killed process loses nothing in either case; a power failure of the host
/// may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// When the system writes it.
    #[default]
    Later,
    /// Before each message is sent.
    Each,
}

/// Limits of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of latest messages that can be resent, at least 1. A file with twice as many is rewritten.
    pub messages: usize,
    /// Size above which the file is rewritten with the latest messages that fit half of it.
    pub bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            messages: 65_536,
            bytes_max: 64 << 20,
        }
    }
}

/// Store of one session in one file that one process has open.
#[derive(Debug)]
pub struct FileStore {
    folder: File,
    name: String,
    file: File,
    sync: Sync,
    limits: Limits,
    /// The numbers in the file.
    slot: Slot,
    /// Number of the first record.
    first: u64,
    /// Position of the next record.
    end: u64,
    /// Positions of the latest messages: a ring by number.
    places: Box<[Place]>,
    /// Buffer of one record, which is written at once.
    record: Vec<u8>,
    /// Number of rewrites.
    rewrites: u64,
    /// The first failure, after which every call is refused.
    failed: Option<StoreError>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    number: u64,
    at: u64,
    length: u32,
}

impl FileStore {
    /// Opens the store of a session in a folder; creates both if missing.
    ///
    /// # Errors
    /// The problem with the folder or the file, and the fix.
    pub fn open(
        folder: &Path,
        name: &str,
        limits: Limits,
        sync: Sync,
    ) -> Result<FileStore, OpenError> {
        let path = folder.join(name).display().to_string();
        let folder = folder::open(folder)?;
        let opened = FileStore::open_in(folder, name, limits, sync);
        opened.map_err(|fault| match fault {
            Refusal::Open => OpenError::Open { path },
            Refusal::InUse => OpenError::InUse { path },
            Refusal::Fault(Fault::System(reason)) => OpenError::System { path, reason },
            Refusal::Fault(Fault::Version(version)) => OpenError::Version { path, version },
            Refusal::Fault(Fault::Damaged {
                at,
                damage,
                numbers,
            }) => OpenError::Damaged {
                path,
                at,
                damage,
                numbers,
            },
        })
    }

    fn open_in(folder: File, name: &str, limits: Limits, sync: Sync) -> Result<FileStore, Refusal> {
        let turn = Turn::take(&folder)?;
        let file = match rewrite::open_inside(&folder, name, OFlags::RDWR) {
            Ok(file) => file,
            Err(Errno::NOENT) => Rewrite::begin(&folder, name).run()?.0,
            Err(error) => return Err(std::io::Error::from(error).into()),
        };
        if !folder::is_private(&file) {
            return Err(Refusal::Open);
        }
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Refusal::InUse)?;
        rewrite::remove_unfinished(&folder, name)?;
        if sync == Sync::Each {
            // A process that was killed after the last rename may not have synced the folder.
            folder.sync_all()?;
        }
        let mut places = vec![Place::default(); limits.messages.max(1)].into_boxed_slice();
        let loaded = load::load(&file, |number, at, length| {
            note(&mut places, Place { number, at, length });
        })?;
        drop(turn);
        let Loaded {
            slot,
            confirmed,
            first,
            end,
        } = loaded;
        let mut store = FileStore {
            folder,
            name: name.to_owned(),
            file,
            sync,
            limits,
            slot,
            first,
            end,
            places,
            record: Vec::new(),
            rewrites: 0,
            failed: None,
        };
        store.file.set_len(store.end)?;
        if slot.next_out > confirmed {
            // A complete record counts; the slot states it before the next record starts.
            store.synchronise()?;
            store.write_slot(slot.next_out, slot.next_in, slot.epoch)?;
        }
        store.make_room(0)?;
        Ok(store)
    }

    /// Bytes of the file.
    pub fn size_bytes(&self) -> u64 {
        self.end
    }

    /// Messages in the file, including those that can no longer be resent.
    pub fn messages(&self) -> u64 {
        self.slot.next_out - self.first
    }

    /// Number of times the file was rewritten since it was opened.
    pub fn rewrites(&self) -> u64 {
        self.rewrites
    }

    /// Rewrites the file without its oldest messages, if it is too large with `more` bytes.
    fn make_room(&mut self, more: u64) -> std::io::Result<()> {
        let is_many = self.messages() > 2 * self.places.len() as u64;
        match is_many || self.end + more > self.limits.bytes_max.max(HEAD + more) {
            true => self.rewrite(),
            false => Ok(()),
        }
    }

    fn rewrite(&mut self) -> std::io::Result<()> {
        let (first, from) = self.kept();
        let keep = Rewrite::keep(
            &self.folder,
            &self.name,
            self.slot,
            &self.file,
            from..self.end,
            first,
        );
        let turn = Turn::take(&self.folder)?;
        let (file, slot) = keep.run()?;
        drop(turn);
        let skip = if first > 1 { RECORD_HEAD as u64 } else { 0 };
        let begin = HEAD + skip;
        for place in &mut self.places {
            match place.number >= first {
                true => place.at = place.at - from + begin,
                false => *place = Place::default(),
            }
        }
        self.end = begin + (self.end - from);
        self.first = if first > 1 { first - 1 } else { 1 };
        (self.file, self.slot) = (file, slot);
        self.rewrites += 1;
        Ok(())
    }

    /// The first message that a rewrite keeps, and its position: the latest messages that fit half of the maximum size.
    fn kept(&self) -> (u64, u64) {
        let (mut first, mut from) = (self.slot.next_out, self.end);
        while first > 1 {
            let place = self.place(first - 1);
            if place.number != first - 1 || self.end - place.at > self.limits.bytes_max / 2 {
                break;
            }
            (first, from) = (place.number, place.at);
        }
        (first, from)
    }

    fn place(&self, number: u64) -> Place {
        self.places[(number % self.places.len() as u64) as usize]
    }

    /// Writes the numbers into the slot that is not current. They apply when the write has
    /// succeeded.
    fn write_slot(&mut self, next_out: u64, next_in: u64, epoch: u32) -> std::io::Result<()> {
        let slot = Slot {
            epoch,
            next_in,
            next_out,
            turn: self.slot.turn.wrapping_add(1),
        };
        let (bytes, at) = slot.encode();
        self.file.write_all_at(&bytes, at)?;
        self.slot = slot;
        Ok(())
    }

    /// Writes the slot and syncs it if configured; then applies the numbers.
    fn turn_to(&mut self, epoch: u32, next_in: u64, next_out: u64) -> Result<(), StoreError> {
        self.is_sound()?;
        let before = self.slot;
        let written = self.write_slot(next_out, next_in, epoch);
        let written = written.and_then(|()| self.synchronise());
        if written.is_err() {
            self.slot = before;
        }
        self.sound(written)
    }

    /// Fails if an earlier call failed.
    fn is_sound(&self) -> Result<(), StoreError> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Records a failure.
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

    /// Writes the record, syncs, and writes the slot, in this order.
    fn write_record(&mut self, message: &[u8]) -> std::io::Result<()> {
        let number = self.slot.next_out;
        let head = RecordHead::of(number, self.slot.epoch, message);
        self.record.clear();
        self.record.extend_from_slice(&head.encode());
        self.record.extend_from_slice(message);
        self.file.write_all_at(&self.record, self.end)?;
        self.synchronise()?;
        self.write_slot(number + 1, self.slot.next_in, self.slot.epoch)
    }
}

/// Reason why a store is not opened.
enum Refusal {
    Open,
    InUse,
    Fault(Fault),
}

impl<T: Into<Fault>> From<T> for Refusal {
    fn from(fault: T) -> Refusal {
        Refusal::Fault(fault.into())
    }
}

fn note(places: &mut [Place], place: Place) {
    let row = (place.number % places.len() as u64) as usize;
    places[row] = place;
}

impl Drop for FileStore {
    fn drop(&mut self) {
        // All copies of the handle share the lock, and a child process that is being started inherits a copy: closing
        // ours would not release it.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

impl Store for FileStore {
    fn next_out(&self) -> u64 {
        self.slot.next_out
    }

    fn next_in(&self) -> u64 {
        self.slot.next_in
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.is_sound()?;
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        if length > MESSAGE_BYTES_MAX {
            return Err(*self.failed.insert(StoreError::TooLong));
        }
        let bytes = RECORD_HEAD as u64 + u64::from(length);
        let roomy = self.make_room(bytes);
        self.sound(roomy)?;
        let (number, at) = (self.slot.next_out, self.end);
        let written = self.write_record(message);
        if written.is_err() {
            // The message is not sent. If this fails too, the next start removes an incomplete record, and accepts a
            // complete one as a number that was not sent.
            let _ = self.file.set_len(self.end);
            return self.sound(written);
        }
        note(&mut self.places, Place { number, at, length });
        self.end += bytes;
        Ok(())
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.turn_to(self.slot.epoch, next_in, self.slot.next_out)
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        self.is_sound()?;
        let place = self.place(number);
        let length = place.length as usize;
        if place.number != number || length == 0 || room.len() < length {
            return Ok(0);
        }
        let mut head = [0; RECORD_HEAD];
        let read = self.file.read_exact_at(&mut head, place.at);
        let read = read.and_then(|()| {
            let message = &mut room[..length];
            self.file
                .read_exact_at(message, place.at + RECORD_HEAD as u64)
        });
        self.sound(read)?;
        let is_sound = RecordHead::decode(&head).is_some_and(|head| {
            (head.number, head.length) == (number, place.length)
                && crc32(&room[..length]) == head.message_sum
        });
        match is_sound {
            true => Ok(length),
            false => Err(*self.failed.insert(StoreError::Damaged)),
        }
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.turn_to(self.slot.epoch.wrapping_add(1), 1, 1)?;
        (self.first, self.end) = (1, HEAD);
        self.places.fill(Place::default());
        // Old records that remain do not count, because they have an older epoch; but new records
        // must not overwrite a part of them.
        let cut = self.file.set_len(HEAD);
        self.sound(cut)
    }
}
