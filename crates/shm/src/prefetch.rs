//! Prefetch of cache lines. A hint without an effect on results.

use crate::atomic::AtomicU64;

/// Prefetches the line of `word` for reading.
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

/// Prefetches the line of `word` for writing: copies in other caches are invalidated.
#[inline(always)]
pub fn to_write(word: &AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: PREFETCHW reads and writes no memory in the sense of the language, changes no register
    // and no flag, uses no stack, and faults on no address; this one is of a live reference anyway.
    // Processors of before 2014 that lack it execute it as a no-op, as both vendors' manuals say of
    // 0F 0D in 64-bit mode.
    unsafe {
        std::arch::asm!(
            "prefetchw [{0}]",
            in(reg) std::ptr::from_ref(word),
            options(nostack, preserves_flags, readonly)
        );
    }
    let _ = word;
}
