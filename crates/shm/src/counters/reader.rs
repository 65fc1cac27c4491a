//! Reader of a process's counters, running or ended.

use super::histogram::{BUCKETS, HistogramView};
use super::layout::{self, Corrupt, Layout};
use super::{Descriptor, Origin};
use crate::Words;
use crate::atomic::Ordering;

/// A [`Descriptor`] read from a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name, printable ASCII.
    pub name: String,
    /// Unit of a count or of a histogram's values, printable ASCII.
    pub unit: String,
    /// One sentence, printable ASCII.
    pub help: String,
}

impl Description {
    /// The description, borrowed.
    pub fn as_descriptor(&self) -> Descriptor<'_> {
        Descriptor {
            name: &self.name,
            unit: &self.unit,
            help: &self.help,
        }
    }
}

/// Reader of a table. Everything but the values is read once.
#[derive(Debug)]
pub struct Reader<W> {
    words: W,
    layout: Layout,
    origin: Origin,
    counters: Vec<Description>,
    histograms: Vec<Description>,
}

impl<W: Words> Reader<W> {
    /// Attaches to a table and checks it.
    pub fn attach(words: W) -> Result<Self, Corrupt> {
        let memory = words.words();
        let (layout, origin) = Layout::read(memory)?;
        let mut counters = (0..layout.counters + layout.histograms)
            .map(|number| {
                let texts = layout::read_descriptor(&memory[layout.descriptor(number)]);
                let [name, unit, help] = texts.ok_or(Corrupt::Text { number })?;
                Ok(Description { name, unit, help })
            })
            .collect::<Result<Vec<_>, Corrupt>>()?;
        let histograms = counters.split_off(layout.counters);
        Ok(Self {
            words,
            layout,
            origin,
            counters,
            histograms,
        })
    }

    /// Writing process.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Time of the last update, nanoseconds since 1970-01-01 UTC; `None` if not stated.
    pub fn written_unix_ns(&self) -> Option<u64> {
        self.layout.written_unix_ns(self.words.words())
    }

    /// Descriptions of the counters, by number.
    pub fn counters(&self) -> &[Description] {
        &self.counters
    }

    /// Descriptions of the histograms, by number.
    pub fn histograms(&self) -> &[Description] {
        &self.histograms
    }

    /// Present value of a counter.
    ///
    /// # Panics
    /// There is no such counter.
    pub fn value(&self, counter: usize) -> u64 {
        self.words.words()[self.layout.value(counter)].load(Ordering::Relaxed)
    }

    /// Each counter with its present value.
    pub fn values(&self) -> impl Iterator<Item = (&Description, u64)> {
        let numbered = self.counters.iter().enumerate();
        numbered.map(|(counter, description)| (description, self.value(counter)))
    }

    /// Present content of a histogram.
    ///
    /// # Panics
    /// There is no such histogram.
    pub fn histogram(&self, histogram: usize) -> HistogramView {
        let first = self.layout.first_bucket(histogram);
        let buckets = &self.words.words()[first..first + BUCKETS];
        HistogramView::new(buckets.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    /// The memory.
    pub fn memory(&self) -> &W {
        &self.words
    }
}
