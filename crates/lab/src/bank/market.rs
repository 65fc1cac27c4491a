//! The mids that all banks quote around: seeded random walks with a pull towards where they began.

use super::config::{Config, Profile};
use crate::random::Random;

/// Moves of one burst.
const BURST_MOVES: u64 = 20;
/// Farthest that a mid strays, ticks.
const STRAY_TICKS: i64 = 500;

/// The mids of all pairs, and when they move.
#[derive(Debug)]
pub struct Market {
    random: Random,
    pairs: Vec<Mid>,
    profile: Profile,
    mean_ns: u64,
}

#[derive(Debug)]
struct Mid {
    start: i64,
    ticks: i64,
    step: i64,
    due_ns: u64,
    /// Moves of the burst that are still to come.
    left: u64,
    /// Recorded mids, forth and back, and how many were taken.
    recorded: Vec<i64>,
    taken: usize,
}

impl Market {
    /// The mids as they begin.
    pub fn open(config: &Config) -> Market {
        let mean_ms = match (config.move_ms, config.profile) {
            (0, Profile::Calm) => 100,
            (0, Profile::Burst) => 250,
            (0, Profile::Sparse) => 60_000,
            (move_ms, _) => move_ms,
        };
        let mid = |pair: &super::PairConfig| Mid {
            start: pair.mid_ticks,
            ticks: pair.mid_ticks,
            step: pair.step_ticks,
            due_ns: 0,
            left: 0,
            recorded: forth_and_back(&pair.recorded),
            taken: 0,
        };
        Market {
            random: Random::from_seed(config.seed),
            pairs: config.pairs.iter().map(mid).collect(),
            profile: config.profile,
            mean_ns: mean_ms * 1_000_000,
        }
    }

    /// The mid of a pair, ticks.
    pub fn mid(&self, pair: usize) -> i64 {
        self.pairs[pair].ticks
    }

    /// Moves a due mid, and returns which one.
    pub fn step(&mut self, now_ns: u64) -> Option<usize> {
        let pair = self.pairs.iter().position(|mid| mid.due_ns <= now_ns)?;
        let mid = &mut self.pairs[pair];
        if !mid.recorded.is_empty() {
            mid.ticks = mid.recorded[mid.taken % mid.recorded.len()];
            mid.taken += 1;
        }
        let pull = (mid.start - mid.ticks).signum();
        let far = (mid.start - mid.ticks).abs() > STRAY_TICKS;
        let step = match (mid.step, far) {
            _ if !mid.recorded.is_empty() => 0,
            (0, _) => 0,
            (step, true) => pull * step,
            (step, false) => self.random.between(-step, step),
        };
        mid.ticks += step;
        match self.profile {
            Profile::Burst if mid.left > 0 => mid.left -= 1,
            Profile::Burst => {
                mid.left = BURST_MOVES - 1;
                mid.due_ns = now_ns;
            }
            Profile::Calm | Profile::Sparse => {}
        }
        let rests = self.profile != Profile::Burst || mid.left == 0;
        if rests {
            mid.due_ns = match self.profile {
                // Without jitter: the benchmark expects the quote after this time.
                Profile::Sparse => now_ns + self.mean_ns,
                _ => now_ns + self.mean_ns / 2 + self.random.below(self.mean_ns + 1),
            };
        }
        Some(pair)
    }

    /// Time of the next move of a mid.
    pub fn due_ns(&self) -> u64 {
        let due = self.pairs.iter().map(|mid| mid.due_ns);
        due.min().unwrap_or(u64::MAX)
    }

    /// Ends the market: no mid moves any more.
    pub fn close(&mut self) {
        for mid in &mut self.pairs {
            mid.due_ns = u64::MAX;
        }
    }
}

/// No jump where the recording begins again.
fn forth_and_back(mids: &[i64]) -> Vec<i64> {
    let back = mids.iter().rev().skip(1);
    mids.iter().chain(back).copied().collect()
}
