//! Claim of room in the ring for one message.

use super::geometry::WORD;
use super::head::{BATCH_END, Flags, Head, Kind, frame_bytes};
use super::join_point::JoinPoint;
use crate::atomic::{AtomicU64, Ordering};
use crate::prefetch;
use crate::words::store_backwards;

/// Words of a cache line.
const LINE: usize = 8;
/// Distance of the prefetch for writing, words: some two hundred nanoseconds of a stream at full speed, the time to
/// take a line from a distant processor.
const AHEAD: usize = 32 * LINE;
/// Distance of the eviction, words: farther, and readers' own prefetch brings lines back.
const EVICT_AHEAD: usize = 64 * LINE;
/// Messages of a batch from which on it is a stream, whose rate the transfer of lines limits.
const STREAM: u32 = 32;

/// Batches between two looks at the clock.
const LOOK: u32 = 16;
/// Limit of the time between two looks below which the batches are a stream, ticks of the processor's clock: some 70 ns a batch
/// at 3 GHz. Messages and their answers within a cache complex follow each other every 100 ns, and are slower with lines prefetched
/// behind each.
const DENSE: u64 = LOOK as u64 * 200;

/// Length of the present batch and rate of the batches, as far as they decide how the next lines are made ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Messages of the present batch.
    messages: u32,
    /// Batches so far, modulo 2^32.
    batches: u32,
    /// Whether the batches are a stream, each with few messages.
    is_dense: bool,
    /// Time of the last look at the clock.
    looked: u64,
    /// Messages from which on lines are evicted; never on processors that do not gain from it.
    evict_from: u32,
}

impl Pace {
    /// Pace for a ring with this number of words; a small ring is in the caches as a whole.
    pub(super) fn new(words: usize) -> Pace {
        let gains = prefetch::evicts() && words >= 16 * EVICT_AHEAD;
        Pace {
            messages: 0,
            batches: 0,
            is_dense: false,
            looked: 0,
            evict_from: if gains { STREAM } else { u32::MAX },
        }
    }

    /// Ends a batch. Returns whether the writer prefetches the next lines all the same.
    #[inline(always)]
    fn end_batch(&mut self) -> bool {
        self.messages = 0;
        self.batches = self.batches.wrapping_add(1);
        if self.batches.is_multiple_of(LOOK) {
            self.look(prefetch::ticks());
        }
        self.is_dense
    }

    #[inline(never)]
    fn look(&mut self, now: u64) {
        // Without a clock no time passes.
        self.is_dense = (1..DENSE).contains(&now.saturating_sub(self.looked));
        self.looked = now;
    }
}

/// Room for one message, not yet visible to readers. A claim dropped without a commit has no
/// effect.
#[must_use = "a claim that is not committed is not published"]
#[derive(Debug)]
pub struct Claim<'a> {
    /// All data of the ring: a power of two of words.
    data: &'a [AtomicU64],
    /// Next join point of the [`Writer`](super::Writer), which the commit moves. `at` is its value: the compiler would load it again
    /// after each atomic store.
    next: &'a mut JoinPoint,
    at: JoinPoint,
    pace: &'a mut Pace,
    length: usize,
}

