//! Overview of a bus from outside: publisher, sizes, position.

use super::reading::{self, DEFINITIONS, IMAGES, MarketReading};
use crate::bus::{Build, Directory, Error, Holder, Liveness, Root, lives, open_cursors, user_of};
use crate::stats::{self, ReaderView};
use std::os::unix::fs::MetadataExt;
use touchline_shm::broadcast::{Cursors, RingEvent};
use touchline_shm::segment::{self, Access, Mapping, SlotLocks, WriterLock};

/// A bus at one moment.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Its name.
    pub bus: String,
    /// Publishing process; `None` if there is none.
    pub publisher: Option<Holder>,
    /// Build of that process, or of the last one; `None` if it states none.
    pub build: Option<Build>,
    /// Last activity of the publisher; `None` if it states none.
    pub liveness: Option<Liveness>,
    /// Number of publishers that the bus has had.
    pub generation: u64,
    /// Instruments up to the last one with a definition; some of them may have none.
    pub definitions: usize,
    /// Instruments up to the last one with a book; some of them may have none.
    pub books: usize,
    /// Number of the last message.
    pub messages: u64,
    /// Size of the ring, bytes.
    pub ring_bytes: u64,
    /// Bytes of the stream since the bus was created.
    pub position: u64,
    /// Maximum size of a message, bytes.
    pub message_bytes_max: usize,
    /// Memory of its files.
    pub memory_bytes: u64,
    /// Readers that are waited for; `None` if the bus is not lossless.
    pub readers: Option<Vec<RegisteredReader>>,
}

/// A reader that the publisher of a lossless bus waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisteredReader {
    /// Slot, from 0.
    pub place: u32,
    /// Whether its process lives.
    pub is_alive: bool,
    /// Unread bytes, in steps of 1/32 of the ring, the interval of its reports.
    pub lag_bytes: u64,
}

type WithCursors = (Overview, Vec<ReaderView>, Option<Cursors<Mapping>>);

impl Overview {
    /// Reads a bus without affecting any process.
    ///
    /// # Errors
    /// Among others: the bus does not exist or does not belong to this user.
    pub fn of(root: &Root, bus: &str) -> Result<Overview, Error> {
        let (mut reading, _) = reading::join(root, bus, false)?;
        Overview::see(&mut reading, bus)
    }

    /// [`Self::of`] an open bus.
    pub(super) fn see(reading: &mut MarketReading, bus: &str) -> Result<Overview, Error> {
        reading.ring.skip_to_join_point();
        read_to_end(reading);
        let next = reading.ring.next();
        let geometry = reading.ring.geometry();
        Ok(Overview {
            bus: bus.to_owned(),
            publisher: reading.publisher()?,
            build: WriterLock::last_build(&reading.directory),
            liveness: reading.liveness(),
            generation: reading.ring.generation(),
            definitions: reading.tables[DEFINITIONS].used(),
            books: reading.tables[IMAGES].used().saturating_sub(1),
            messages: next.sequence.saturating_sub(1),
            ring_bytes: geometry.capacity(),
            position: next.position,
            message_bytes_max: geometry.message_max(),
            memory_bytes: memory_bytes(&reading.directory)?,
            readers: cursors(reading)?
                .map(|cursors| registered_readers(&reading.directory, &cursors, next.position))
                .transpose()?,
        })
    }

    /// Whether a publisher is present and not stalled: the present values in its counters apply.
    pub fn is_live(&self) -> bool {
        self.publisher.is_some() && !self.is_stalled()
    }

    /// Whether the publisher's last activity is too old.
    pub fn is_stalled(&self) -> bool {
        self.liveness.is_some_and(|liveness| liveness.is_stalled())
    }

    /// Overview with the named readers, read just before.
    ///
    /// # Errors
    /// As for [`Overview::of`]. An unreadable counters file is an entry with its error.
    pub fn with_readers(root: &Root, bus: &str) -> Result<(Overview, Vec<ReaderView>), Error> {
        let (overview, readers, _) = Overview::with_cursors(root, bus)?;
        Ok((overview, readers))
    }

