//! Atomics used by the algorithms: the standard ones, or loom's.

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
};

#[cfg(not(any(loom, test)))]
pub use core::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
};

#[cfg(all(test, not(loom)))]
pub use {
    crate::crash_injection::{AtomicU64, Ordering},
    core::{hint::spin_loop, sync::atomic::fence},
};
