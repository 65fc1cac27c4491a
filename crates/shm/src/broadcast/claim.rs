//! Claim of room in the ring for one message.

use super::head::{Flags, frame_bytes};
use super::writer::Writer;
use crate::Words;
use crate::atomic::{AtomicU64, Ordering};

/// Room for one message, not yet visible to readers. A claim dropped without a commit has no
/// effect.
#[must_use = "a claim that is not committed is not published"]
#[derive(Debug)]
pub struct Claim<'a, M: Words> {
    pub(super) writer: &'a mut Writer<M>,
    /// Index of its header in the data.
    pub(super) index: usize,
    pub(super) length: usize,
}

impl<M: Words> Claim<'_, M> {
    /// Bytes of the message.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Position after the message once it is committed. Another claim of the same length has the
    /// same one.
    #[inline]
    pub fn end(&self) -> u64 {
        let begin = self.writer.next().position;
        begin.wrapping_add(frame_bytes(self.length as u64))
    }

    /// The payload in place: store with relaxed ordering, the commit orders it.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        let begin = self.index + 1;
        &self.writer.data()[begin..begin + self.length.div_ceil(8)]
    }

    /// Writes the message from its start; bytes beyond its length are ignored.
    #[inline(always)]
    pub fn write(&mut self, bytes: &[u8]) {
        let words = self.words();
        let (whole, rest) = bytes.as_chunks::<8>();
        let whole = &whole[..whole.len().min(words.len())];
        // Four words per step, because the compiler does not unroll loops over atomics.
        let (steps, short_step) = whole.as_chunks::<4>();
        let (places, _) = words.as_chunks::<4>();
        for (place, step) in places.iter().zip(steps) {
            for (word, chunk) in place.iter().zip(step) {
                word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
            }
        }
        for (word, chunk) in words[4 * steps.len()..].iter().zip(short_step) {
            word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
        }
        if let (Some(word), false) = (words.get(whole.len()), rest.is_empty()) {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            word.store(u64::from_ne_bytes(last), Ordering::Relaxed);
        }
    }

    /// Writes the message from its start as words in the host's byte order; words beyond its length
    /// are ignored.
    #[inline(always)]
    pub fn write_words(&mut self, message: &[u64]) {
        for (word, value) in self.words().iter().zip(message) {
            word.store(*value, Ordering::Relaxed);
        }
    }

    /// Makes the message visible and returns the position after it.
    #[inline(always)]
    pub fn commit(self, flags: Flags) -> u64 {
        let Claim { writer, length, .. } = self;
        writer.commit(length, flags)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::broadcast::Geometry;
    use crate::words::zeroed;

    /// Shorter, equal and longer input: each word is that of the bytes, and bytes beyond the length are ignored.
    #[test]
    fn messages_of_every_length_are_written() {
        let geometry = Geometry::new(1024).expect("a power of two");
        let mut writer = Writer::create(zeroed(geometry.words()), geometry).expect("room");
        let bytes: Vec<u8> = (1..=100).collect();
        for length in 0..100_usize {
            for count in 0..100 {
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
