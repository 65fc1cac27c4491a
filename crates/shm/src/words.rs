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

impl<M: Words + ?Sized> Words for &M {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        M::words(self)
    }
}

impl Words for [AtomicU64] {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        self
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

/// Stores values into words, as many as there are of both, from the last to the first: one, four, and eight a step, because the
/// compiler does not unroll loops over atomics. Not with `zip`, which it inlines with LTO only.
#[inline(always)]
pub fn store_backwards<T: Copy>(words: &[AtomicU64], values: &[T], word: impl Fn(T) -> u64) {
    let count = words.len().min(values.len());
    let (words8, words) = words[..count].as_chunks::<8>();
    let (values8, values) = values[..count].as_chunks::<8>();
    let (words4, words1) = words.as_chunks::<4>();
    let (values4, values1) = values.as_chunks::<4>();
    let store = |place: &AtomicU64, value: T| place.store(word(value), Ordering::Relaxed);
    for index in (0..words1.len()).rev() {
        store(&words1[index], values1[index]);
    }
    for step in (0..words4.len()).rev() {
        for index in (0..4).rev() {
            store(&words4[step][index], values4[step][index]);
        }
    }
    for step in (0..words8.len()).rev() {
        for index in (0..8).rev() {
            store(&words8[step][index], values8[step][index]);
        }
    }
}

/// Loads as many words as there is room for, eight, four, and one a step.
#[inline(always)]
pub fn load(words: &[AtomicU64], room: &mut [u64]) {
    let count = words.len().min(room.len());
    let (words8, words) = words[..count].as_chunks::<8>();
    let (room8, room) = room[..count].as_chunks_mut::<8>();
    let (words4, words1) = words.as_chunks::<4>();
    let (room4, room1) = room.as_chunks_mut::<4>();
    for step in 0..words8.len() {
        for index in 0..8 {
            room8[step][index] = words8[step][index].load(Ordering::Relaxed);
        }
    }
    for step in 0..words4.len() {
        for index in 0..4 {
            room4[step][index] = words4[step][index].load(Ordering::Relaxed);
        }
    }
    for index in 0..words1.len() {
        room1[index] = words1[index].load(Ordering::Relaxed);
    }
}
