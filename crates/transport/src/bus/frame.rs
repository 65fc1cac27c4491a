//! Writes a message in place, piece by piece.

use std::sync::atomic::{AtomicU64, Ordering};
use touchline_shm::store_backwards;
use zerocopy::{Immutable, IntoBytes};

/// A message being written in place, from pieces of any length.
///
/// Shared memory is written in whole words. A partly filled word is kept here until the next pieces fill it, or
/// [`finish`](Frame::finish) ends the message: each word is stored once, and none is read back.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Unwritten words.
    words: &'a [AtomicU64],
    /// First bytes of the next word, in memory order; the others are 0.
    part: u64,
    /// Number of its bits.
    bits: u32,
}

impl<'a> Frame<'a> {
    /// Starts a message in these words.
    #[inline(always)]
    pub(super) fn new(words: &'a [AtomicU64]) -> Frame<'a> {
        Frame {
            words,
            part: 0,
            bits: 0,
        }
    }

    /// Appends a piece.
    ///
    /// # Panics
    /// There is no room: the claimed length differs from the message's.
    #[inline(always)]
    pub fn put<T: IntoBytes + Immutable + ?Sized>(&mut self, piece: &T) {
        let (whole, rest) = piece.as_bytes().as_chunks::<8>();
        let (to, behind) = self.words.split_at(whole.len());
        self.words = behind;
        match self.bits {
            0 => store_backwards(to, whole, u64::from_ne_bytes),
            bits => {
                for (word, chunk) in to.iter().zip(whole) {
                    let value = u64::from_le_bytes(*chunk);
                    word.store((self.part | value << bits).to_le(), Ordering::Relaxed);
                    self.part = value >> (64 - bits);
                }
            }
        }
        if !rest.is_empty() {
            self.put_rest(rest);
        }
    }

    /// Appends less than a word.
    #[inline(always)]
    fn put_rest(&mut self, rest: &[u8]) {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let value = u64::from_le_bytes(last);
        let bits = self.bits + rest.len() as u32 * 8;
        self.part |= value << self.bits;
        if bits < 64 {
            self.bits = bits;
            return;
        }
        self.store_part();
        // The whole piece is in the stored word if it filled that exactly.
        self.part = match bits - 64 {
            0 => 0,
            behind => value >> (rest.len() as u32 * 8 - behind),
        };
        self.bits = bits - 64;
    }

    /// Ends the message: pads its last word with zeros.
    #[inline(always)]
    pub fn finish(&mut self) {
        if self.bits > 0 {
            self.store_part();
            (self.part, self.bits) = (0, 0);
        }
    }

    #[inline(always)]
    fn store_part(&mut self) {
        let (word, behind) = self
            .words
            .split_first()
            .expect("the claimed length is that of the message");
        word.store(self.part.to_le(), Ordering::Relaxed);
        self.words = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of any length yield the words of their bytes.
    #[test]
    fn parts_of_any_length_yield_the_words_of_their_bytes() {
        for seed in touchline_lab::random::seeds(200) {
            let mut random = touchline_lab::random::Random::from_seed(seed);
            let pieces: Vec<Vec<u8>> = (0..random.below(9))
                .map(|_| {
                    let length = random.below(30);
                    (0..length).map(|_| random.below(256) as u8).collect()
                })
                .collect();
            let bytes = pieces.concat();
            let words: Vec<AtomicU64> = (0..bytes.len().div_ceil(8))
                .map(|_| AtomicU64::new(u64::MAX))
                .collect();
            let mut frame = Frame::new(&words);
            pieces.iter().for_each(|piece| frame.put(&piece[..]));
            frame.finish();
            let words: Vec<u64> = words.into_iter().map(AtomicU64::into_inner).collect();
            let (written, padding) = words.as_bytes().split_at(bytes.len());
            assert_eq!(written, bytes, "SEED={seed}");
            assert!(padding.iter().all(|byte| *byte == 0), "SEED={seed}");
        }
    }
}