impl<'a> Claim<'a> {
    /// The next frame, with a payload of `length` bytes. There is room for it.
    #[inline(always)]
    pub(super) fn new(
        data: &'a [AtomicU64],
        next: &'a mut JoinPoint,
        pace: &'a mut Pace,
        length: usize,
    ) -> Claim<'a> {
        debug_assert!(
            data.len().is_power_of_two(),
            "positions are masked with the size of the data"
        );
        let at = *next;
        Claim {
            data,
            next,
            at,
            pace,
            length,
        }
    }

    /// Bytes of the message.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the claim has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Position after the message once it is committed. Another claim of the same length has the
    /// same one.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        (self.at.position).wrapping_add(frame_bytes(self.length as u64))
    }

    /// The payload in place: store with relaxed ordering, the commit orders it.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        let begin = self.index(self.at.position) + 1;
        &self.data[begin..begin + self.length.div_ceil(8)]
    }

    /// Writes the message from its start; bytes beyond its length are ignored.
    ///
    /// The first words are written last: a waiting reader polls their line, and takes it back from a writer that stores
    /// there before it owns the other lines.
    #[inline(always)]
    pub fn write(&mut self, bytes: &[u8]) {
        let words = self.words();
        let (whole, rest) = bytes.as_chunks::<8>();
        if let (Some(word), false) = (words.get(whole.len()), rest.is_empty()) {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            word.store(u64::from_ne_bytes(last), Ordering::Relaxed);
        }
        store_backwards(words, whole, u64::from_ne_bytes);
    }

    /// [`Self::write`] with words in the host's byte order; words beyond the length are ignored.
    #[inline(always)]
    pub fn write_words(&mut self, message: &[u64]) {
        store_backwards(self.words(), message, |word| word);
    }

    /// Makes the message visible and returns the position after it.
    #[inline(always)]
    pub fn commit(self, flags: Flags) -> u64 {
        let sequence = self.at.sequence.wrapping_add(1);
        self.commit_frame(Kind::Message, flags, sequence)
    }

    /// Commits a frame that is not counted in the sequence.
    pub(super) fn commit_control(self, kind: Kind) {
        let sequence = self.at.sequence;
        self.commit_frame(kind, Flags::default(), sequence);
    }

    /// Zeroes the head behind the frame: no frame follows it yet.
    #[inline(always)]
    pub(super) fn zero_next_head(&self) {
        // mutant: ring: the next head is not zeroed
        self.data[self.index(self.end())].store(0, Ordering::Relaxed);
    }

    /// Commits a frame: stores its header.
    #[inline(always)]
    fn commit_frame(self, kind: Kind, flags: Flags, sequence_next: u64) -> u64 {
        let begin = self.index(self.at.position);
        let head = Head {
            kind,
            flags,
            length: self.length as u64,
            sequence: self.at.sequence as u32,
        };
        // SYNC POINT: payload and the zero behind it are visible to a reader of the header.
        // mutant: ring ordering: the header may be visible before the payload
        self.data[begin].store(head.word(), Ordering::Release);
        if flags.0 & BATCH_END.0 == 0 {
            self.pace.messages = self.pace.messages.saturating_add(1);
            match self.pace.messages > self.pace.evict_from {
                false => prefetch_for_write(self.data, begin, self.length),
                true => evict_for_write(self.data, begin, self.length),
            }
        } else if self.pace.end_batch() {
            prefetch_for_write(self.data, begin, self.length);
        }
        let position = self.end();
        *self.next = JoinPoint {
            position,
            sequence: sequence_next,
        };
        position
    }

    #[inline(always)]
    fn index(&self, position: u64) -> usize {
        (position / WORD) as usize & (self.data.len() - 1)
    }
}

/// Prefetches lines for writing. Readers have copies of the next lines from a lap ago, and stores retire in order,
/// so in a stream the invalidations must start long before the stores. A message that ends its batch is followed by
/// a pause, unless the batches are dense: a prefetch would only delay the message itself.
#[inline(always)]
fn prefetch_for_write(data: &[AtomicU64], begin: usize, length: usize) {
    let ahead = begin + AHEAD;
    prefetch::to_write(data, ahead & (data.len() - 1));
    prefetch::to_write(data, (ahead + LINE) & (data.len() - 1));
    if length.div_ceil(8) >= 2 * LINE {
        prefetch_more_for_write(data, ahead + 2 * LINE, length.div_ceil(8) + 1 - 2 * LINE);
    }
}

/// Evicts the lines that begin in the place of a message of this length, that far ahead.
#[inline(always)]
fn evict_for_write(data: &[AtomicU64], begin: usize, length: usize) {
    let ahead = begin + EVICT_AHEAD;
    let mut line = ahead.next_multiple_of(LINE);
    while line < ahead + 1 + length.div_ceil(8) {
        prefetch::evict(data, line & (data.len() - 1));
        line += LINE;
    }
}

