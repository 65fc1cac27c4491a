//! Layout of the table, with checks.

use super::{
    Descriptor, HELP_BYTES_MAX, NAME_BYTES_MAX, Origin, UNIT_BYTES_MAX, histogram::BUCKETS,
};
use crate::atomic::{AtomicU64, Ordering};
use std::ops::Range;

/// Words of the header.
mod place {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 1;
    pub const PID: usize = 2;
    pub const START_UNIX_NS: usize = 3;
    pub const NS_PER_TICK: usize = 4;
    pub const COUNTERS: usize = 5;
    pub const HISTOGRAMS: usize = 6;
    pub const DESCRIPTORS_AT: usize = 7;
    pub const DESCRIPTOR_WORDS: usize = 8;
    pub const VALUES_AT: usize = 9;
    pub const HISTOGRAMS_AT: usize = 10;
    pub const HISTOGRAM_WORDS: usize = 11;
    pub const WRITTEN_UNIX_NS: usize = 12;
    pub const END: usize = 13;
}

const MAGIC: u64 = u64::from_le_bytes(*b"TLcount1");
/// Incremented when an older reader would misread the table; not for additions.
const VERSION: u64 = 1;
/// Two lines: processors fetch them in pairs.
const ALIGNMENT_WORDS: usize = 16;

/// Limit of offsets and sizes, so that two of them can be added.
const SIZE_MAX: usize = u32::MAX as usize;

const NAME_WORDS: Range<usize> = 0..NAME_BYTES_MAX / 8;
const UNIT_WORDS: Range<usize> = NAME_WORDS.end..NAME_WORDS.end + UNIT_BYTES_MAX / 8;
const HELP_WORDS: Range<usize> = UNIT_WORDS.end..UNIT_WORDS.end + HELP_BYTES_MAX / 8;

/// Words of the longest table that is read: any process may have written one.
const WORDS_MAX: usize = 1 << 19;

/// Words of a table, as the head of its file states; `None` if it states no table, or an impossible one.
pub fn words_stated(head: &[AtomicU64]) -> Option<usize> {
    let (layout, _) = Layout::stated(head).ok()?;
    let end = layout.histograms.checked_mul(layout.histogram_words)?;
    let end = end.checked_add(layout.histograms_at)?;
    (end <= WORDS_MAX).then_some(end)
}

/// Words of memory for a table.
pub fn words_needed(counters: usize, histograms: usize) -> usize {
    Layout::new(counters, histograms).end()
}

/// Reason why memory is not a table of counters, or not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// Other data, or nothing yet.
    #[error("no counters in this file yet; check the path, and that its process has started")]
    Foreign,
    /// Written by a later program.
    #[error(
        "the counters have layout {found}, and this program reads up to {VERSION}; use a later one"
    )]
    Version {
        /// Layout in the header.
        found: u64,
    },
    /// An offset or size beyond the memory or its limit.
    #[error(
        "the counters are damaged: {what} cannot be {found}; start the process that writes them again"
    )]
    Size {
        /// Name of the field.
        what: &'static str,
        /// Value in the header.
        found: u64,
    },
    /// A name, unit or help that is empty or not printable.
    #[error(
        "the counters are damaged: the text of number {number} is not printable; start the process that writes them again"
    )]
    Text {
        /// Index in the table, histograms after counters.
        number: usize,
    },
}

/// Offsets and sizes, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub counters: usize,
    pub histograms: usize,
    pub descriptors_at: usize,
    pub descriptor_words: usize,
    pub values_at: usize,
    pub histograms_at: usize,
    pub histogram_words: usize,
}

impl Layout {
    /// Layout that this program writes.
    pub fn new(counters: usize, histograms: usize) -> Self {
        Self::with_sizes(counters, histograms, place::END, HELP_WORDS.end, BUCKETS)
    }

