//! Memory shared by threads or processes, as atomic words.

use crate::atomic::AtomicU64;
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