#[inline(never)]
fn prefetch_more_for_write(data: &[AtomicU64], ahead: usize, words: usize) {
    for offset in (0..words).step_by(LINE) {
        prefetch::to_write(data, (ahead + offset) & (data.len() - 1));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::broadcast::{Geometry, Reader, Writer};
    use crate::words::zeroed;

    /// A stream whose cache lines are evicted ahead is read back unchanged, over many laps of the smallest and a larger ring.
    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn eviction_changes_no_message() {
        if !prefetch::has_eviction() {
            touchline_testing::skip("this processor has no CLFLUSHOPT");
            return;
        }
        for capacity in [64, 4096, 65_536] {
            let geometry = Geometry::new(capacity).expect("a power of two");
            let memory = zeroed(geometry.words());
            let mut writer = Writer::create(memory.clone(), geometry).expect("room");
            writer.pace.evict_from = STREAM;
            let mut reader = Reader::attach(memory).expect("a ring");
            for number in 0..20_000_u64 {
                let length = number as usize % (geometry.message_max() + 1);
                let message: Vec<u8> = (0..length).map(|at| (number as usize + at) as u8).collect();
                let ends = number % 1_000 == 999;
                let flags = if ends { BATCH_END } else { Flags::default() };
                writer.publish(&message, flags).expect("it fits");
                assert_eq!(writer.pace.messages == 0, ends, "a batch ends");
                let read = reader.read(|frame| {
                    let bytes = (0..frame.len()).map(|at| frame.word(at / 8).to_ne_bytes()[at % 8]);
                    bytes.collect::<Vec<u8>>()
                });
                assert_eq!(read, Ok(Some(message)), "{capacity} {number}");
            }
        }
    }

    #[test]
    fn a_ring_that_fits_the_caches_is_not_evicted() {
        let [small, large] = [16 * EVICT_AHEAD - 1, 16 * EVICT_AHEAD].map(Pace::new);
        assert_eq!(small.evict_from, u32::MAX);
        assert_eq!(large.evict_from == STREAM, prefetch::evicts());
    }

    /// Batches of one message that follow each other closely prefetch as a batch does, and stop to do so behind a pause.
    #[test]
    fn dense_batches_prefetch_as_a_stream_does() {
        let geometry = Geometry::new(4096).expect("a power of two");
        let mut writer = Writer::create(zeroed(geometry.words()), geometry).expect("room");
        let lines = |writer: &mut Writer<_>, flags, length: usize| {
            let before = prefetch::FETCHED_TO_WRITE.get();
            writer.publish(&vec![0; length], flags).expect("it fits");
            prefetch::FETCHED_TO_WRITE.get() - before
        };
        for length in [8, 70, 300] {
            let within = lines(&mut writer, Flags::default(), length);
            assert!(within > length as u64 / 64, "{length}");
            for (between, expected) in [(DENSE, 0), (DENSE - 1, within), (DENSE, 0)] {
                let now = writer.pace.looked + between;
                writer.pace.look(now);
                writer.pace.batches = 0;
                assert_eq!(lines(&mut writer, BATCH_END, length), expected, "{length}");
            }
        }
    }

    /// Shorter, equal and longer input: each word is that of the bytes, and bytes beyond the length are ignored.
    #[test]
    fn messages_of_every_length_are_written() {
        let geometry = Geometry::new(4096).expect("a power of two");
        let mut writer = Writer::create(zeroed(geometry.words()), geometry).expect("room");
        let bytes: Vec<u8> = (1..=200).collect();
        for length in 0..200_usize {
            for count in 0..200 {
                let mut claim = writer.claim(length).expect("it fits");
                let there = length.div_ceil(8);
                (claim.words().iter()).for_each(|word| word.store(0, Ordering::Relaxed));
                claim.write(&bytes[..count]);
                let mut expected = bytes[..count].to_vec();
                expected.resize(8 * there.max(count.div_ceil(8)), 0);
                let written = claim.words().iter();
                let written = written.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
                assert!(
                    written.eq(expected[..8 * there].iter().copied()),
                    "{length} {count}"
                );
            }
        }
    }
}
