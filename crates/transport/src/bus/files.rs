//! The files of a bus, for its writer and for its readers.

use super::cursors::{CURSORS, no_cursors, open_cursors, readers_max};
use super::error::{Error, PROGRAM};
use super::flow_control::SlowReaderPolicy;
use super::places::{HeldPlaces, OWN, Place, PlaceFile};
use super::registered::{Registered, bytes_of};
use super::{Directory, Holder, Layout, Liveness, Root};
use std::time::{Duration, Instant};
use touchline_shm::Words;
use touchline_shm::atomic::AtomicU64;
use touchline_shm::broadcast::{self, Cursors, Format, Geometry};
use touchline_shm::last_value::{self, Shape};
use touchline_shm::segment::{
    self, Access, Guests, Length, Lock, Mapping, Options, SlotLocks, WriterLock,
};

pub(crate) const RING: &str = "ring";

/// Maximum duration of a writer's start, and the interval of checks.
const START_MAX: Duration = Duration::from_secs(1);
const START_POLL: Duration = Duration::from_millis(1);

/// Writer of a table.
pub type TableWriter = last_value::Writer<Mapping>;
/// Reader of a table.
pub type TableReader = last_value::Reader<Mapping>;

/// Sizes of the files.
#[derive(Clone, Copy, Debug)]
struct Sizes<const N: usize> {
    ring: Geometry,
    tables: [(&'static str, Shape); N],
}

impl<const N: usize> Sizes<N> {
    fn new(layout: &Layout<N>) -> Result<Sizes<N>, Error> {
        Ok(Sizes {
            ring: ring_of(layout.ring_bytes, layout.message_bytes_min)?,
            tables: layout.tables,
        })
    }
}

/// Files of a writer.
#[derive(Debug)]
pub struct Writing<const N: usize> {
    /// The right to write the bus, held by this value.
    pub lock: WriterLock,
    pub ring: broadcast::Writer<Mapping>,
    pub tables: [TableWriter; N],
    /// Present on a lossless bus.
    pub policy: Option<SlowReaderPolicy>,
    /// Places of readers of other users, if a lossless bus is shared.
    pub places: Option<HeldPlaces>,
}

impl<const N: usize> Writing<N> {
    /// Takes over the files of an earlier writer, or creates new ones if they do not fit.
    pub fn open(root: &Root, bus: &str, settings: &Layout<N>) -> Result<Writing<N>, Error> {
        let sizes = Sizes::new(settings)?;
        let lock = WriterLock::acquire(root.create(bus)?)?;
        // A bus without tables is read by programs of an engine, which have no names there.
        if N > 0 {
            lock.share_guests()?;
        }
        lock.share_places(settings.lossless.is_some())?;
        let existing = Files::existing(&lock, sizes, settings)?;
        let files = existing.map_or_else(|| Files::fresh(&lock, sizes, settings), Ok)?;
        match settings.lossless {
            Some(lossless) => {
                let continues = matches!(files.ring, Ring::Left(_));
                let registered = Registered::open(&lock, lossless, settings, continues)?;
                files.into_writing(lock, sizes, settings, Some(registered))
            }
            None => {
                lock.remove(CURSORS)?;
                files.into_writing(lock, sizes, settings, None)
            }
        }
    }
}

/// Ring and tables, mapped for writing.
struct Files<const N: usize> {
    ring: Ring,
    tables: [Mapping; N],
}

/// The ring of an earlier writer, or a new one with its writer.
enum Ring {
    Left(Mapping),
    New(broadcast::Writer<Mapping>),
}

impl<const N: usize> Files<N> {
    /// The files of an earlier writer, if all have these sizes and are consistent.
    ///
    /// # Errors
    /// Another writer still writes a file, which was moved here from its own bus.
    fn existing(
        lock: &WriterLock,
        sizes: Sizes<N>,
        settings: &Layout<N>,
    ) -> Result<Option<Files<N>>, Error> {
        let open = |file, options: &Options, words: usize| {
            let options = Options {
                length: Length::Words(words),
                ..options.clone()
            };
            match Mapping::take_over(lock, file, &options) {
                Err(in_use @ segment::Error::InUse { .. }) => Err(in_use),
                opened => Ok(opened.ok()),
            }
        };
        let options = table_options(settings);
        // All files are opened before one is checked: no file in use may be removed.
        let ring = open(RING, &ring_options(settings), sizes.ring.words())?;
        let tables = each(sizes.tables, |(file, shape)| {
            Ok::<_, Error>(open(file, &options, shape.words())?)
        })?;
        // Files of one length may contain tables of another shape, which their readers would keep.
        // mutant: image: a table of another shape is reused
        let is_same = |(mapping, (_, shape)): (&Mapping, (&str, Shape))| {
            Shape::read(mapping.words()) == Ok(shape)
        };
        let Some(ring) = ring.filter(|ring| Geometry::read(ring.words()) == Ok(sizes.ring)) else {
            return Ok(None);
        };
        let Ok(tables) = each(tables, |table| table.ok_or(())) else {
            return Ok(None);
        };
        // Whether its last frames are consistent shows when it is resumed; check before anything is
        // lost.
        let is_sound =
            tables.iter().zip(sizes.tables).all(is_same) && broadcast::Writer::can_resume(&ring);
        Ok(is_sound.then_some(Files {
            ring: Ring::Left(ring),
            tables,
        }))
    }

    /// Creates new files. Readers of old ones keep them and detect the replacement.
    fn fresh(lock: &WriterLock, sizes: Sizes<N>, settings: &Layout<N>) -> Result<Files<N>, Error> {
        let page_bytes = lock.directory().page_bytes()?;
        let create = |file, options: &Options, words| {
            Mapping::create(lock, file, bytes_of(words, page_bytes), options)
        };
        // The old ones first: there may not be room for both.
        lock.remove(RING)?;
        for (file, _) in sizes.tables {
            lock.remove(file)?;
        }
        let options = table_options(settings);
        let tables = each(sizes.tables, |(file, shape)| {
            let draft = create(file, &options, shape.words())?;
            // Readers may open it from here on: they see a table of no writer, and wait.
            // mutant: bus: a new table is named before it has its shape
            reset(draft.mapping(), shape)?;
            Ok::<_, Error>(draft.publish()?)
        })?;
        let draft = create(RING, &ring_options(settings), sizes.ring.words())?;
        let ring = broadcast::Writer::create(draft.mapping(), sizes.ring)
            .map_err(|refused| Error::contents(&draft.mapping(), refused))?;
        state_format(&draft.mapping(), settings);
        draft.publish()?;
        Ok(Files {
            ring: Ring::New(ring),
            tables,
        })
    }

    /// Resets the tables before the ring announces the new writer, and assigns them to it
    /// afterwards: a reader that joins in between waits.
    fn into_writing(
        self,
        lock: WriterLock,
        sizes: Sizes<N>,
        settings: &Layout<N>,
        mut registered: Option<Registered>,
    ) -> Result<Writing<N>, Error> {
        if let Ring::Left(mapping) = &self.ring {
            state_format(mapping, settings);
        }
        let mut shapes = sizes.tables.into_iter();
        let mut tables = each(self.tables, |mapping: Mapping| {
            let (_, shape) = shapes.next().expect("as many shapes as tables");
            reset(mapping, shape)
        })?;
        let ring = match self.ring {
            Ring::New(ring) => match &registered {
                Some(registered) => ring.lossless(Cursors::new(registered.cursors.clone())),
                None => ring,
            },
            Ring::Left(mapping) => match &mut registered {
                Some(registered) => registered.resume(&mapping),
                None => broadcast::Writer::resume(mapping.clone()),
            }
            .map_err(|refused| Error::contents(&mapping, refused))?,
        };
        for table in &mut tables {
            table.publish(ring.generation());
        }
        let (policy, places) = registered
            .map(|registered| (registered.policy, registered.places))
            .unzip();
        Ok(Writing {
            lock,
            ring,
            tables,
            policy,
            places: places.flatten(),
        })
    }
}

/// States the format of the bus in the header of its ring.
fn state_format<const N: usize>(ring: &Mapping, settings: &Layout<N>) {
    let readers_max = settings.lossless.map_or(0, |lossless| lossless.readers_max);
    let cursors_words = Cursors::<Mapping>::words_for(readers_max as usize);
    Format::state(ring.words(), settings.schema.into(), PROGRAM, cursors_words);
}

/// Empties a table, which belongs to no writer afterwards.
fn reset(table: Mapping, shape: Shape) -> Result<TableWriter, Error> {
    last_value::Writer::create(table.clone(), shape)
        .map_err(|refused| Error::contents(&table, refused))
}

/// Maps each element of an array, up to the first error.
fn each<T, U, E, const N: usize>(
    values: [T; N],
    mut make: impl FnMut(T) -> Result<U, E>,
) -> Result<[U; N], E> {
    let mut made = Vec::with_capacity(N);
    for value in values {
        made.push(make(value)?);
    }
    match made.try_into() {
        Ok(made) => Ok(made),
        Err(_) => unreachable!("one is made of each"),
    }
}

/// Files of a reader.
#[derive(Debug)]
pub struct Reading<const N: usize> {
    pub directory: Directory,
    pub ring: broadcast::Reader<Mapping>,
    /// The requested tables, in this order.
    pub tables: [TableReader; N],
    /// The writer at the ring's position.
    pub generation: u64,
}

impl<const N: usize> Reading<N> {
    /// Attaches, as a registered reader if requested; waits for a starting writer.
    pub fn join(
        root: &Root,
        bus: &str,
        tables: [&str; N],
        registered: bool,
    ) -> Result<(Reading<N>, Option<Place>), Error> {
        let start = Instant::now();
        loop {
            match Reading::try_join(root, bus, tables, registered) {
                Err(Error::HalfStarted { .. }) if start.elapsed() < START_MAX => {
                    std::thread::sleep(START_POLL);
                }
                Ok((mut reading, Some(Place::File(file)))) => {
                    file.await_slot(|| reading.is_published().unwrap_or(true))?;
                    // The publisher waits for this reader from a join point on that is not later than the last one.
                    reading.ring.skip_to_join_point();
                    // Another writer may have started meanwhile.
                    if reading.ring.generation() == reading.generation {
                        return Ok((reading, Some(Place::File(file))));
                    }
                }
                other => return other,
            }
        }
    }

    /// [`Self::join`] without waiting: a starting writer is an error, and a reader of another user has its slot with the publisher's
    /// next look.
    pub fn try_join(
        root: &Root,
        bus: &str,
        tables: [&str; N],
        registered: bool,
    ) -> Result<(Reading<N>, Option<Place>), Error> {
        let half_started = || Error::HalfStarted {
            bus: bus.to_owned(),
        };
        let mut reading = Reading::open(root, bus, tables)?;
        let generation = reading.writer().ok_or_else(half_started)?;
        // The writer published a join point before the tables were assigned to it.
        reading.ring.skip_to_join_point();
        let mut place = None;
        if registered {
            let (cursors, slot) = reading.take_place(&mut place)?;
            reading.ring = reading.ring.registered(cursors, slot);
        }
        // The join point may belong to the next writer, which started meanwhile, also with other files: their generations begin again.
        if reading.ring.generation() != generation || reading.is_replaced() {
            return Err(half_started());
        }
        reading.generation = generation;
        Ok((reading, place))
    }

    /// [`Self::try_join`] of a reader that goes on in other files. It holds its place in the old ones until it has joined, unless all
    /// others are taken. A reader that wants a place and finds none goes on without: the writer does not wait for it.
    pub fn rejoin(
        root: &Root,
        bus: &str,
        tables: [&str; N],
        registered: bool,
        held: &mut Option<Place>,
    ) -> Result<(Reading<N>, Option<Place>), Error> {
        let mut joined = Reading::try_join(root, bus, tables, registered);
        let is_full = matches!(
            joined,
            Err(Error::Segment(segment::Error::NoFreeSlot { .. }))
        );
        if is_full && held.take().is_some() {
            joined = Reading::try_join(root, bus, tables, registered);
        }
        // mutant: bus: a lossless reader cannot follow a publisher that waits for no reader
        match joined {
            Err(Error::NotLossless { .. } | Error::Segment(segment::Error::NoFreeSlot { .. })) => {
                Reading::try_join(root, bus, tables, false)
            }
            joined => joined,
        }
    }

    /// Attaches to the present files; the ring at its last join point.
    fn open(root: &Root, bus: &str, tables: [&str; N]) -> Result<Reading<N>, Error> {
        let directory = root.open(bus)?;
        let options = reading_options(ring_words);
        // A table is larger than its used part.
        let sparse = Options {
            prefault: false,
            ..reading_options(|head| Shape::stated(head).ok().map(Shape::words))
        };
        let open = |file, options| Mapping::open(&directory, file, Access::Read, options);
        let ring = open(RING, &options)?;
        // Checked before anything else: another layout may have other files.
        readable(&ring, bus)?;
        let tables = each(tables, |file| open(file, &sparse))?;
        let table = |mapping: Mapping| {
            last_value::Reader::attach(mapping.clone())
                .map_err(|refused| Error::contents(&mapping, refused))
        };
        Ok(Reading {
            ring: broadcast::Reader::attach(ring.clone())
                .map_err(|refused| Error::contents(&ring, refused))?,
            tables: each(tables, table)?,
            generation: 0,
            directory,
        })
    }

    /// Takes a place for a registered reader, and keeps the slot that it holds, if the bus has that one. Returns the cursors and the slot
    /// in which the reader states its position.
    fn take_place(&self, held: &mut Option<Place>) -> Result<(Cursors<Mapping>, usize), Error> {
        let (directory, ring) = (&self.directory, self.ring.memory());
        if let Some(places) = Guests::places(directory)?
            && !directory.is_own()
        {
            let (file, cursors) = PlaceFile::create(directory, places, ring)?;
            *held = Some(Place::File(file.into()));
            return Ok((cursors, OWN));
        }
        let opened = open_cursors(directory, ring, Access::Write)?;
        let cursors = Cursors::new(opened.ok_or_else(|| no_cursors(directory, ring))?);
        let slots = readers_max(ring, &cursors);
        let guard = match held.take() {
            Some(Place::Slot(guard)) if guard.index() < slots => guard,
            other => {
                // Held until there is another: it may be a place again.
                *held = other;
                SlotLocks::open(directory, slots)?.acquire()?
            }
        };
        let slot = guard.index() as usize;
        *held = Some(Place::Slot(guard));
        Ok((cursors, slot))
    }

    /// The writer that the tables belong to; `None` while one is starting.
    pub fn writer(&self) -> Option<u64> {
        let Some((first, others)) = self.tables.split_first() else {
            return Some(self.ring.generation());
        };
        let generation = first.generation();
        let is_one = others.iter().all(|table| table.generation() == generation);
        (generation != 0 && is_one).then_some(generation)
    }

    /// Whether the tables belong to this writer.
    pub fn is_of_writer(&self, generation: u64) -> bool {
        let mut tables = self.tables.iter();
        tables.all(|table| table.generation() == generation)
    }

    /// Whether no process publishes. A registered reader follows its publisher to new cursors.
    pub fn look_for_publisher(&mut self, place: &mut Option<Place>) -> bool {
        self.keep_place(place);
        matches!(self.is_published(), Ok(false))
    }

    /// Moves a reader that has a place to new cursors, as far as there are some.
    pub fn keep_place(&mut self, place: &mut Option<Place>) {
        if place.is_some() {
            // Tried again at the next look.
            let _ = self.renew_place(place);
        }
    }

    /// Gives a registered reader its place at a writer that has made other cursors: it started with another number of places, or
    /// another process changed the length of the old ones. The reader keeps its position. The move itself loses no message: messages
    /// that the publisher overwrites before it sees the new cursor are an overrun.
    ///
    /// # Errors
    /// The writer waits for no reader, or has no place.
    pub fn renew_place(&mut self, place: &mut Option<Place>) -> Result<(), Error> {
        let is_kept = |cursors: &Cursors<Mapping>| {
            let memory = cursors.memory();
            memory.intact() && !memory.is_replaced()
        };
        if place.is_some() && self.ring.cursors().is_some_and(is_kept) {
            return Ok(());
        }
        let (cursors, slot) = self.take_place(place)?;
        self.ring.move_cursor(cursors, slot);
        Ok(())
    }

    /// [`Self::renew_place`] at the start of another writer; returns whether it waits for this reader.
    pub fn follow_place(&mut self, place: &mut Option<Place>) -> bool {
        let renewed = self.renew_place(place);
        if matches!(renewed, Err(Error::NotLossless { .. })) {
            *place = None;
        }
        renewed.is_ok()
    }

    /// Whether the bus was created again in other files.
    pub fn is_replaced(&self) -> bool {
        self.ring.memory().is_replaced()
    }

    /// Schema of the bus and version of the program that wrote it, if its messages are of a schema before this one.
    pub fn writer_before(&self, schema: u16) -> Option<(u64, String)> {
        let format = Format::read(self.ring.memory().words())?;
        (format.schema < schema.into()).then(|| (format.schema, name_of(&format)))
    }

    /// Process that publishes.
    pub fn publisher(&self) -> Result<Option<Holder>, Error> {
        Ok(WriterLock::holder(&self.directory)?)
    }

    /// Whether a process publishes. Checks the lock without allocating or waiting.
    pub fn is_published(&self) -> Result<bool, Error> {
        Ok(WriterLock::is_held(&self.directory)?)
    }

    /// Last activity of the publisher; `None` if it states none.
    pub fn liveness(&self) -> Option<Liveness> {
        Liveness::of(&self.ring)
    }

    /// Whether the publisher's last activity is too old.
    pub fn is_stalled(&self) -> bool {
        self.liveness()
            .is_some_and(|liveness| liveness.is_stalled())
    }

    /// Whether no file was truncated.
    pub fn is_intact(&self) -> bool {
        let tables = self.tables.iter().map(last_value::Reader::memory);
        self.ring.memory().intact() && tables.into_iter().all(Mapping::intact)
    }
}

/// Schema of the messages of a bus. Market data has versions below [`FOREIGN_SCHEMA`].
///
/// # Errors
/// There is no such bus, this user may not read it, or it has no ring.
pub fn schema_of(root: &Root, bus: &str) -> Result<u64, Error> {
    let options = Options {
        prefault: false,
        ..reading_options(ring_words)
    };
    let ring = Mapping::open(&root.open(bus)?, RING, Access::Read, &options)?;
    readable(&ring, bus)?;
    Ok(Format::read(ring.words()).map_or(0, |format| format.schema))
}

/// Options of a reader of a file whose head states the words of it.
fn reading_options(words: fn(&[AtomicU64]) -> Option<usize>) -> Options {
    Options {
        lock: Lock::No,
        length: Length::Stated(words),
        ..Options::default()
    }
}

/// Words of a ring, as its head states.
fn ring_words(head: &[AtomicU64]) -> Option<usize> {
    Geometry::stated(head).ok().map(Geometry::words)
}

/// Schemas from here on are of buses without market data: drop copies and commands of an engine.
pub const FOREIGN_SCHEMA: u64 = 900;

/// Schema of the drop copy of a trading engine, and of the answers of its standby.
pub const DROP_COPY_SCHEMA: u16 = FOREIGN_SCHEMA as u16;

fn name_of(format: &Format) -> String {
    format.writer().unwrap_or("of another version").to_owned()
}

/// Checks that a ring has a layout that this program can read.
fn readable(ring: &Mapping, bus: &str) -> Result<(), Error> {
    match Format::read(ring.words()) {
        Some(format) if !format.is_readable() => Err(Error::Format {
            bus: bus.to_owned(),
            layout: format.layout,
            writer: name_of(&format),
        }),
        // Memory without a ring is refused by the reader.
        Some(_) | None => Ok(()),
    }
}

/// Checks that every message fits, including the shortest parts of long ones.
fn ring_of(bytes: u64, message_bytes_min: usize) -> Result<Geometry, Error> {
    let geometry = Geometry::new(bytes).map_err(Error::RingBytes)?;
    if geometry.message_max() < message_bytes_min {
        return Err(Error::RingTooSmall {
            bytes,
            message_bytes: message_bytes_min,
            least: least_ring(geometry, message_bytes_min)?,
        });
    }
    Ok(geometry)
}

/// Size of the smallest ring from `geometry` on that holds a message of `message_bytes`.
fn least_ring(mut geometry: Geometry, message_bytes: usize) -> Result<u64, Error> {
    while geometry.message_max() < message_bytes {
        geometry = Geometry::new(2 * geometry.capacity()).map_err(Error::RingBytes)?;
    }
    Ok(geometry.capacity())
}

fn ring_options<const N: usize>(settings: &Layout<N>) -> Options {
    Options {
        huge_pages: settings.huge_pages,
        lock: settings.lock,
        ..Options::default()
    }
}

fn table_options<const N: usize>(settings: &Layout<N>) -> Options {
    Options {
        lock: settings.lock,
        ..Options::sparse()
    }
}
