//! Prefetch and eviction of cache lines. Hints without an effect on results.

use crate::atomic::AtomicU64;

#[cfg(test)]
thread_local! {
    /// Lines that this thread has prefetched for writing: tests see no other effect.
    pub static FETCHED_TO_WRITE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

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
    #[cfg(test)]
    FETCHED_TO_WRITE.set(FETCHED_TO_WRITE.get() + 1);
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

/// The processor's clock; 0 where it has none of constant rate that a program reads within nanoseconds.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: RDTSC reads a register that every x86-64 processor has; it touches no memory.
    let now = unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    let now = 0;
    now
}

/// Whether a writer gains from [`evict`]: on AMD's processors from Zen to Zen 4 a line that a reader of another cache complex
/// has read takes three times as long to be owned again as a line in no cache. On Zen 5 a prefetch is faster at every
/// distance of the reader.
pub fn evicts() -> bool {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    {
        use core::arch::x86_64::__cpuid;
        let vendor = __cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        gains_from_eviction(name.as_flattened(), __cpuid(1).eax) && has_eviction()
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    false
}

/// [`evicts`], by the vendor's name and the signature of the processor (CPUID leaf 1, EAX: family in bits 8 to 11 and 20 to 27).
#[cfg(any(test, all(target_arch = "x86_64", not(any(miri, loom)))))]
fn gains_from_eviction(vendor: &[u8], signature: u32) -> bool {
    let family = (signature >> 8 & 0xF) + (signature >> 20 & 0xFF);
    vendor == b"AuthenticAMD" && (0x17..0x1A).contains(&family)
}

/// Whether this processor has [`evict`].
#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
pub fn has_eviction() -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    const CLFLUSHOPT: u32 = 1 << 23;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx & CLFLUSHOPT != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signatures of an EPYC 9754 (Zen 4), an EPYC 7763 (Zen 3), an EPYC 9755 (Zen 5) and a Xeon 8481C.
    #[test]
    fn only_processors_that_were_seen_to_gain_are_to_evict() {
        let (amd, intel) = (b"AuthenticAMD", b"GenuineIntel");
        for (vendor, signature, gains) in [
            (amd, 0x00AA_0F02, true),
            (amd, 0x00A0_0F11, true),
            (amd, 0x00B0_0F21, false),
            (intel, 0x000C_06F2, false),
        ] {
            let found = gains_from_eviction(vendor, signature);
            assert_eq!(found, gains, "{signature:#x}");
        }
    }
}
