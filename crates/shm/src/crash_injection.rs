//! Crash injection: atomics of a thread whose stores have no effect after a given number.
//!
//! The unit tests of this crate are compiled with these in place of the real ones, so that a writer can be killed
//! between any two of its stores. Orderings are unchanged.

use core::sync::atomic;
use std::cell::Cell;
use std::ops::Deref;

pub use atomic::Ordering;

thread_local! {
    static STORES_LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static STORES_LOST: Cell<u64> = const { Cell::new(0) };
}

/// Starts a life in which this number of stores of this thread take effect.
pub fn live_for(stores: u64) {
    STORES_LEFT.set(stores);
    STORES_LOST.set(0);
}

/// Starts a life without a limit.
pub fn live() {
    live_for(u64::MAX);
}

/// Whether all stores of this life have taken effect so far.
pub fn lives() -> bool {
    STORES_LOST.get() == 0
}

/// Atomic whose stores have no effect after the crash.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicU64(atomic::AtomicU64);

impl AtomicU64 {
    /// A new atomic.
    pub const fn new(value: u64) -> Self {
        Self(atomic::AtomicU64::new(value))
    }

    /// Stores, unless this thread has crashed.
    pub fn store(&self, value: u64, ordering: Ordering) {
        let left = STORES_LEFT.get();
        if left == 0 {
            return STORES_LOST.set(STORES_LOST.get() + 1);
        }
        STORES_LEFT.set(left - 1);
        self.0.store(value, ordering);
    }
}

impl Deref for AtomicU64 {
    type Target = atomic::AtomicU64;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
