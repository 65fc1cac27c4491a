//! Prefetch and eviction of cache lines. Hints without an effect on results.

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

/// Evicts the line of a word from all caches, without waiting. For processors that have it ([`has_eviction`]); the index may not
/// be beyond the end.
#[inline(always)]
pub fn evict(words: &[AtomicU64], index: usize) {
    let word = &raw const words[index];
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: CLFLUSHOPT keeps the line's content, which is coherent memory of this process, changes no register and no flag,
    // and uses no stack. Only processors that have it get here.
    unsafe {
        std::arch::asm!(
            "clflushopt [{0}]",
            in(reg) word,
            options(nostack, preserves_flags)
        );
    }
    let _ = word;
}

/// Whether a writer gains from [`evict`]: on AMD's processors a line that a reader of another cache complex has read takes
/// three times as long to be owned again as a line in no cache.
pub fn evicts() -> bool {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    {
        use core::arch::x86_64::__cpuid;
        let vendor = __cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        name.as_flattened() == b"AuthenticAMD" && has_eviction()
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    false
}

/// Whether this processor has [`evict`].
#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
pub fn has_eviction() -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    const CLFLUSHOPT: u32 = 1 << 23;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx & CLFLUSHOPT != 0
}
