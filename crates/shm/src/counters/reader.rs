//! Reading the counters of a process, alive or dead.

use super::histogram::{BUCKETS, HistogramView};
use super::layout::{self, Corrupt, Layout};
use super::{Descriptor, Origin};
use crate::Words;
use crate::atomic::Ordering;

/// A [`Descriptor`] that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name, printable ASCII.
    pub name: String,
    /// What one count is, or what a histogram's values are, printable ASCII.
    pub unit: String,
    /// One sentence, printable ASCII.
    pub help: String,
}

impl Description {
    /// The same, borrowed.
    pub fn as_descriptor(&self) -> Descriptor<'_> {
        Descriptor {
            name: &self.name,
            unit: &self.unit,
            help: &self.help,
        }
    }
}

/// Reads the numbers of a process. Everything but the numbers is read once.
#[derive(Debug)]
pub struct Reader<W> {
    words: W,
    layout: Layout,
    origin: Origin,
    counters: Vec<Description>,
    histograms: Vec<Description>,
}

impl<W: Words> Reader<W> {
    /// Understands a table, or says why it cannot be one.
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

    /// Whose numbers these are.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// When the numbers were last written, nanoseconds since 1970-01-01 UTC; `None` where their program does not
    /// say so.
    pub fn written_unix_ns(&self) -> Option<u64> {
        self.layout.written_unix_ns(self.words.words())
    }

    /// What each counter is, by its number.
    pub fn counters(&self) -> &[Description] {
        &self.counters
    }

    /// What each histogram is, by its number.
    pub fn histograms(&self) -> &[Description] {
        &self.histograms
    }

    /// The value of a counter at this moment.
    ///
    /// # Panics
    /// If there is no such counter.
    pub fn value(&self, counter: usize) -> u64 {
        self.words.words()[self.layout.value(counter)].load(Ordering::Relaxed)
    }

    /// Each counter with its value at this moment.
    pub fn values(&self) -> impl Iterator<Item = (&Description, u64)> {
        let numbered = self.counters.iter().enumerate();
        numbered.map(|(counter, description)| (description, self.value(counter)))
    }

    /// What a histogram holds at this moment.
    ///
    /// # Panics
    /// If there is no such histogram.
    pub fn histogram(&self, histogram: usize) -> HistogramView {
        let first = self.layout.first_bucket(histogram);
        let buckets = &self.words.words()[first..first + BUCKETS];
        HistogramView::new(buckets.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    /// The memory that is read.
    pub fn memory(&self) -> &W {
        &self.words
    }
}