    /// Layout with other sizes, as a later program may write it.
    pub(super) fn with_sizes(
        counters: usize,
        histograms: usize,
        header_words: usize,
        descriptor_words: usize,
        histogram_words: usize,
    ) -> Self {
        let align = |words: usize| words.next_multiple_of(ALIGNMENT_WORDS);
        let descriptors_at = align(header_words);
        let values_at = align(descriptors_at + (counters + histograms) * descriptor_words);
        Self {
            counters,
            histograms,
            descriptors_at,
            descriptor_words,
            values_at,
            histograms_at: align(values_at + counters),
            histogram_words: align(histogram_words),
        }
    }

    /// Words from the start of the memory to the end of the last histogram.
    pub fn end(&self) -> usize {
        self.histograms_at + self.histograms * self.histogram_words
    }

    /// Writes the header without the magic.
    pub fn write(&self, words: &[AtomicU64], origin: &Origin) {
        let fields = [
            (place::VERSION, VERSION),
            (place::PID, u64::from(origin.pid)),
            (place::START_UNIX_NS, origin.start_unix_ns),
            (place::NS_PER_TICK, origin.ns_per_tick.to_bits()),
            (place::COUNTERS, self.counters as u64),
            (place::HISTOGRAMS, self.histograms as u64),
            (place::DESCRIPTORS_AT, self.descriptors_at as u64),
            (place::DESCRIPTOR_WORDS, self.descriptor_words as u64),
            (place::VALUES_AT, self.values_at as u64),
            (place::HISTOGRAMS_AT, self.histograms_at as u64),
            (place::HISTOGRAM_WORDS, self.histogram_words as u64),
        ];
        for (place, value) in fields {
            words[place].store(value, Ordering::Relaxed);
        }
    }

    /// Writes the time of the last update; 0 is unknown, as in tables of older programs.
    pub fn state_written(words: &[AtomicU64], unix_ns: u64) {
        words[place::WRITTEN_UNIX_NS].store(unix_ns, Ordering::Relaxed);
    }

    /// Time of the last update, if stated.
    pub fn written_unix_ns(&self, words: &[AtomicU64]) -> Option<u64> {
        // The header of an older program may be shorter.
        let stands = self.descriptors_at > place::WRITTEN_UNIX_NS;
        let written = words[place::WRITTEN_UNIX_NS].load(Ordering::Relaxed);
        (stands && written > 0).then_some(written)
    }

    /// Writes the magic: the table is complete.
    pub fn publish(words: &[AtomicU64]) {
        words[place::MAGIC].store(MAGIC, Ordering::Release);
    }

    /// Reads a header and checks that every offset is inside the memory.
    pub fn read(words: &[AtomicU64]) -> Result<(Self, Origin), Corrupt> {
        let (layout, origin) = Self::stated(words)?;
        layout.check_ends(words.len())?;
        Ok((layout, origin))
    }

