//! Prefetch of cache lines. A hint without an effect on results.

use crate::atomic::AtomicU64;

/// Prefetches the line of a word for reading. The index may be beyond the end.
#[inline(always)]
pub fn to_read(words: &[AtomicU64], index: usize) {
    let word = words.as_ptr().wrapping_add(index);
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: PREFETCHT0 is part of every x86-64 processor, accesses no memory in the sense of the
    // language and faults on no address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(word.cast());
    }
    let _ = word;
}

/// Prefetches the line of a word for writing: copies in other caches are invalidated. The index may be beyond the end.
#[inline(always)]
pub fn to_write(words: &[AtomicU64], index: usize) {
    let word = words.as_ptr().wrapping_add(index);
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: PREFETCHW reads and writes no memory in the sense of the language, changes no register
    // and no flag, uses no stack, and faults on no address.
    // Processors of before 2014 that lack it execute it as a no-op, as both vendors' manuals say of
    // 0F 0D in 64-bit mode.
    unsafe {
        std::arch::asm!(
            "prefetchw [{0}]",
            in(reg) word,
            options(nostack, preserves_flags, readonly)
        );
    }
    let _ = word;
}
