//! Tables that only this module can build: those of later programs, and damaged ones.

use super::layout::Layout;
use super::{BUCKETS, Corrupt, Descriptor, Origin, Reader, Writer, words_needed};
use crate::atomic::{AtomicU64, Ordering};
use crate::{Words, zeroed};
use std::sync::Arc;
use touchline_testing::random::{Random, seeds};

const ORIGIN: Origin = Origin {
    pid: 4711,
    start_unix_ns: 1_700_000_000_000_000_000,
    ns_per_tick: 0.25,
};
const COUNTERS: [Descriptor; 3] = [
    counter("packets", "packets", "Packets that came."),
    counter("gaps", "gaps", "Holes in the sequence."),
    counter("late", "packets", "Packets that came too late."),
];
const HISTOGRAMS: [Descriptor; 2] = [
    counter(
        "receive_to_publish",
        "ticks",
        "From receiving to publishing.",
    ),
    counter("batch", "messages", ""),
];

const fn counter(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
) -> Descriptor<'static> {
    Descriptor { name, unit, help }
}

/// A table with values.
fn filled(layout: Layout) -> Arc<[AtomicU64]> {
    let memory = zeroed(layout.end());
    let mut writer =
        Writer::create_with(memory.clone(), layout, &ORIGIN, &COUNTERS, &HISTOGRAMS).unwrap();
    writer.add(0, 10);
    writer.set(2, 12);
    for value in [5, 1_000, 70_000] {
        writer.record(0, value);
    }
    writer.record(1, u64::MAX);
    memory
}

fn check(reader: &Reader<Arc<[AtomicU64]>>) {
    assert_eq!(reader.origin(), ORIGIN);
    let counters: Vec<_> = reader
        .counters()
        .iter()
        .map(|d| d.as_descriptor())
        .collect();
    let histograms: Vec<_> = reader
        .histograms()
        .iter()
        .map(|d| d.as_descriptor())
        .collect();
    assert_eq!(
        (&counters[..], &histograms[..]),
        (&COUNTERS[..], &HISTOGRAMS[..])
    );
    let values: Vec<_> = reader.values().map(|(_, value)| value).collect();
    assert_eq!(values, [10, 0, 12]);
    let view = reader.histogram(0);
    assert_eq!(
        (view.count(), view.min(), view.value_at_quantile(0.0)),
        (3, Some(5), Some(5))
    );
    assert_eq!(reader.histogram(1).max(), Some(u64::MAX));
}

#[test]
fn a_reader_skips_unknown_parts_of_a_later_tables_layout() {
    check(&Reader::attach(filled(Layout::new(3, 2))).unwrap());
    // A longer header, longer descriptors, and data behind the buckets.
    let later = Layout::with_sizes(3, 2, 100, 50, BUCKETS + 40);
    let memory = filled(later);
    memory[50].store(u64::MAX, Ordering::Relaxed);
    memory[later.descriptor(1).end - 1].store(u64::MAX, Ordering::Relaxed);
    memory[later.first_bucket(1) - 1].store(u64::MAX, Ordering::Relaxed);
    check(&Reader::attach(memory).unwrap());
}

#[test]
fn an_incompatible_layout_is_refused() {
    let memory = filled(Layout::new(3, 2));
    memory[1].store(2, Ordering::Relaxed);
    let error = Reader::attach(memory).unwrap_err();
    assert_eq!(error, Corrupt::Version { found: 2 });
    assert_eq!(Reader::attach(zeroed(1000)).unwrap_err(), Corrupt::Foreign);
    assert_eq!(Reader::attach(zeroed(0)).unwrap_err(), Corrupt::Foreign);
}

#[test]
fn a_truncated_table_is_not_read_beyond_its_end() {
    let memory = filled(Layout::new(3, 2));
    assert_eq!(memory.len(), words_needed(3, 2));
    for words in 0..memory.len() {
        let cut: Arc<[AtomicU64]> = memory[..words].iter().map(copy).collect();
        assert!(Reader::attach(cut).is_err(), "{words} words");
    }
}

fn copy(word: &AtomicU64) -> AtomicU64 {
    AtomicU64::new(word.load(Ordering::Relaxed))
}

/// Flips bits, most of them in header and descriptors, and reads everything.
#[test]
fn damaged_memory_is_refused_or_read_without_a_panic() {
    for seed in seeds(1) {
        println!("SEED={seed}");
        let mut damage = Damage::new(seed);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..100_000 {
            let places = damage.flip();
            match Reader::attach(damage.memory.clone()) {
                Ok(reader) => {
                    read += 1;
                    read_all(&reader);
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().contains('\n'));
                }
            }
            damage.mend(&places);
        }
        println!("{read} tables were read, {refused} refused");
        assert!(read > 0 && refused > 0, "both must have been tried");
        check(&Reader::attach(damage.memory).unwrap());
    }
}

struct Damage {
    random: Random,
    layout: Layout,
    sound: Arc<[AtomicU64]>,
    memory: Arc<[AtomicU64]>,
}

impl Damage {
    fn new(seed: u64) -> Self {
        let layout = Layout::new(3, 2);
        let sound = filled(layout);
        Self {
            random: Random::from_seed(seed),
            layout,
            memory: sound.iter().map(copy).collect(),
            sound,
        }
    }

    /// One to three bits.
    fn flip(&mut self) -> Vec<usize> {
        let flips = 1 + self.random.next_u64() % 3;
        let places: Vec<usize> = (0..flips)
            .map(|_| target(&mut self.random, self.layout))
            .collect();
        for &place in &places {
            let bit = 1 << (self.random.next_u64() % 64);
            self.memory[place].store(
                self.memory[place].load(Ordering::Relaxed) ^ bit,
                Ordering::Relaxed,
            );
        }
        places
    }

    fn mend(&self, places: &[usize]) {
        for &place in places {
            self.memory[place].store(self.sound[place].load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// Mostly in the header, on which everything depends.
fn target(random: &mut Random, layout: Layout) -> usize {
    let bound = match random.next_u64() % 4 {
        0 | 1 => layout.descriptors_at,
        2 => layout.values_at,
        _ => layout.end(),
    };
    (random.next_u64() % bound as u64) as usize
}

fn read_all(reader: &Reader<Arc<[AtomicU64]>>) {
    let texts = reader.counters().iter().chain(reader.histograms());
    for description in texts {
        let Descriptor { name, unit, help } = description.as_descriptor();
        assert!(
            [name, unit, help]
                .iter()
                .all(|text| !text.contains(|c: char| c.is_control()))
        );
    }
    std::hint::black_box(
        reader
            .values()
            .map(|(_, value)| value)
            .fold(0, u64::wrapping_add),
    );
    for histogram in 0..reader.histograms().len() {
        let view = reader.histogram(histogram);
        std::hint::black_box((view.mean(), view.value_at_quantile(0.99), view.max()));
    }
    assert_eq!(reader.memory().words().len(), words_needed(3, 2));
}
