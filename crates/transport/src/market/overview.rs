//! What can be said of a bus from outside: its publisher, its sizes, how far it is.

use super::reading::{self, DEFINITIONS, IMAGES, MarketReading};
use crate::bus::{CURSORS, Directory, Error, Holder, Liveness, Root};
use crate::stats::{self, ReaderView};
use std::os::unix::fs::MetadataExt;
use touchline_shm::broadcast::{Cursors, RingEvent};
use touchline_shm::segment::{self, Access, Lock, Mapping, Options, SlotLocks, WriterLock};

/// A bus at one moment.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Its name.
    pub bus: String,
    /// Who publishes; `None` if nobody does.
    pub publisher: Option<Holder>,
    /// When the publisher last gave a sign of life; `None` of one that states no such thing.
    pub liveness: Option<Liveness>,
    /// How many publishers it had.
    pub generation: u64,
    /// Instruments with a definition.
    pub definitions: usize,
    /// Instruments with a book.
    pub books: usize,
    /// Number of the last message.
    pub messages: u64,
    /// Bytes of messages that the ring holds.
    pub ring_bytes: u64,
    /// Bytes of the stream so far, since the bus was begun.
    pub position: u64,
    /// The longest message in bytes.
    pub message_bytes_max: usize,
    /// Memory that its files take.
    pub memory_bytes: u64,
    /// Who is waited for; `None` if the bus is not lossless.
    pub readers: Option<Vec<RegisteredReader>>,
}

/// A reader that the publisher of a lossless bus waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisteredReader {
    /// Its place, from 0.
    pub place: u32,
    /// Whether its process lives.
    pub is_alive: bool,
    /// What it has not read yet; exact to a thirty-second of the ring, which is how often it says so.
    pub lag_bytes: u64,
}

impl Overview {
    /// Looks at a bus, and disturbs nobody by it.
    ///
    /// # Errors
    /// Among others: there is no such bus, or it is not ours to read.
    pub fn of(root: &Root, bus: &str) -> Result<Overview, Error> {
        let (mut reading, _) = reading::join(root, bus, false)?;
        Overview::see(&mut reading, bus)
    }

    /// The same of a bus that is open already.
    pub(super) fn see(reading: &mut MarketReading, bus: &str) -> Result<Overview, Error> {
        reading.ring.skip_to_join_point();
        read_to_end(reading);
        let next = reading.ring.next();
        let geometry = reading.ring.geometry();
        Ok(Overview {
            bus: bus.to_owned(),
            publisher: reading.publisher()?,
            liveness: reading.liveness(),
            generation: reading.ring.generation(),
            definitions: reading.tables[DEFINITIONS].used(),
            books: reading.tables[IMAGES].used().saturating_sub(1),
            messages: next.sequence.saturating_sub(1),
            ring_bytes: geometry.capacity(),
            position: next.position,
            message_bytes_max: geometry.message_max(),
            memory_bytes: memory_bytes(&reading.directory)?,
            readers: registered_readers(&reading.directory, next.position)?,
        })
    }

    /// Whether somebody publishes and works: what its gateway counts of the present moment holds.
    pub fn is_live(&self) -> bool {
        self.publisher.is_some() && !self.is_stalled()
    }

    /// Whether the publisher's last sign of life is too long ago.
    pub fn is_stalled(&self) -> bool {
        self.liveness.is_some_and(|liveness| liveness.is_stalled())
    }

    /// The same with the named readers, as they were just before.
    ///
    /// # Errors
    /// As [`Overview::of`]. A counters file that cannot be read is one that says so.
    pub fn with_readers(root: &Root, bus: &str) -> Result<(Overview, Vec<ReaderView>), Error> {
        let mut readers = stats::views(root, bus)?;
        let overview = Overview::of(root, bus)?;
        stats::measure(&mut readers, overview.position);
        Ok((overview, readers))
    }

    /// Who publishes on a bus, whatever its files are like; `None` if nobody does.
    ///
    /// # Errors
    /// There is no such bus, or it is not ours to look at.
    pub fn publisher_of(root: &Root, bus: &str) -> Result<Option<Holder>, Error> {
        Ok(WriterLock::holder(&root.open(bus)?)?)
    }
}

/// The readers of a bus that gave a name, by name; disturbs nobody.
///
/// # Errors
/// As [`Overview::of`].
pub fn readers(root: &Root, bus: &str) -> Result<Vec<ReaderView>, Error> {
    Ok(Overview::with_readers(root, bus)?.1)
}

/// From the last join point, which is at most a block before the end; not for ever, if it is being written.
fn read_to_end(reading: &mut MarketReading) {
    for _ in 0..MESSAGES_MAX {
        match reading.ring.read(|_| ()) {
            Ok(Some(())) | Err(RingEvent::Generation(_)) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

/// As many as a block of 32 KiB has of the shortest.
const MESSAGES_MAX: usize = 4096;

/// Sparse files take less than they are long.
fn memory_bytes(directory: &Directory) -> Result<u64, Error> {
    let path = directory.path();
    let files = directory.files()?.into_iter();
    // One that is gone in between takes nothing.
    let sizes = files.map(|file| std::fs::symlink_metadata(path.join(file)));
    Ok(sizes.flatten().map(|file| file.blocks() * 512).sum())
}

fn registered_readers(
    directory: &Directory,
    position: u64,
) -> Result<Option<Vec<RegisteredReader>>, Error> {
    let options = Options {
        lock: Lock::No,
        ..Options::default()
    };
    let cursors = match Mapping::open(directory, CURSORS, Access::Read, &options) {
        Err(segment::Error::Missing { .. }) => return Ok(None),
        opened => Cursors::new(opened?),
    };
    let locks = SlotLocks::open(directory, cursors.slots() as u32)?;
    let mut readers = Vec::new();
    for place in 0..cursors.slots() {
        let Some(read) = cursors.position(place) else {
            continue;
        };
        readers.push(RegisteredReader {
            place: place as u32,
            is_alive: locks.is_held(place as u32)?,
            lag_bytes: (position.wrapping_sub(read) as i64).max(0) as u64,
        });
    }
    Ok(Some(readers))
}
