//! The files of a bus, for its writer and for its readers.

use super::flow_control::{SlowReaderPolicy, Verdict};
use super::{Directory, Holder, Layout, Liveness, Lossless, Root};
use std::time::{Duration, Instant};
use touchline_shm::Words;
use touchline_shm::broadcast::{self, Cursors, Format, Geometry, LAYOUT};
use touchline_shm::last_value::{self, Shape};
use touchline_shm::segment::{
    self, Access, Lock, Mapping, Options, SlotGuard, SlotLocks, WriterLock,
};

/// Version of this program.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

const RING: &str = "ring";
/// Cursors of named readers, of a lossless bus.
pub const CURSORS: &str = "cursors";

/// How long a writer may take to start, and how often that is looked at.
const START_MAX: Duration = Duration::from_secs(1);
const START_POLL: Duration = Duration::from_millis(1);

/// Writes a table.
pub type TableWriter = last_value::Writer<Mapping>;
/// Reads a table.
pub type TableReader = last_value::Reader<Mapping>;

/// Why a bus cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of it cannot be made, opened or locked.
    #[error(transparent)]
    Segment(#[from] segment::Error),
    /// The size of the ring is not one that a ring can have.
    #[error("ring_bytes: {0}")]
    RingBytes(broadcast::Refused),
    /// The ring is too small for the messages of a bus.
    #[error("ring_bytes: {bytes} bytes hold no message of a bus; give 4096 or more")]
    RingTooSmall {
        /// As set.
        bytes: u64,
    },
    /// What is in a file is not what should be there.
    #[error("{path}: {what}")]
    Contents {
        /// Which file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// It has a layout that this program cannot read.
    #[error(
        "bus {bus} has format {layout} (touchline {writer}); this program ({PROGRAM}) reads {LAYOUT}: use the program of the gateway's version, or start the gateway again with this one"
    )]
    Format {
        /// Name of the bus.
        bus: String,
        /// Number of its layout.
        layout: u64,
        /// Version of the program that wrote it.
        writer: String,
    },
    /// Something of it cannot be removed.
    #[error("cannot remove {path}: {source}")]
    Removal {
        /// The directory of the bus.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Its writer is just starting, and does not come to an end with it.
    #[error("bus {bus} is half started; its gateway died while starting, or hangs: start it again")]
    HalfStarted {
        /// Name of the bus.
        bus: String,
    },
    /// Another reader of the bus has this name.
    #[error(
        "bus {bus} has a reader called {name} already: {holder}; give another name, or stop it"
    )]
    NameTaken {
        /// Name of the bus.
        bus: String,
        /// Name of the reader.
        name: String,
        /// Who has it.
        holder: Holder,
    },
    /// As many readers have given a name as there may be.
    #[error("bus {bus} has {readers_max} named readers already; stop one, or read without a name")]
    TooManyReaders {
        /// Name of the bus.
        bus: String,
        /// How many there may be.
        readers_max: usize,
    },
    /// A named reader of a bus whose writer waits for nobody.
    #[error(
        "bus {bus} is not lossless: its writer waits for no reader; join without a name, or make it lossless"
    )]
    NotLossless {
        /// Name of the bus.
        bus: String,
    },
}

impl Error {
    pub(crate) fn contents(mapping: &Mapping, what: impl ToString) -> Error {
        Error::Contents {
            path: mapping.path().display().to_string(),
            what: what.to_string(),
        }
    }
}

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

/// What a writer writes.
#[derive(Debug)]
pub struct Writing<const N: usize> {
    /// The right to write it; held as long as this lives.
    pub lock: WriterLock,
    pub ring: broadcast::Writer<Mapping>,
    pub tables: [TableWriter; N],
    /// Of a lossless bus.
    pub policy: Option<SlowReaderPolicy>,
}