    fn with_cursors(root: &Root, bus: &str) -> Result<WithCursors, Error> {
        let mut readers = stats::views(root, bus)?;
        let (mut reading, _) = reading::join(root, bus, false)?;
        let overview = Overview::see(&mut reading, bus)?;
        stats::measure(&mut readers, overview.position);
        let cursors = cursors(&reading)?;
        stats::check_places(&mut readers, |slot| user_of(cursors.as_ref()?, slot));
        Ok((overview, readers, cursors))
    }

    /// Publishing process, also if the files are damaged; `None` if there is none.
    ///
    /// # Errors
    /// The bus does not exist, or this user may not read it.
    pub fn publisher_of(root: &Root, bus: &str) -> Result<Option<Holder>, Error> {
        Ok(WriterLock::holder(&root.open(bus)?)?)
    }
}

/// Named readers of a bus, by name, without affecting any process.
///
/// # Errors
/// As for [`Overview::of`].
pub fn readers(root: &Root, bus: &str) -> Result<Vec<ReaderView>, Error> {
    Ok(Overview::with_readers(root, bus)?.1)
}

/// Name of the reader that has or had a slot of a lossless bus, from 1, also of one that died; `-@UID`: a reader of another user,
/// without a name.
///
/// # Errors
/// As for [`Overview::of`].
pub fn reader_in(root: &Root, bus: &str, place: u64) -> Result<Option<String>, Error> {
    let (_, readers, cursors) = Overview::with_cursors(root, bus)?;
    let slot = place.checked_sub(1).map(|slot| slot as usize);
    let user = slot.and_then(|slot| user_of(cursors.as_ref()?, slot));
    // A reader before it may have left its counters with the same slot.
    let found = readers
        .into_iter()
        .filter(|reader| reader.counters.place == place && reader.user == user)
        .max_by_key(|reader| reader.counters.written_unix_ns);
    let unnamed = || user.map(|user| format!("-@{user}"));
    Ok(found.map(|reader| reader.name).or_else(unnamed))
}

/// Reads from the last join point, at most a block before the end; limited, because the bus may be written meanwhile.
fn read_to_end(reading: &mut MarketReading) {
    for _ in 0..MESSAGES_MAX {
        match reading.ring.read(|_| ()) {
            Ok(Some(())) | Err(RingEvent::Generation(_)) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

/// Number of the shortest messages in a block of 32 KiB.
const MESSAGES_MAX: usize = 4096;

/// Sparse files use less memory than their length.
fn memory_bytes(directory: &Directory) -> Result<u64, Error> {
    let path = directory.path();
    let files = directory.files()?.into_iter();
    // A file removed meanwhile uses none.
    let sizes = files.map(|file| std::fs::symlink_metadata(path.join(file)));
    Ok(sizes.flatten().map(|file| file.blocks() * 512).sum())
}

/// Cursors of a lossless bus; `None` also if another process changed their length: the publisher makes them again.
fn cursors(reading: &MarketReading) -> Result<Option<Cursors<Mapping>>, Error> {
    match open_cursors(&reading.directory, reading.ring.memory(), Access::Read) {
        Err(segment::Error::Length { .. } | segment::Error::Size { .. }) => Ok(None),
        opened => Ok(opened?.map(Cursors::new)),
    }
}

fn registered_readers(
    directory: &Directory,
    cursors: &Cursors<Mapping>,
    position: u64,
) -> Result<Vec<RegisteredReader>, Error> {
    let locks = SlotLocks::open_to_look(directory, cursors.slots() as u32)?;
    let mut readers = Vec::new();
    for slot in 0..cursors.slots() {
        let Some(read) = cursors.position(slot) else {
            continue;
        };
        let place = slot as u32;
        readers.push(RegisteredReader {
            place,
            // The publisher holds the lock for one of another user, and has perhaps ended.
            is_alive: locks.is_held(place)? || lives(directory, cursors, slot),
            lag_bytes: (position.wrapping_sub(read) as i64).max(0) as u64,
        });
    }
    Ok(readers)
}
