//! Index of the table: from the venue's name of an instrument to its row.
//!
//! A hash table with chains. The hash is keyed with a secret of this table, so a venue cannot choose names that share
//! a chain; and the length of a chain is limited, so the cost is bounded. All memory is allocated at start.

use std::hash::RandomState;
use touchline_types::hash::HashKeys;

/// Largest number of rows in one chain. In a full table such a chain occurs by chance once in 10^30
/// times.
const CHAIN_MAX: usize = 32;

/// No row.
const NONE: u32 = u32::MAX;

/// Index over names of `WORDS` words.
#[derive(Debug)]
pub struct Index<Name, const WORDS: usize> {
    /// The first row of each chain; their number is a power of two, at least 2.
    heads: Vec<u32>,
    /// The name of each row and the next row of its chain: a look-up reads only rows of one chain.
    rows: Vec<(Name, u32)>,
    /// Shift of a hash to the number of its chain.
    shift: u32,
    keys: HashKeys<WORDS>,
}

/// The chain of a name is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainFull;

impl<Name, const WORDS: usize> Index<Name, WORDS> {
    /// Storage for `rows_max` rows, with a secret from the system's random source.
    pub fn new(rows_max: usize) -> Index<Name, WORDS> {
        Index::with_keys(rows_max, HashKeys::drawn_from(&RandomState::new()))
    }

    fn with_keys(rows_max: usize, keys: HashKeys<WORDS>) -> Index<Name, WORDS> {
        let chains = rows_max.next_power_of_two().max(2);
        Index {
            heads: vec![NONE; chains],
            rows: Vec::with_capacity(rows_max),
            shift: 64 - chains.trailing_zeros(),
            keys,
        }
    }

    /// The row of the name with these words, among those for which `is_it` holds.
    #[inline]
    pub fn find(&self, words: [u64; WORDS], is_it: impl Fn(&Name) -> bool) -> Option<u32> {
        let mut row = self.heads[self.chain(words)];
        while let Some((name, next)) = self.rows.get(row as usize) {
            if is_it(name) {
                return Some(row);
            }
            row = *next;
        }
        None
    }

    /// Adds the next row, whose name must be new.
    ///
    /// # Errors
    /// Its chain is full.
    pub fn push(&mut self, words: [u64; WORDS], name: Name) -> Result<(), ChainFull> {
        let chain = self.chain(words);
        if self.length(chain) >= CHAIN_MAX {
            return Err(ChainFull);
        }
        let row = self.rows.len() as u32;
        self.rows.push((name, self.heads[chain]));
        self.heads[chain] = row;
        Ok(())
    }

    #[inline]
    fn chain(&self, words: [u64; WORDS]) -> usize {
        (self.keys.hash(words) >> self.shift) as usize
    }

    fn length(&self, chain: usize) -> usize {
        let mut length = 0;
        let mut row = self.heads[chain];
        while let Some((_, next)) = self.rows.get(row as usize) {
            row = *next;
            length += 1;
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inverse of a common hash of integers, rustc-hash: numbers whose hashes have equal low and equal high bits there.
    fn chosen(index: u64) -> u64 {
        const INVERSE: u64 = {
            // Newton's method: each step doubles the number of correct bits.
            let mut inverse = 0xF135_7AEA_2E62_A9C5_u64;
            let mut step = 0;
            while step < 5 {
                let product = inverse.wrapping_mul(0xF135_7AEA_2E62_A9C5);
                inverse = inverse.wrapping_mul(2_u64.wrapping_sub(product));
                step += 1;
            }
            inverse
        };
        let hash = 0x2A << 57 | (index + 1) << 26 | 0x15_5555_u64;
        hash.rotate_right(26).wrapping_mul(INVERSE)
    }

    /// Consecutive names, distant names, and names that collide in a table without a secret: none has longer chains
    /// here.
    #[test]
    fn chosen_names_have_chains_like_any() {
        const ROWS: usize = 1 << 14;
        let longest = |seed: u64, name: &dyn Fn(u64) -> u64| {
            let mut index = Index::<u64, 1>::with_keys(ROWS, HashKeys::from_seed(seed));
            for number in 0..ROWS as u64 {
                let name = name(number);
                assert_eq!(index.find([name], |other| *other == name), None);
                index.push([name], name).expect("chains are short");
            }
            for number in 0..ROWS as u64 {
                let name = name(number);
                let found = index.find([name], |other| *other == name);
                assert_eq!(found, Some(number as u32));
            }
            let chains = 0..index.heads.len();
            chains.map(|chain| index.length(chain)).max().unwrap_or(0)
        };
        for seed in 1..=8 {
            for name in [&chosen as &dyn Fn(u64) -> u64, &|n| n, &|n| n << 44] {
                let longest = longest(seed, name);
                // One row a chain on average: by chance the longest of 16,384 has 7 or 8.
                assert!((4..14).contains(&longest), "seed {seed}: {longest}");
            }
        }
    }

    /// Two tables do not share a secret: the names of one chain of the first are in many chains of the second.
    #[test]
    fn each_table_has_a_secret_of_its_own() {
        let (one, other) = (Index::<u64, 1>::new(1024), Index::<u64, 1>::new(1024));
        let chain = one.chain([0]);
        let mut shared = (0..100_000).filter(|name| one.chain([*name]) == chain);
        let mut chains: Vec<usize> = shared.by_ref().map(|name| other.chain([name])).collect();
        let names = chains.len();
        chains.sort_unstable();
        chains.dedup();
        assert!(chains.len() > names / 2, "{} of {names}", chains.len());
    }

    #[test]
    fn a_chain_has_an_end() {
        let mut index = Index::<u64, 1>::with_keys(1024, HashKeys::from_seed(1));
        let chain = index.chain([0]);
        let same: Vec<u64> = (0..1_000_000)
            .filter(|name| index.chain([*name]) == chain)
            .take(CHAIN_MAX + 1)
            .collect();
        for name in &same[..CHAIN_MAX] {
            index.push([*name], *name).expect("the chain has room");
        }
        assert_eq!(
            index.push([same[CHAIN_MAX]], same[CHAIN_MAX]),
            Err(ChainFull)
        );
        assert_eq!(index.rows.len(), CHAIN_MAX, "it left nothing behind");
        let first = index.find([same[0]], |name| *name == same[0]);
        assert_eq!(first, Some(0), "the others are found as before");
    }
}
