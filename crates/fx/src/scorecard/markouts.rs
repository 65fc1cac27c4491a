//! Mark-outs: the mid some time after a fill.

use crate::setup::{Slot, ns};
use std::collections::VecDeque;
use touchline_fx_events::orders::Terms;
use touchline_fx_events::scorecard::HORIZONS_MS;
use touchline_fx_events::setup::Pair;
use touchline_types::{Price, Side};

/// A fill with pending mark-outs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marked {
    at_ns: u64,
    pub slot: Slot,
    pub pair: Pair,
    pub side: Side,
    pub price: Price,
    /// A tick of the pair, 1e-9.
    pub tick: i64,
}

/// Fills with pending mark-outs.
#[derive(Debug, Clone, Default)]
pub(super) struct Markouts {
    fills: VecDeque<Marked>,
    /// Number of fills past each horizon; later horizons lag behind earlier ones.
    passed: [usize; HORIZONS_MS.len()],
}

impl Markouts {
    pub fn reserve(&mut self, fills: usize) {
        self.fills.reserve(fills);
    }

    pub fn add(&mut self, now_ns: u64, slot: Slot, terms: &Terms, price: Price, tick: i64) {
        self.fills.push_back(Marked {
            at_ns: now_ns,
            slot,
            pair: terms.pair,
            side: terms.side,
            price,
            tick,
        });
    }

    pub fn due_ns(&self) -> u64 {
        let due = (0..HORIZONS_MS.len()).map(|horizon| self.next_ns(horizon));
        due.min().unwrap_or(u64::MAX)
    }

    /// Calls `mark` for each due mark-out.
    pub fn take(&mut self, now_ns: u64, mut mark: impl FnMut(&Marked, usize)) {
        for horizon in 0..HORIZONS_MS.len() {
            while self.next_ns(horizon) <= now_ns {
                mark(&self.fills[self.passed[horizon]], horizon);
                self.passed[horizon] += 1;
            }
        }
        while self.passed[HORIZONS_MS.len() - 1] > 0 {
            self.fills.pop_front();
            self.passed.iter_mut().for_each(|passed| *passed -= 1);
        }
        assert!(
            self.passed.is_sorted_by(|a, b| a >= b),
            "a later horizon is not due before an earlier one"
        );
    }

    fn next_ns(&self, horizon: usize) -> u64 {
        let fill = self.fills.get(self.passed[horizon]);
        fill.map_or(u64::MAX, |fill| fill.at_ns + ns(HORIZONS_MS[horizon]))
    }
}