impl<const N: usize> Writing<N> {
    /// Takes over what another writer has left, or begins anew where that does not fit.
    pub fn open(root: &Root, bus: &str, settings: &Layout<N>) -> Result<Writing<N>, Error> {
        let sizes = Sizes::new(settings)?;
        let lock = WriterLock::acquire(root.create(bus)?)?;
        let existing = Files::existing(&lock, sizes, settings)?;
        let files = existing.map_or_else(|| Files::fresh(&lock, sizes, settings), Ok)?;
        match settings.lossless {
            Some(lossless) => {
                let registered = Registered::open(&lock, lossless, settings)?;
                files.into_writing(lock, sizes, settings.schema, Some(registered))
            }
            None => {
                lock.remove(CURSORS)?;
                files.into_writing(lock, sizes, settings.schema, None)
            }
        }
    }
}

/// Those that a lossless bus waits for. Readers that are already there keep their places.
struct Registered {
    cursors: Mapping,
    policy: SlowReaderPolicy,
}

impl Registered {
    fn open<const N: usize>(
        lock: &WriterLock,
        lossless: Lossless,
        settings: &Layout<N>,
    ) -> Result<Registered, Error> {
        let words = Cursors::<Mapping>::words_for(lossless.readers_max as usize);
        let bytes = bytes_of(words, lock.directory().page_bytes()?);
        let options = Options {
            readers_write: true,
            ..ring_options(settings)
        };
        let left = Mapping::open(lock.directory(), CURSORS, Access::Write, &options);
        let cursors = match left {
            Ok(cursors) if size_of_val(cursors.words()) == bytes => cursors,
            _ => Mapping::create(lock, CURSORS, bytes, &options)?.publish()?,
        };
        let locks = SlotLocks::create(lock, lossless.readers_max)?;
        Ok(Registered {
            cursors,
            policy: SlowReaderPolicy::new(locks, lossless),
        })
    }

    /// Continues a ring, and overtakes nobody with it.
    fn resume(&mut self, ring: &Mapping) -> Result<broadcast::Writer<Mapping>, broadcast::Refused> {
        loop {
            let cursors = Cursors::new(self.cursors.clone());
            let slot = match broadcast::Writer::resume_lossless(ring.clone(), cursors) {
                Err(broadcast::Refused::Full { slot }) => slot,
                other => return other,
            };
            let cursors = Cursors::new(&self.cursors);
            // Before it is judged: who takes the slot after that is another.
            let Some(lease) = cursors.lease(slot) else {
                continue;
            };
            match self.policy.judge(slot) {
                Verdict::Wait => std::thread::sleep(START_POLL),
                Verdict::Dead | Verdict::TooSlow => cursors.free(slot, lease),
            }
        }
    }
}

/// Ring and tables, mapped for writing.
struct Files<const N: usize> {
    ring: Ring,
    tables: [Mapping; N],
}

/// The ring is complete when it is found; a new one has its writer already.
enum Ring {
    Left(Mapping),
    New(broadcast::Writer<Mapping>),
}

impl<const N: usize> Files<N> {
    /// What another writer has left, if all of it has these sizes and makes sense.
    ///
    /// # Errors
    /// A file that another writer is still writing: it was brought here from the bus that it belongs to.
    fn existing(
        lock: &WriterLock,
        sizes: Sizes<N>,
        settings: &Layout<N>,
    ) -> Result<Option<Files<N>>, Error> {
        let page_bytes = lock.directory().page_bytes()?;
        let open = |file, options: &Options, words: usize| {
            let mapping = match Mapping::open(lock.directory(), file, Access::Write, options) {
                // mutant: names: a file in use is left to a second one and removed
                Err(in_use @ segment::Error::InUse { .. }) => return Err(in_use),
                Err(_) => return Ok(None),
                Ok(mapping) => mapping,
            };
            let fits = bytes_of(words, page_bytes) == size_of_val(mapping.words());
            Ok(fits.then_some(mapping))
        };
        let options = table_options(settings);
        // All of them before one is judged: none that is in use is to be removed.
        let ring = open(RING, &ring_options(settings), sizes.ring.words())?;
        let tables = each(sizes.tables, |(file, shape)| {
            Ok::<_, Error>(open(file, &options, shape.words())?)
        })?;
        // Files of one length may hold tables of another shape, and their readers would keep that.
        // mutant: image: a table of another shape is taken over
        let is_same = |(mapping, (_, shape)): (&Mapping, (&str, Shape))| {
            Shape::read(mapping.words()) == Ok(shape)
        };
        let Some(ring) = ring.filter(|ring| Geometry::read(ring.words()) == Ok(sizes.ring)) else {
            return Ok(None);
        };
        let Ok(tables) = each(tables, |table| table.ok_or(())) else {
            return Ok(None);
        };
        // Whether its last frames make sense shows when it is resumed; ask before anything is lost.
        let is_sound =
            tables.iter().zip(sizes.tables).all(is_same) && broadcast::Writer::can_resume(&ring);
        Ok(is_sound.then_some(Files {
            ring: Ring::Left(ring),
            tables,
        }))
    }

