//! Keyed hash of a few words, for tables whose keys a venue chooses.
//!
//! Multiply-shift over 128 bits with secret multipliers: for any two different keys chosen without the secret, each
//! pair of hashes is equally likely (Dietzfelbinger, "Universal hashing and k-wise independent random variables via
//! integer arithmetic without primes", 1996; for vectors: Thorup, "High speed hashing for integers and strings", 2015).
//! With a public hash a sender could choose 20,000 ids of one bucket, and each order would cost 20,000 comparisons.
//!
//! Of a table: an order shares its chain with one other on average when the table is full; a permutation behind the hash
//! keeps consecutive ids apart. A chain of 32 is full, and a further order is refused as if the table were: by chance once
//! in 10^30 full tables. Hashes are never published, and outputs do not depend on the secret.

use core::hash::BuildHasher;

/// The secret of one table: a multiplier for each word of its keys, and an offset.
#[derive(Clone, Copy)]
pub struct HashKeys<const WORDS: usize> {
    multipliers: [u128; WORDS],
    offset: u128,
}

/// An odd number with well distributed bits: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl<const WORDS: usize> HashKeys<WORDS> {
    /// Keys from a random source; the standard library's `RandomState` gets its own from the system.
    pub fn drawn_from(source: &impl BuildHasher) -> HashKeys<WORDS> {
        HashKeys::of(|number| source.hash_one(number))
    }

    /// Keys derived from a seed, for repeatable tests. They are not secret.
    pub fn from_seed(seed: u64) -> HashKeys<WORDS> {
        // Splitmix64.
        HashKeys::of(|number| {
            let mixed = seed.wrapping_add((number as u64 + 1).wrapping_mul(SPREAD));
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        })
    }

    fn of(word: impl Fn(usize) -> u64) -> HashKeys<WORDS> {
        let word = |number| u128::from(word(number));
        let wide = |number: usize| word(2 * number) << 64 | word(2 * number + 1);
        HashKeys {
            multipliers: core::array::from_fn(wide),
            offset: wide(WORDS),
        }
    }

    /// Hash of a key. Tables use its highest bits.
    #[inline]
    pub fn hash(&self, words: [u64; WORDS]) -> u64 {
        let mut sum = self.offset;
        for (word, multiplier) in words.iter().zip(&self.multipliers) {
            sum = sum.wrapping_add(multiplier.wrapping_mul(u128::from(*word)));
        }
        // The hashes of consecutive ids form an arithmetic progression, which for some secrets returns to the same
        // places. The permutation below breaks it and preserves the property above.
        let high = (sum >> 64) as u64;
        (high ^ (high >> 32)).wrapping_mul(SPREAD)
    }
}

impl<const WORDS: usize> core::fmt::Debug for HashKeys<WORDS> {
    /// Hides the secret.
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.write_str("HashKeys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Keys that share their highest bits under one secret share them under another only by chance.
    #[test]
    fn keys_that_collide_under_one_secret_do_not_under_another() {
        const BITS: u32 = 10;
        let (one, other) = (HashKeys::from_seed(1), HashKeys::from_seed(2));
        let place = |keys: &HashKeys<2>, id| keys.hash([id, 3]) >> (64 - BITS);
        let mut chosen = (0..400_000).filter(|id| place(&one, *id) == place(&one, 0));
        let chosen: [u64; 300] = core::array::from_fn(|_| chosen.next().expect("one in 1,024"));
        let mut shared = 0;
        for (index, id) in chosen.iter().enumerate() {
            let same = |earlier: &&u64| place(&other, **earlier) == place(&other, *id);
            shared += chosen[..index].iter().filter(same).count();
        }
        // Of 44,850 pairs one in 1,024 by chance: 44.
        assert!((10..120).contains(&shared), "{shared} pairs collide again");
    }

    /// For some secrets, multiples of a number have adjacent hashes, or few different ones. Consecutive ids have
    /// ordinary chains there, too.
    #[test]
    fn consecutive_ids_have_ordinary_chains_under_any_secret() {
        const BITS: u32 = 10;
        // The inverse modulo 2^64, by Newton's method: each step doubles the number of correct
        // bits.
        let back = (0..5).fold(SPREAD, |inverse: u64, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(SPREAD.wrapping_mul(inverse)))
        });
        assert_eq!(back.wrapping_mul(SPREAD), 1);
        for step in [1 << 64, u128::from(back) << 64, u128::MAX / 3 + (1 << 64)] {
            let keys = HashKeys {
                multipliers: [step],
                offset: 0,
            };
            let mut lengths = [0; 1 << BITS];
            for id in 0..1 << BITS {
                lengths[(keys.hash([id]) >> (64 - BITS)) as usize] += 1;
            }
            let longest = lengths.iter().max();
            assert!(longest < Some(&16), "{step:x}: {longest:?}");
        }
    }

    /// Each word of a key, and each bit of a word, changes the hash.
    #[test]
    fn every_bit_of_a_key_changes_the_hash() {
        let keys = HashKeys::<3>::from_seed(1);
        for word in 0..3 {
            for bit in 0..64 {
                let mut key = [7, 11, 13];
                key[word] ^= 1 << bit;
                assert_ne!(keys.hash(key), keys.hash([7, 11, 13]), "{word} {bit}");
            }
        }
    }
}
