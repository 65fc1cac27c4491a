//! Self-describing payload: the content of a message follows from its number.
//!
//! Length and every byte are functions of the sequence number, so a reader detects a torn, repeated, reordered or
//! foreign message without further data. No two numbers below 2^64 have the same words.

/// Length of the message with this number, from 0 to `length_max` bytes.
pub fn length(sequence: u64, length_max: usize) -> usize {
    (mix(!sequence) % (length_max as u64 + 1)) as usize
}

/// Word `index` of a message of that length, in the byte order of the host; zeros behind its end.
#[inline]
pub fn word(sequence: u64, length: usize, index: usize) -> u64 {
    let whole = mix(sequence.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ index as u64);
    match length.saturating_sub(index * 8) {
        0 => 0,
        rest @ 1..8 => {
            let mut bytes = whole.to_ne_bytes();
            bytes[rest..].fill(0);
            u64::from_ne_bytes(bytes)
        }
        _ => whole,
    }
}

/// Writes the message with this number into `bytes`, replacing its content.
pub fn write(sequence: u64, length: usize, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend((0..length.div_ceil(8)).flat_map(|i| word(sequence, length, i).to_ne_bytes()));
    bytes.truncate(length);
}

/// Finaliser of SplitMix64: a bijection.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
