//! Seeded random numbers (SplitMix64), with a fixed algorithm: a seed in a report reproduces the run on any machine.
//!
//! The algorithm and its constants are those of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
//! Generators" (OOPSLA 2014). Do not change them: recorded seeds would then generate other sessions.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Stream of random numbers, determined by its seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Stream of a seed.
    pub fn from_seed(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..n`. The modulo bias is below 2⁻³² for every `n` that fits 32 bits.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "Random::below(0): there is no number below 0");
        self.next_u64() % n
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(high.abs_diff(low) + 1) as i64
    }

    /// An index in `0..length`.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True with probability `p`; never for `p` ≤ 0, always for `p` ≥ 1.
    pub fn chance(&mut self, p: f64) -> bool {
        // An f64 represents 53 bits exactly, so the draw is uniform in [0, 1).
        ((self.next_u64() >> 11) as f64) < p * (1u64 << 53) as f64
    }

    /// One of the items.
    ///
    /// # Panics
    /// If the list is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// A new, independent stream; drawing from it does not change this one.
    pub fn split(&mut self) -> Self {
        Self::from_seed(self.next_u64())
    }
}

/// Seeds of a random test: `SEED` only if it is set, else the first `SEEDS`, else the first
/// `usual`.
///
/// # Panics
/// If a variable is not a number.
pub fn seeds(usual: u64) -> Range<u64> {
    match given("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..amount("SEEDS", usual),
    }
}

/// Runs each seed, printed first, on this number of threads: for tests that wait, and for the longest test of a
/// program, at the end of which a processor would be idle. The results are in no order.
///
/// # Panics
/// If a seed panics; the others end first.
pub fn at_once<T: Send>(
    threads: usize,
    seeds: impl Iterator<Item = u64> + Send,
    run: impl Fn(u64) -> T + Sync,
) -> Vec<T> {
    let left = Mutex::new(seeds);
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut done = Vec::new();
        while let Some(seed) = next() {
            println!("SEED={seed}");
            done.push(run(seed));
        }
        done
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let done = workers
            .into_iter()
            .map(|worker| worker.join().expect("a seed failed, see above"));
        done.flatten().collect()
    })
}

/// The number in an environment variable, or the usual one.
///
/// # Panics
/// If the variable is not a number.
pub fn amount(variable: &str, usual: u64) -> u64 {
    given(variable).unwrap_or(usual)
}

fn given(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let parsed = text.parse().ok();
    Some(parsed.unwrap_or_else(|| panic!("{variable}={text} is not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut random = Random::from_seed(0);
        assert_eq!(random.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next_u64(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(random.next_u64(), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn random_values_cover_their_range() {
        let mut random = Random::from_seed(7);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[(random.between(-3, 3) + 3) as usize] += 1;
        }
        assert!(
            seen.iter().all(|&count| (800..1_200).contains(&count)),
            "{seen:?}"
        );
    }

    #[test]
    fn chance_is_a_probability() {
        let mut random = Random::from_seed(1);
        let hits = (0..10_000).filter(|_| random.chance(0.25)).count();
        assert!((2_300..2_700).contains(&hits), "{hits}");
        assert!(!(0..1_000).any(|_| random.chance(0.0)));
        assert!((0..1_000).all(|_| random.chance(1.0)));
    }
}
