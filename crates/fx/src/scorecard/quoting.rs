//! The passive part of the scorecard: how long and how well a bank quotes. It needs no orders.

use super::Score;
use crate::setup::{Setup, Slot};
use touchline_fx_events::composite::BankSet;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_types::Side;

/// Quotes of a bank and a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuoteScore {
    /// Quote messages of the pair.
    pub quotes: u64,
    /// Time at the best price, by side.
    pub best_ns: [u64; 2],
    /// Time with both of its sides usable.
    pub spread_ns: u64,
    /// Spread summed over that time, ticks times nanoseconds.
    pub spread_sum: i128,
}

impl QuoteScore {
    /// Writes it into a complete score.
    pub fn add_to(&self, score: &mut Score) {
        score.quotes = self.quotes;
        score.best_ns = self.best_ns;
        score.spread_ns = self.spread_ns;
        score.spread_sum = self.spread_sum;
    }
}

/// Current state of a bank and a pair.
#[derive(Debug, Clone, Copy, Default)]
struct Present {
    /// Time since which the bank is at the best price, by side.
    best_ns: [Option<u64>; 2],
    /// Spread of the bank, and the time since which both of its sides are usable with this spread.
    spread: Option<(i64, u64)>,
}

/// Scores of all banks' quotes.
#[derive(Debug, Clone)]
pub struct QuoteScores {
    scores: Vec<QuoteScore>,
    /// Accumulated time up, and start of the present one, by bank.
    up: Vec<(u64, Option<u64>)>,
    /// Current state of each slot, and its start.
    present: Vec<Present>,
}

impl QuoteScores {
    /// Makes the scores before the first quote.
    pub fn new(setup: &Setup) -> QuoteScores {
        QuoteScores {
            scores: vec![QuoteScore::default(); setup.slots()],
            up: vec![(0, None); setup.banks.len()],
            present: vec![Present::default(); setup.slots()],
        }
    }

    /// Score of a slot, up to the last [`QuoteScores::settle`].
    pub fn of(&self, slot: Slot) -> &QuoteScore {
        &self.scores[slot]
    }

    /// Records a pricing session up or down.
    pub fn set_up(&mut self, bank: Bank, is_up: bool, now_ns: u64) {
        let (sum_ns, since_ns) = &mut self.up[bank];
        if let Some(since_ns) = since_ns.take() {
            *sum_ns += now_ns - since_ns;
        }
        *since_ns = is_up.then_some(now_ns);
    }

    /// Time that a bank's pricing session was up.
    pub fn up_ns(&self, bank: Bank, now_ns: u64) -> u64 {
        let (sum_ns, since_ns) = self.up[bank];
        sum_ns + since_ns.map_or(0, |since_ns| now_ns - since_ns)
    }

    /// Counts a quote message of the slot.
    pub fn note_quoted(&mut self, slot: Slot) {
        self.scores[slot].quotes += 1;
    }

    /// Records the banks at the best price of a pair's side.
    pub fn note_best(
        &mut self,
        setup: &Setup,
        (pair, side): (Pair, Side),
        [before, now]: [&BankSet; 2],
        now_ns: u64,
    ) {
        for bank in before.differing(now).iter() {
            let slot = setup.slot(bank, pair);
            self.settle(slot, now_ns);
            self.present[slot].best_ns[side.index()] = now.has(bank).then_some(now_ns);
        }
    }

    /// Records the best bid and ask of a bank.
    pub fn note_own(&mut self, slot: Slot, [bid, ask]: [Option<i64>; 2], now_ns: u64) {
        let spread = bid.zip(ask).map(|(bid, ask)| ask - bid);
        if self.present[slot].spread.map(|(spread, _)| spread) != spread {
            self.settle(slot, now_ns);
            self.present[slot].spread = spread.map(|spread| (spread, now_ns));
        }
    }

    /// Counts the time of a slot until now.
    pub fn settle(&mut self, slot: Slot, now_ns: u64) {
        let (score, present) = (&mut self.scores[slot], &mut self.present[slot]);
        for side in Side::BOTH {
            if let Some(since_ns) = &mut present.best_ns[side.index()] {
                score.best_ns[side.index()] += now_ns - std::mem::replace(since_ns, now_ns);
            }
        }
        if let Some((spread, since_ns)) = &mut present.spread {
            let passed_ns = now_ns - std::mem::replace(since_ns, now_ns);
            score.spread_ns += passed_ns;
            score.spread_sum += i128::from(*spread) * i128::from(passed_ns);
        }
    }
}
