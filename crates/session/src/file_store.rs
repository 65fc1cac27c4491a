//! What a FIX session must know after its end, in a file.
//!
//! The file is here and not beside the session: `feed` owns no files. A gateway opens the store, and lends
//! it to the session. The form of the file is in `layout`, what a start verifies in `load`.
//!
//! A message is stored in this order: its record; with [`Sync::Each`] the disk has it; a slot with the
//! number behind it; only then is it sent. So whatever was sent stands below the number in a slot, and a
//! file in which any of that is missing or changed is refused. A killed process leaves at most one record above
//! that number, which the next start removes if it is cut short: its message was not sent.
//!
//! A reset begins a new epoch with one write; records of the one before do not count.
//!
//! After a write or a sync has failed, the contents of the disk are unknown: the numbers stay as they were, and every
//! call is refused until the file is opened and read again.

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

/// What a store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The latest messages that can be sent again, at least 1. The file is rewritten with them alone when it
    /// has twice as many.
    pub messages: usize,
    /// Size of the file beyond which it is rewritten with the latest messages that fit half of it.
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

/// The numbers and messages of one session, in one file that one process has open.
#[derive(Debug)]
pub struct FileStore {
    folder: File,
    name: String,
    file: File,
    sync: Sync,
    limits: Limits,
    /// The numbers as they stand in the file.
    slot: Slot,
    /// Number of the first record.
    first: u64,
    /// Where the next record goes.
    end: u64,
    /// Where the latest messages are: a ring by number.
    places: Box<[Place]>,
    /// One record, to be written at once.
    record: Vec<u8>,
    /// How often the file was rewritten.
    rewrites: u64,
    /// What went wrong, after which nothing is done any more.
    failed: Option<StoreError>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    number: u64,
    at: u64,
    length: u32,
}

impl FileStore {
    /// Opens the store of a session in a folder, or makes both.
    ///
    /// # Errors
    /// What is wrong with the folder or the file, and what to do.
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
            // mutant: fix store: an empty file is a new store
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
            // A process that was killed after the last rename may not have done this.
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
        // mutant: fix store: what is not finished stays in the file
        store.file.set_len(store.end)?;
        // mutant: fix store: a record without its slot gets none at the start
        if slot.next_out > confirmed {
            // A record that is whole counts, and the slot says so before another one is begun.
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

    /// Messages in the file, those among them that can not be sent again included.
    pub fn messages(&self) -> u64 {
        self.slot.next_out - self.first
    }

    /// How often the file was rewritten without its oldest messages since it was opened.
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
                // mutant: fix store: a rewritten file forgets where its messages stand
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

    /// The first message that a rewrite keeps, and where it stands: the latest ones, as far as they fit half
    /// of the largest file.
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

    /// Writes the numbers into the slot that is not current. They are believed once that is done.
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

    /// The slot is on the disk, as far as it is to be, before the numbers are believed here.
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

    /// The record, the disk, and the slot, in this order.
    fn write_record(&mut self, message: &[u8]) -> std::io::Result<()> {
        let number = self.slot.next_out;
        let head = RecordHead::of(number, self.slot.epoch, message);
        self.record.clear();
        self.record.extend_from_slice(&head.encode());
        self.record.extend_from_slice(message);
        self.file.write_all_at(&self.record, self.end)?;
        self.synchronise()?;
        // mutant: fix store: the slots do not know what was stored
        self.write_slot(number + 1, self.slot.next_in, self.slot.epoch)
    }
}

/// Why a store is not opened.
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
        // The lock belongs to all copies of the handle, and a child that is just being started has one.
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
            // mutant: fix store: a message is kept that the next start refuses
            return Err(*self.failed.insert(StoreError::TooLong));
        }
        let bytes = RECORD_HEAD as u64 + u64::from(length);
        // mutant: fix store: the file grows for ever
        let roomy = self.make_room(bytes);
        self.sound(roomy)?;
        let (number, at) = (self.slot.next_out, self.end);
        let written = self.write_record(message);
        if written.is_err() {
            // The message is not sent. If this fails too, the next start removes a partial record, and accepts a
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
        // Records that stay do not count, being of another epoch; but new ones must not be written
        // over a part of them.
        let cut = self.file.set_len(HEAD);
        self.sound(cut)
    }
}
