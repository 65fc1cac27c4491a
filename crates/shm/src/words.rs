//! Memory shared by threads or processes, as atomic words.

use crate::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Shared memory as a slice of 64-bit words.
///
/// Every access is atomic, so a race yields a value that a protocol must handle, never undefined
/// behaviour. The same protocol runs over a mapped file, over plain memory, and under a model
/// checker.
pub trait Words {
    /// The memory. Always the same slice.
    fn words(&self) -> &[AtomicU64];
}

impl<M: Words> Words for &M {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        M::words(self)
    }
}

impl Words for Arc<[AtomicU64]> {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

/// Zeroed memory of this process.
pub fn zeroed(count: usize) -> Arc<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

/// Stores as many values as there are words, from the last to the first: eight, four, and one a step, because the
/// compiler does not unroll loops over atomics.
#[inline(always)]
pub fn store_backwards<T: Copy>(words: &[AtomicU64], values: &[T], word: impl Fn(T) -> u64) {
    let count = words.len().min(values.len());
    let (places8, places) = words[..count].as_chunks::<8>();
    let (places4, places1) = places.as_chunks::<4>();
    let (values8, values) = values[..count].as_chunks::<8>();
    let (values4, values1) = values.as_chunks::<4>();
    let store = |places: &[AtomicU64], values: &[T]| {
        for (place, value) in places.iter().zip(values).rev() {
            place.store(word(*value), Ordering::Relaxed);
        }
    };
    store(places1, values1);
    (places4.iter().zip(values4).rev()).for_each(|(places, values)| store(places, values));
    (places8.iter().zip(values8).rev()).for_each(|(places, values)| store(places, values));
}

/// Loads as many words as there is room for.
#[inline(always)]
pub fn load(words: &[AtomicU64], room: &mut [u64]) {
    let count = words.len().min(room.len());
    let (words8, words) = words[..count].as_chunks::<8>();
    let (words4, words1) = words.as_chunks::<4>();
    let (room8, room) = room[..count].as_chunks_mut::<8>();
    let (room4, room1) = room.as_chunks_mut::<4>();
    let load = |words: &[AtomicU64], room: &mut [u64]| {
        for (word, to) in words.iter().zip(room) {
            *to = word.load(Ordering::Relaxed);
        }
    };
    (words8.iter().zip(room8)).for_each(|(words, room)| load(words, room));
    (words4.iter().zip(room4)).for_each(|(words, room)| load(words, room));
    load(words1, room1);
}