    /// Reads a header, the first words of a table.
    fn stated(words: &[AtomicU64]) -> Result<(Self, Origin), Corrupt> {
        let complete =
            words.len() >= place::END && words[place::MAGIC].load(Ordering::Acquire) == MAGIC;
        if !complete {
            return Err(Corrupt::Foreign);
        }
        let field = |place: usize| words[place].load(Ordering::Relaxed);
        let found = field(place::VERSION);
        if found == 0 || found > VERSION {
            return Err(Corrupt::Version { found });
        }
        let size = |what: &'static str, place: usize, min: usize| {
            let found = field(place);
            match usize::try_from(found) {
                Ok(size) if (min..=SIZE_MAX).contains(&size) => Ok(size),
                _ => Err(Corrupt::Size { what, found }),
            }
        };
        let layout = Self {
            counters: size("counters", place::COUNTERS, 0)?,
            histograms: size("histograms", place::HISTOGRAMS, 0)?,
            descriptors_at: size("descriptors_at", place::DESCRIPTORS_AT, place::END)?,
            descriptor_words: size("descriptor_words", place::DESCRIPTOR_WORDS, HELP_WORDS.end)?,
            values_at: size("values_at", place::VALUES_AT, place::END)?,
            histograms_at: size("histograms_at", place::HISTOGRAMS_AT, place::END)?,
            histogram_words: size("histogram_words", place::HISTOGRAM_WORDS, BUCKETS)?,
        };
        Ok((layout, read_origin(field)?))
    }

    fn check_ends(&self, words: usize) -> Result<(), Corrupt> {
        let end = |at: usize, count: usize, each: usize| at.checked_add(count.checked_mul(each)?);
        let descriptors = self.counters + self.histograms; // each at most SIZE_MAX
        let ends = [
            (
                "descriptors_at",
                self.descriptors_at,
                descriptors,
                self.descriptor_words,
            ),
            ("values_at", self.values_at, self.counters, 1),
            (
                "histograms_at",
                self.histograms_at,
                self.histograms,
                self.histogram_words,
            ),
        ];
        for (what, at, count, each) in ends {
            if end(at, count, each).is_none_or(|end| end > words) {
                return Err(Corrupt::Size {
                    what,
                    found: at as u64,
                });
            }
        }
        Ok(())
    }

    /// Offset of a counter's value. Panics on a number beyond the table.
    #[inline]
    pub fn value(&self, counter: usize) -> usize {
        assert!(counter < self.counters, "there is no such counter");
        self.values_at + counter
    }

    /// Offset of a histogram's first bucket. Panics on a number beyond the table.
    #[inline]
    pub fn first_bucket(&self, histogram: usize) -> usize {
        assert!(histogram < self.histograms, "there is no such histogram");
        self.histograms_at + histogram * self.histogram_words
    }

    /// Offset of a descriptor, counters before histograms.
    pub fn descriptor(&self, number: usize) -> Range<usize> {
        let at = self.descriptors_at + number * self.descriptor_words;
        at..at + self.descriptor_words
    }
}

fn read_origin(field: impl Fn(usize) -> u64) -> Result<Origin, Corrupt> {
    let wrong = |what, place| Corrupt::Size {
        what,
        found: field(place),
    };
    let ns_per_tick = f64::from_bits(field(place::NS_PER_TICK));
    if !is_tick(ns_per_tick) {
        return Err(wrong("ns_per_tick", place::NS_PER_TICK));
    }
    Ok(Origin {
        pid: u32::try_from(field(place::PID)).map_err(|_| wrong("pid", place::PID))?,
        start_unix_ns: field(place::START_UNIX_NS),
        ns_per_tick,
    })
}

/// Whether a tick length is valid.
pub fn is_tick(ns_per_tick: f64) -> bool {
    ns_per_tick.is_finite() && ns_per_tick > 0.0
}

/// Writes texts word after word, eight bytes each, padded with zeros.
pub fn write_descriptor(words: &[AtomicU64], descriptor: &Descriptor) {
    write_text(&words[NAME_WORDS], descriptor.name);
    write_text(&words[UNIT_WORDS], descriptor.unit);
    write_text(&words[HELP_WORDS], descriptor.help);
}

/// Name, unit and help, if printable.
pub fn read_descriptor(words: &[AtomicU64]) -> Option<[String; 3]> {
    let name = read_text(&words[NAME_WORDS]).filter(|name| !name.is_empty())?;
    Some([
        name,
        read_text(&words[UNIT_WORDS])?,
        read_text(&words[HELP_WORDS])?,
    ])
}

/// Whether a text has no control characters, which could control a terminal.
pub fn is_printable(text: &[u8]) -> bool {
    text.iter().all(|byte| (b' '..=b'~').contains(byte))
}

fn write_text(words: &[AtomicU64], text: &str) {
    let mut chunks = text.as_bytes().chunks(8);
    for word in words {
        let mut bytes = [0; 8];
        let chunk = chunks.next().unwrap_or_default();
        bytes[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
}

fn read_text(words: &[AtomicU64]) -> Option<String> {
    let bytes = words
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
    let text: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    if !is_printable(&text) {
        return None;
    }
    String::from_utf8(text).ok()
}
