//! Hash of a packet's bytes, to compare the copies of the lines.

/// Seeded hash of packets: copies that differ have the same hash with a chance of one in 2^32, also if who forges one knows the
/// other, because the seed is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyHash {
    seed: u64,
}

/// Odd constants, of which no bit pattern repeats: the first digits of pi and of the square root of 2.
const FIRST: u64 = 0x243f_6a88_85a3_08d3;
const SECOND: u64 = 0xb504_f333_f9de_6485;

impl CopyHash {
    /// A hash with this seed.
    #[must_use]
    pub fn new(seed: u64) -> CopyHash {
        CopyHash { seed }
    }

    /// Hash of the bytes.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> u32 {
        let mut hash = self.seed ^ (bytes.len() as u64).wrapping_mul(FIRST);
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            hash = self.mix(hash, u128::from_le_bytes(*pair));
        }
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        hash = self.mix(hash, u128::from_le_bytes(last));
        (hash ^ hash >> 32) as u32
    }

    /// Folds sixteen bytes into the hash. Both factors have the seed: bytes that make one of them 0 cannot be chosen.
    #[inline(always)]
    fn mix(self, hash: u64, pair: u128) -> u64 {
        let (low, high) = (pair as u64, (pair >> 64) as u64);
        let left = u128::from(low ^ hash);
        let right = u128::from(high ^ self.seed.rotate_left(32) ^ SECOND);
        let product = left * right;
        (product as u64 ^ (product >> 64) as u64).wrapping_add(hash.rotate_left(23))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also of the bytes behind the last whole sixteen, and of the length alone.
    #[test]
    fn each_changed_bit_changes_the_hash() {
        let hash = CopyHash::new(7);
        for length in 0..70 {
            let bytes: Vec<u8> = (0..length).map(|byte: u8| byte.wrapping_mul(37)).collect();
            let own = hash.of(&bytes);
            assert_eq!(own, hash.of(&bytes));
            for bit in 0..8 * bytes.len() {
                let mut other = bytes.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(own, hash.of(&other), "bit {bit} of {length} bytes");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_ne!(own, hash.of(&longer), "{length} bytes and a zero");
            assert_ne!(own, CopyHash::new(8).of(&bytes), "another seed");
        }
    }

    /// A zero product would cancel the bytes before it.
    #[test]
    fn bytes_before_a_zero_product_count() {
        let hash = CopyHash::new(0);
        let zero = SECOND.to_le_bytes();
        let of = |first: u8| hash.of(&[&[first; 16][..], &[0; 8], &zero, &[0; 16]].concat());
        let hashes: std::collections::HashSet<u32> = (0..=255).map(of).collect();
        assert_eq!(hashes.len(), 256);
    }
}
