//! What a gateway counts, where every process can read it: the file `counters` of its bus.

use crate::bus::{Damage, Error, Root};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_shm::counters::{self, Descriptor, words_needed};
use touchline_shm::segment::{self, Access, Lock, Mapping, Options, WriterLock};
use touchline_types::CounterInfo;

pub use touchline_shm::counters::{Description, HistogramView, Origin};

const FILE: &str = "counters";

/// The writing side: counters that are set now and then, and histograms.
#[derive(Debug)]
pub struct CountersFile {
    writer: counters::Writer<Mapping>,
    file: Mapping,
}

/// The reading side, while the gateway runs and after it died.
#[derive(Debug)]
pub struct CountersView {
    reader: counters::Reader<Mapping>,
}

impl CountersFile {
    /// Begins a counters file in the directory that `lock` gives the right to write, in the place of an
    /// earlier one. Names must differ.
    ///
    /// `ns_per_tick` is the length of a tick of the marks that are recorded in histograms.
    ///
    /// # Errors
    /// No room for the file, or a table that is not in order.
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
        let origin = Origin {
            pid: std::process::id(),
            start_unix_ns: unix_ns(),
            ns_per_tick,
        };
        let mut writer = counters::Writer::create(draft.mapping(), &origin, &counters, &histograms)
            .map_err(|refused| Error::contents(&draft.mapping(), refused))?;
        // Nothing was counted yet, which is as good a figure as any.
        writer.state_written(origin.start_unix_ns);
        let file = draft.publish()?;
        Ok(CountersFile { writer, file })
    }

    /// Says what was counted, in the order of the tables, and that this was just now.
    ///
    /// # Panics
    /// If there are more values than counters.
    pub fn show(&mut self, values: impl IntoIterator<Item = u64>) {
        self.show_at(unix_ns(), values);
    }

    /// The same at a time that is known: nanoseconds since 1970-01-01 UTC.
    ///
    /// # Panics
    /// If there are more values than counters.
    #[inline]
    pub fn show_at(&mut self, unix_ns: u64, values: impl IntoIterator<Item = u64>) {
        self.writer.state_written(unix_ns);
        for (counter, value) in values.into_iter().enumerate() {
            self.writer.set(counter, value);
        }
    }

    /// Puts a value into a histogram, by its place in the table. A load and a store.
    ///
    /// # Panics
    /// If there is no such histogram.
    #[inline]
    pub fn record(&mut self, histogram: usize, value: u64) {
        self.writer.record(histogram, value);
    }

    /// Whether it is still what everybody reads.
    ///
    /// # Errors
    /// What somebody did to it.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(&self.file)
    }

    /// Whether somebody has removed it, or put another in its place: nobody finds it any more.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.file.is_replaced()
    }
}

impl CountersView {
    /// The counters file of a bus; `None` if it has none.
    ///
    /// # Errors
    /// Among others: there is no such bus, or it is not ours to read.
    pub fn open(root: &Root, bus: &str) -> Result<Option<CountersView>, Error> {
        let directory = root.open(bus)?;
        let options = Options {
            lock: Lock::No,
            ..Options::default()
        };
        let mapping = match Mapping::open(&directory, FILE, Access::Read, &options) {
            Err(segment::Error::Missing { .. }) => return Ok(None),
            opened => opened?,
        };
        let reader = counters::Reader::attach(mapping.clone())
            .map_err(|corrupt| Error::contents(&mapping, corrupt))?;
        Ok(Some(CountersView { reader }))
    }

    /// Whose numbers these are.
    pub fn origin(&self) -> Origin {
        self.reader.origin()
    }

    /// How long ago the counters were written, by the clock of the system; `None` where their process does not say
    /// so. Counters that are older than their process writes them are of a process that died or hangs.
    pub fn age(&self) -> Option<Duration> {
        let written = self.reader.written_unix_ns()?;
        // A time that is ahead of ours is of a clock that was set, and as far away as an old one.
        Some(Duration::from_nanos(unix_ns().abs_diff(written)))
    }

    /// Each counter with its value at this moment.
    pub fn counters(&self) -> impl Iterator<Item = (&Description, u64)> {
        self.reader.values()
    }

    /// The value of a counter at this moment, by its name; `None` if there is none.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let mut counters = self.reader.counters().iter();
        let counter = counters.position(|description| description.name == name)?;
        Some(self.reader.value(counter))
    }

    /// Each histogram with what it holds at this moment.
    pub fn histograms(&self) -> impl Iterator<Item = (&Description, HistogramView)> {
        let numbered = self.reader.histograms().iter().enumerate();
        numbered.map(|(number, description)| (description, self.reader.histogram(number)))
    }

    /// Whether another gateway has begun a counters file in its place.
    pub fn is_replaced(&self) -> bool {
        self.reader.memory().is_replaced()
    }
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

fn descriptor(info: &CounterInfo) -> Descriptor<'_> {
    Descriptor {
        name: info.name,
        unit: info.unit,
        help: info.help,
    }
}
