//! Memory that several threads or processes share, seen as atomic words.

use crate::atomic::AtomicU64;
use std::sync::Arc;

/// Shared memory as a slice of 64-bit words.
///
/// Every access goes through an atomic, so a race is a value that a protocol must expect, never
/// undefined behaviour. The same protocol runs over a mapped file, over plain memory, and under a
/// model checker.
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
