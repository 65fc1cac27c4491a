//! Writer of counters: a load and a store per count.

use super::histogram::bucket_of;
use super::layout::{self, Layout};
use super::{Descriptor, HELP_BYTES_MAX, NAME_BYTES_MAX, Origin, UNIT_BYTES_MAX};
use crate::Words;
use crate::atomic::Ordering;
use std::collections::HashSet;

/// Reason why a table cannot be created: a bug of the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The memory is too small.
    #[error(
        "the counters need {needed} words of memory, and there are {found}; ask for `words_needed`"
    )]
    Memory {
        /// See [`words_needed`](super::words_needed).
        needed: usize,
        /// Available words.
        found: usize,
    },
    /// A descriptor that a reader would refuse.
    #[error("{what} of counter {name:?} {why}; correct its table")]
    Descriptor {
        /// The descriptor, by its name.
        name: String,
        /// Name, unit or help.
        what: &'static str,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// The tick length is invalid.
    #[error("the clock's tick length is invalid; give it in nanoseconds, finite and above 0")]
    Tick,
}

/// Writer of a table. There is one per table.
#[derive(Debug)]
pub struct Writer<W> {
    words: W,
    layout: Layout,
}

impl<W: Words> Writer<W> {
    /// Creates a table with all values zero, in memory without readers.
    pub fn create(
        words: W,
        origin: &Origin,
        counters: &[Descriptor],
        histograms: &[Descriptor],
    ) -> Result<Self, Refused> {
        let layout = Layout::new(counters.len(), histograms.len());
        Self::create_with(words, layout, origin, counters, histograms)
    }

    pub(super) fn create_with(
        words: W,
        layout: Layout,
        origin: &Origin,
        counters: &[Descriptor],
        histograms: &[Descriptor],
    ) -> Result<Self, Refused> {
        let memory = words.words();
        if memory.len() < layout.end() {
            return Err(Refused::Memory {
                needed: layout.end(),
                found: memory.len(),
            });
        }
        if !layout::is_tick(origin.ns_per_tick) {
            return Err(Refused::Tick);
        }
        check_descriptors(counters)?;
        check_descriptors(histograms)?;
        memory[..layout.end()]
            .iter()
            .for_each(|word| word.store(0, Ordering::Relaxed));
        layout.write(memory, origin);
        for (number, descriptor) in counters.iter().chain(histograms).enumerate() {
            layout::write_descriptor(&memory[layout.descriptor(number)], descriptor);
        }
        Layout::publish(memory);
        Ok(Self { words, layout })
    }

    /// Adds to a counter. Wraps around.
    ///
    /// # Panics
    /// There is no such counter.
    #[inline]
    pub fn add(&mut self, counter: usize, count: u64) {
        self.change(self.layout.value(counter), |value| {
            value.wrapping_add(count)
        });
    }

    /// Sets a counter to a value counted elsewhere.
    ///
    /// # Panics
    /// There is no such counter.
    #[inline]
    pub fn set(&mut self, counter: usize, value: u64) {
        self.change(self.layout.value(counter), |_| value);
    }

    /// States the time of the update: nanoseconds since 1970-01-01 UTC, above 0.
    #[inline]
    pub fn state_written(&mut self, unix_ns: u64) {
        Layout::state_written(self.words.words(), unix_ns);
    }

    /// Records a value in a histogram.
    ///
    /// # Panics
    /// There is no such histogram.
    #[inline]
    pub fn record(&mut self, histogram: usize, value: u64) {
        let bucket = self.layout.first_bucket(histogram) + bucket_of(value);
        self.change(bucket, |count| count.wrapping_add(1));
    }

    /// Load and store without a locked operation: there is no other writer.
    #[inline]
    fn change(&mut self, place: usize, change: impl FnOnce(u64) -> u64) {
        let word = &self.words.words()[place];
        word.store(change(word.load(Ordering::Relaxed)), Ordering::Relaxed);
    }
}

fn check_descriptors(descriptors: &[Descriptor]) -> Result<(), Refused> {
    let mut names = HashSet::new();
    for descriptor in descriptors {
        let texts = [
            ("the name", descriptor.name, NAME_BYTES_MAX),
            ("the unit", descriptor.unit, UNIT_BYTES_MAX),
            ("the help", descriptor.help, HELP_BYTES_MAX),
        ];
        let too_long = texts
            .iter()
            .find(|(_, text, bytes_max)| text.len() > *bytes_max);
        let unprintable = texts
            .iter()
            .find(|(_, text, _)| !layout::is_printable(text.as_bytes()));
        let (what, why) = match (too_long, unprintable) {
            (Some((what, _, _)), _) => (*what, "is too long"),
            (_, Some((what, _, _))) => (*what, "has other than printable ASCII characters"),
            _ if descriptor.name.is_empty() => ("the name", "is empty"),
            _ if !names.insert(descriptor.name) => ("the name", "is there twice"),
            _ => continue,
        };
        return Err(Refused::Descriptor {
            name: descriptor.name.to_owned(),
            what,
            why,
        });
    }
    Ok(())
}
