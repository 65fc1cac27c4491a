//! Counters of a gateway, readable by every process: the file `counters` of its bus.

use crate::bus::{Damage, Error, Root};
use std::time::Duration;
use touchline_shm::clock::wall_ns;
use touchline_shm::counters::{self, Descriptor, words_needed, words_stated};
use touchline_shm::segment::{
    self, Access, Guest, GuestFile, Guests, Length, Lock, Mapping, Options, WriterLock,
};
use touchline_types::CounterInfo;

pub use touchline_shm::counters::{Description, HistogramView, Origin};

const FILE: &str = "counters";

/// Writing side: counters that are set periodically, and histograms.
#[derive(Debug)]
pub struct CountersFile {
    writer: counters::Writer<Mapping>,
    file: Mapping,
}

/// Reading side, for running and ended gateways.
#[derive(Debug)]
pub struct CountersView {
    reader: counters::Reader<Mapping>,
}

impl CountersFile {
    /// Creates a counters file in the directory locked by `lock`, replacing an earlier one. Names must be unique.
    ///
    /// `ns_per_tick` is the tick length of the values recorded in histograms.
    ///
    /// # Errors
    /// No room for the file, or an invalid table.
    pub fn create<'a>(
        lock: &WriterLock,
        ns_per_tick: f64,
        counters: impl IntoIterator<Item = &'a CounterInfo>,
        histograms: impl IntoIterator<Item = &'a CounterInfo>,
    ) -> Result<CountersFile, Error> {
        let counters: Vec<_> = counters.into_iter().map(descriptor).collect();
        let histograms: Vec<_> = histograms.into_iter().map(descriptor).collect();
        let bytes = words_needed(counters.len(), histograms.len()) * 8;
        let bytes = bytes.next_multiple_of(lock.directory().page_bytes()?);
        let options = Options {
            lock: Lock::No,
            ..Options::default()
        };
        let draft = Mapping::create(lock, FILE, bytes, &options)?;
        let file = CountersFile::fill(&draft.mapping(), ns_per_tick, &counters, &histograms)?;
        draft.publish()?;
        Ok(file)
    }

    /// [`Self::create`] in the folder of a shared bus for readers of other users, under this name.
    pub(crate) fn create_guest(
        guests: Guests,
        name: &str,
        ns_per_tick: f64,
        counters: &[CounterInfo],
        histograms: &[CounterInfo],
    ) -> Result<(GuestFile, CountersFile), Error> {
        let counters: Vec<_> = counters.iter().map(descriptor).collect();
        let histograms: Vec<_> = histograms.iter().map(descriptor).collect();
        let bytes = words_needed(counters.len(), histograms.len()) * 8;
        let bytes = bytes.next_multiple_of(guests.page_bytes()?);
        guests.create(name, bytes, |file| {
            CountersFile::fill(file, ns_per_tick, &counters, &histograms)
        })
    }

    fn fill(
        file: &Mapping,
        ns_per_tick: f64,
        counters: &[Descriptor<'_>],
        histograms: &[Descriptor<'_>],
    ) -> Result<CountersFile, Error> {
        let origin = Origin {
            pid: std::process::id(),
            start_unix_ns: wall_ns(),
            ns_per_tick,
        };
        let mut writer = counters::Writer::create(file.clone(), &origin, counters, histograms)
            .map_err(|refused| Error::contents(file, refused))?;
        // All counts are 0 at the start, so zeros are valid.
        writer.state_written(origin.start_unix_ns);
        let file = file.clone();
        Ok(CountersFile { writer, file })
    }

    /// Writes the counters, in the order of the tables, with the present time.
    ///
    /// # Panics
    /// There are more values than counters.
    pub fn show(&mut self, values: impl IntoIterator<Item = u64>) {
        self.show_at(wall_ns(), values);
    }

    /// [`Self::show`] with a given time: nanoseconds since 1970-01-01 UTC.
    ///
    /// # Panics
    /// There are more values than counters.
    #[inline]
    pub fn show_at(&mut self, unix_ns: u64, values: impl IntoIterator<Item = u64>) {
        self.writer.state_written(unix_ns);
        for (counter, value) in values.into_iter().enumerate() {
            self.writer.set(counter, value);
        }
    }

    /// Records a value in a histogram, by its index in the table. A load and a store.
    ///
    /// # Panics
    /// There is no such histogram.
    #[inline]
    pub fn record(&mut self, histogram: usize, value: u64) {
        self.writer.record(histogram, value);
    }

    /// Checks that readers still find the file.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(&self.file)
    }

    /// Whether the file was removed or replaced, so that readers cannot find it.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.file.is_replaced()
    }
}

impl CountersView {
    /// The counters file of a bus; `None` if it has none.
    ///
    /// # Errors
    /// Among others: the bus does not exist or does not belong to this user.
    pub fn open(root: &Root, bus: &str) -> Result<Option<CountersView>, Error> {
        let directory = root.open(bus)?;
        let options = Options {
            lock: Lock::No,
            length: Length::Stated(words_stated),
            ..Options::default()
        };
        let mapping = match Mapping::open(&directory, FILE, Access::Read, &options) {
            Err(segment::Error::Missing { .. }) => return Ok(None),
            opened => opened?,
        };
        CountersView::of(mapping).map(Some)
    }

    /// The file of a reader of another user, and whether its process lives.
    pub(crate) fn of_guest(guests: &Guests, guest: &Guest) -> Result<(CountersView, bool), Error> {
        let (mapping, lives) = guests.open(guest, Length::Stated(words_stated))?;
        Ok((CountersView::of(mapping)?, lives))
    }

    fn of(mapping: Mapping) -> Result<CountersView, Error> {
        let reader = counters::Reader::attach(mapping.clone())
            .map_err(|corrupt| Error::contents(&mapping, corrupt))?;
        Ok(CountersView { reader })
    }

    /// Writing process.
    pub fn origin(&self) -> Origin {
        self.reader.origin()
    }

    /// Age at which counters count as late: their process writes them every 100 ms.
    pub const LATE_AFTER: Duration = Duration::from_secs(2);

    /// Age of the counters, by the system's clock; `None` if their process does not state it. Counters older than their
    /// interval belong to a process that has died or hangs.
    pub fn age(&self) -> Option<Duration> {
        let written = self.reader.written_unix_ns()?;
        // A time ahead of ours is of a clock that was set, and treated as an old one.
        Some(Duration::from_nanos(wall_ns().abs_diff(written)))
    }

    /// Each counter with its present value.
    pub fn counters(&self) -> impl Iterator<Item = (&Description, u64)> {
        self.reader.values()
    }

    /// Present value of a counter by name; `None` if there is none.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let mut counters = self.reader.counters().iter();
        let counter = counters.position(|description| description.name == name)?;
        Some(self.reader.value(counter))
    }

    /// Each histogram with its present content.
    pub fn histograms(&self) -> impl Iterator<Item = (&Description, HistogramView)> {
        let numbered = self.reader.histograms().iter().enumerate();
        numbered.map(|(number, description)| (description, self.reader.histogram(number)))
    }

    /// Whether another gateway has created a counters file in its place.
    pub fn is_replaced(&self) -> bool {
        self.reader.memory().is_replaced()
    }
}

fn descriptor(info: &CounterInfo) -> Descriptor<'_> {
    Descriptor {
        name: info.name,
        unit: info.unit,
        help: info.help,
    }
}
