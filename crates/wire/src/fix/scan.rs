//! Many bytes at a time: where separators are, and the sum of all.
//!
//! SSE2 is part of every x86-64 processor, so no check at run time is needed; other processors, and tests that compare,
//! use 64-bit words.

/// The separator behind each field, 0x01.
pub const SOH: u8 = 0x01;

/// Way to search many bytes at a time.
pub trait Scan: Copy + core::fmt::Debug + Default {
    /// One bit for each separator, the lowest for the first byte.
    fn separators(block: &[u8; 64]) -> u64;

    /// The sum of all bytes, modulo 256.
    fn sum(bytes: &[u8]) -> u8;
}

/// With words of 64 bits, on any processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words;

impl Scan for Words {
    #[inline]
    fn separators(block: &[u8; 64]) -> u64 {
        let (words, _) = block.as_chunks::<8>();
        words.iter().enumerate().fold(0, |mask, (at, word)| {
            mask | separators_of_word(u64::from_le_bytes(*word)) << (at * 8)
        })
    }

    #[inline]
    fn sum(bytes: &[u8]) -> u8 {
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().fold(sum_of_rest(bytes), add_word)
    }
}

/// One bit for each byte of a word that is a separator.
#[inline]
fn separators_of_word(word: u64) -> u64 {
    const SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let other = word ^ (0x0101_0101_0101_0101 * SOH as u64);
    // The highest bit of each byte that is zero, without a carry into the next.
    let zero = !(((other & SEVEN) + SEVEN) | other | SEVEN);
    (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// With the vectors of the processor that this is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vectors;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
impl Scan for Vectors {
    #[inline]
    fn separators(block: &[u8; 64]) -> u64 {
        use safe_arch::{
            cmp_eq_mask_i8_m128i, load_unaligned_m128i, move_mask_i8_m128i, set_splat_i8_m128i,
        };
        let soh = set_splat_i8_m128i(SOH as i8);
        let mask = |quarter: &[u8; 16]| {
            let equal = cmp_eq_mask_i8_m128i(load_unaligned_m128i(quarter), soh);
            u64::from(move_mask_i8_m128i(equal) as u16)
        };
        let (quarters, _) = block.as_chunks::<16>();
        let [a, b, c, d] = quarters else {
            return Words::separators(block);
        };
        mask(a) | mask(b) << 16 | mask(c) << 32 | mask(d) << 48
    }

    #[inline]
    fn sum(bytes: &[u8]) -> u8 {
        use safe_arch::{add_i8_m128i, load_unaligned_m128i, zeroed_m128i};
        let (blocks, rest) = bytes.as_chunks::<16>();
        let add = |lanes, block| add_i8_m128i(lanes, load_unaligned_m128i(block));
        let lanes: [u64; 2] = blocks.iter().fold(zeroed_m128i(), add).into();
        let lanes = sum_of_word(lanes[0]).wrapping_add(sum_of_word(lanes[1]));
        let sum = lanes.wrapping_add(sum_of_rest(bytes));
        match rest.first_chunk() {
            Some(word) => add_word(sum, word),
            None => sum,
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
impl Scan for Vectors {
    #[inline]
    fn separators(block: &[u8; 64]) -> u64 {
        Words::separators(block)
    }

    #[inline]
    fn sum(bytes: &[u8]) -> u8 {
        Words::sum(bytes)
    }
}

#[inline]
fn add_word(sum: u8, word: &[u8; 8]) -> u8 {
    sum.wrapping_add(sum_of_word(u64::from_le_bytes(*word)))
}

/// The sum of a word's bytes, modulo 256.
#[inline]
fn sum_of_word(word: u64) -> u8 {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    let pairs = (word & EVEN) + (word >> 8 & EVEN);
    (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u8
}

/// The sum of the bytes behind the last whole word.
#[inline]
fn sum_of_rest(bytes: &[u8]) -> u8 {
    let rest = bytes.len() % 8;
    match bytes.last_chunk() {
        // The remaining bytes are the highest of the last eight.
        Some(word) if rest > 0 => sum_of_word(u64::from_le_bytes(*word) >> (64 - 8 * rest)),
        Some(_) => 0,
        None => bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte)),
    }
}
