//! Crash injection: atomics of a thread whose stores have no effect after a given number.
//!
//! The unit tests of this crate are compiled with these instead of the real ones, so that a writer can
//! be made to die between any two of its stores. Orderings are left alone.

use core::sync::atomic;
use std::cell::Cell;
use std::ops::Deref;

pub use atomic::Ordering;

thread_local! {
    static STORES_LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static STORES_LOST: Cell<u64> = const { Cell::new(0) };
}

/// Restart: this number of stores of this thread will take effect.
pub fn live_for(stores: u64) {
    STORES_LEFT.set(stores);
    STORES_LOST.set(0);
}

/// Another life, without an end.
pub fn live() {
    live_for(u64::MAX);
}

/// Whether every store of this life was seen so far.
pub fn lives() -> bool {
    STORES_LOST.get() == 0
}

/// As the real one, except that storing is an act of the living.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicU64(atomic::AtomicU64);

impl AtomicU64 {
    /// As the real one's.
    pub const fn new(value: u64) -> Self {
        Self(atomic::AtomicU64::new(value))
    }

    /// Stores, if this thread still lives.
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
