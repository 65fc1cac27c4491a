//! Asking for a cache line before it is needed. A hint: nothing depends on it.

use crate::atomic::AtomicU64;

/// Asks for the line of `word` to read it.
#[inline(always)]
pub fn to_read(word: &AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: PREFETCHT0 is part of every x86-64 processor, accesses no memory in the sense of the
    // language and faults on no address; this one is of a live reference anyway.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast());
    }
    let _ = word;
}
