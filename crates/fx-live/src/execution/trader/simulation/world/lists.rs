//! Somebody adds a pair before those of the banks to the configuration, and removes it again, while the engine is down.

use super::World;
use crate::execution::config::Config;
use touchline_fx::config::PairConfig;
use touchline_lab::random::Random;

/// Separates these random numbers from those of the seed.
const STREAM: u64 = 0x6c69_7374_735f_5f21;

/// The list of pairs of a run that changes.
pub(super) struct Lists {
    random: Random,
    pair: PairConfig,
    has_pair: bool,
}

impl Lists {
    /// A further pair, which no bank has.
    pub(super) fn new(seed: u64, engine: &Config) -> Lists {
        let mut pair = engine.pairs[1].clone();
        pair.symbol = "EUR/JPY".to_owned();
        Lists {
            random: Random::from_seed(seed ^ STREAM),
            pair,
            has_pair: false,
        }
    }
}

impl World {
    /// Pairs of the banks.
    pub fn pairs(&self) -> usize {
        self.mids.len()
    }

    /// Pairs of the configuration before those of the banks.
    pub fn pairs_before(&self) -> usize {
        let lists = self.lists.iter();
        lists.filter(|lists| lists.has_pair).count()
    }

    /// Before a start, the list may be another one.
    pub(super) fn change_lists(&mut self) {
        let Some(lists) = &mut self.lists else {
            return;
        };
        if lists.random.chance(0.4) {
            return;
        }
        let pairs = &mut self.scenario.engine.pairs;
        lists.has_pair = !lists.has_pair;
        match lists.has_pair {
            true => pairs.insert(0, lists.pair.clone()),
            false => drop(pairs.remove(0)),
        }
        self.setup = self.scenario.engine.setup().expect("a configuration");
        // A standby is started again with the configuration of its engine.
        self.standby = None;
        self.counts.lists_changed += 1;
    }
}