    /// New files. Readers of old ones keep them, and see that they were replaced.
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
            create(file, &options, shape.words())?.publish()
        })?;
        let draft = create(RING, &ring_options(settings), sizes.ring.words())?;
        let ring = broadcast::Writer::create(draft.mapping(), sizes.ring)
            .map_err(|refused| Error::contents(&draft.mapping(), refused))?;
        Format::state(draft.mapping().words(), settings.schema.into(), PROGRAM);
        draft.publish()?;
        Ok(Files {
            ring: Ring::New(ring),
            tables,
        })
    }

    /// The tables are emptied before the ring says that a new writer begins, and belong to it after
    /// that: who joins in between waits.
    fn into_writing(
        self,
        lock: WriterLock,
        sizes: Sizes<N>,
        schema: u16,
        mut registered: Option<Registered>,
    ) -> Result<Writing<N>, Error> {
        if let Ring::Left(mapping) = &self.ring {
            Format::state(mapping.words(), schema.into(), PROGRAM);
        }
        let mut shapes = sizes.tables.into_iter();
        let mut tables = each(self.tables, |mapping: Mapping| {
            let (_, shape) = shapes.next().expect("as many shapes as tables");
            last_value::Writer::create(mapping.clone(), shape)
                .map_err(|refused| Error::contents(&mapping, refused))
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
        Ok(Writing {
            lock,
            ring,
            tables,
            policy: registered.map(|registered| registered.policy),
        })
    }
}

/// Does the same with each of an array, up to the first that fails.
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

/// What a reader reads.
#[derive(Debug)]
pub struct Reading<const N: usize> {
    pub directory: Directory,
    pub ring: broadcast::Reader<Mapping>,
    /// The tables that it asked for, in that order.
    pub tables: [TableReader; N],
    /// The writer whose beginning is behind the ring's place, and the next one's is not.
    pub generation: u64,
}

impl<const N: usize> Reading<N> {
    /// Attaches, as a named reader if that is wanted; waits for a writer that is just starting.
    pub fn join(
        root: &Root,
        bus: &str,
        tables: [&str; N],
        registered: bool,
    ) -> Result<(Reading<N>, Option<SlotGuard>), Error> {
        let start = Instant::now();
        loop {
            match Reading::try_join(root, bus, tables, registered) {
                Err(Error::HalfStarted { .. }) if start.elapsed() < START_MAX => {
                    std::thread::sleep(START_POLL);
                }
                other => return other,
            }
        }
    }

    /// The same without waiting: a writer that is just starting is an error.
    pub fn try_join(
        root: &Root,
        bus: &str,
        tables: [&str; N],
        registered: bool,
    ) -> Result<(Reading<N>, Option<SlotGuard>), Error> {
        let half_started = || Error::HalfStarted {
            bus: bus.to_owned(),
        };
        let mut reading = Reading::open(root, bus, tables)?;
        let generation = reading.writer().ok_or_else(half_started)?;
        // It has marked its beginning before the tables were its own.
        reading.ring.skip_to_join_point();
        let (reading, guard) = match registered {
            true => reading
                .registered()
                .map(|(reading, guard)| (reading, Some(guard)))?,
            false => (reading, None),
        };
        // A join point of the next one would have told of it.
        if reading.ring.generation() != generation {
            return Err(half_started());
        }
        Ok((
            Reading {
                generation,
                ..reading
            },
            guard,
        ))
    }

    /// Attaches to what stands there; the ring at its last join point.
    fn open(root: &Root, bus: &str, tables: [&str; N]) -> Result<Reading<N>, Error> {
        let directory = root.open(bus)?;
        let options = Options {
            lock: Lock::No,
            ..Options::default()
        };
        // A table is larger than what is in use of it.
        let sparse = Options {
            prefault: false,
            ..options.clone()
        };
        let open = |file, options| Mapping::open(&directory, file, Access::Read, options);
        let ring = open(RING, &options)?;
        // Before anything else: in another layout there may be other files.
        // mutant: bus: whatever has a ring is read, in any layout
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

    /// Takes a place among those that the writer waits for.
    fn registered(self) -> Result<(Reading<N>, SlotGuard), Error> {
        let options = Options {
            lock: Lock::No,
            readers_write: true,
            ..Options::default()
        };
        let cursors = match Mapping::open(&self.directory, CURSORS, Access::Write, &options) {
            Err(segment::Error::Missing { .. }) => {
                return Err(Error::NotLossless {
                    bus: self.directory.name().to_owned(),
                });
            }
            other => Cursors::new(other?),
        };
        let guard = SlotLocks::open(&self.directory, cursors.slots() as u32)?.acquire()?;
        let ring = self.ring.registered(cursors, guard.index() as usize);
        Ok((Reading { ring, ..self }, guard))
    }

    /// The writer that the tables belong to; `None` while one is just beginning.
    pub fn writer(&self) -> Option<u64> {
        let Some((first, others)) = self.tables.split_first() else {
            return Some(self.ring.generation());
        };
        let generation = first.generation();
        let is_one = others.iter().all(|table| table.generation() == generation);
        (generation != 0 && is_one).then_some(generation)
    }

    /// Whether the tables belong to this writer, its number in the ring.
    pub fn is_of_writer(&self, generation: u64) -> bool {
        let mut tables = self.tables.iter();
        tables.all(|table| table.generation() == generation)
    }

    /// Whether the bus was begun anew in other files.
    pub fn is_replaced(&self) -> bool {
        self.ring.memory().is_replaced()
    }

    /// Who writes the bus.
    pub fn publisher(&self) -> Result<Option<Holder>, Error> {
        Ok(WriterLock::holder(&self.directory)?)
    }

    /// Whether somebody writes the bus. A look at its lock: nothing is allocated, and nobody is waited for.
    pub fn is_published(&self) -> Result<bool, Error> {
        Ok(WriterLock::is_held(&self.directory)?)
    }

    /// When the publisher last gave a sign of life; `None` of one that states no such thing.
    pub fn liveness(&self) -> Option<Liveness> {
        Liveness::of(&self.ring)
    }

    /// Whether the publisher's last sign of life is too long ago.
    pub fn is_stalled(&self) -> bool {
        self.liveness()
            .is_some_and(|liveness| liveness.is_stalled())
    }

    /// Whether the files are as long as they were.
    pub fn is_intact(&self) -> bool {
        let tables = self.tables.iter().map(last_value::Reader::memory);
        self.ring.memory().intact() && tables.into_iter().all(Mapping::intact)
    }
}

/// Whether a ring is of a layout that this program can read.
fn readable(ring: &Mapping, bus: &str) -> Result<(), Error> {
    match Format::read(ring.words()) {
        Some(format) if !format.is_readable() => Err(Error::Format {
            bus: bus.to_owned(),
            layout: format.layout,
            writer: format.writer().unwrap_or("of another version").to_owned(),
        }),
        // What is no ring at all is refused where it is read.
        Some(_) | None => Ok(()),
    }
}

/// Every message must fit, the shortest parts of long ones included.
fn ring_of(bytes: u64, message_bytes_min: usize) -> Result<Geometry, Error> {
    let geometry = Geometry::new(bytes).map_err(Error::RingBytes)?;
    if geometry.message_max() < message_bytes_min {
        return Err(Error::RingTooSmall { bytes });
    }
    Ok(geometry)
}

/// Whole pages; what is behind the last word is never used.
const fn bytes_of(words: usize, page_bytes: usize) -> usize {
    (words * 8).next_multiple_of(page_bytes)
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
