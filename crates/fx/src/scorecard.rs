//! The scorecard of each bank and pair, exact over time: its quotes ([`QuoteScores`]) and its orders ([`Scorecard`]).

mod markouts;
mod quoting;

pub use quoting::{QuoteScore, QuoteScores};

use touchline_fx_events::scorecard::{Holds, Score};

use crate::composite::Composites;
use crate::orders::Order;
use crate::setup::{Setup, Slot};
use markouts::Markouts;
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::ticks;
use touchline_types::{Price, Side};

/// Scores of all banks' orders.
#[derive(Debug, Clone)]
pub struct Scorecard {
    scores: Vec<Score>,
    /// Time from sending to the end of each ended order, by slot.
    holds_ns: Vec<Vec<u64>>,
    markouts: Markouts,
}

impl Scorecard {
    /// Empty scorecard.
    pub fn new(setup: &Setup) -> Scorecard {
        Scorecard {
            scores: vec![Score::default(); setup.slots()],
            holds_ns: vec![Vec::new(); setup.slots()],
            markouts: Markouts::default(),
        }
    }

    /// Reserves memory for this many further orders: for each slot twice an equal share.
    pub fn reserve(&mut self, orders: usize) {
        let share = (2 * orders).div_ceil(self.scores.len().max(1));
        for holds_ns in &mut self.holds_ns {
            holds_ns.reserve(share);
        }
        self.markouts.reserve(orders);
    }

    /// Scores of the orders of a bank and a pair so far, without hold times.
    pub fn so_far(&self, slot: Slot) -> &Score {
        &self.scores[slot]
    }

    /// Number of ended orders of a slot.
    pub fn ended(&self, slot: Slot) -> u64 {
        self.holds_ns[slot].len() as u64
    }

    /// Counts a sent order.
    pub fn note_sent(&mut self, slot: Slot, quantity: i64) {
        self.scores[slot].orders += 1;
        self.scores[slot].sent += quantity;
    }

    /// Counts an order that became unknown.
    pub fn note_unknown(&mut self, slot: Slot) {
        self.scores[slot].unknown += 1;
    }

    /// Counts a fill with its improvement.
    pub fn note_fill(
        &mut self,
        setup: &Setup,
        slot: Slot,
        order: &Order,
        (quantity, price): (i64, Price),
        improve: i64,
        now_ns: u64,
    ) {
        let (score, terms) = (&mut self.scores[slot], &order.terms);
        let precision = setup.pairs[terms.pair].config.precision;
        let ordered = ticks::exact(terms.price, precision);
        let is_better = match terms.side {
            Side::Bid => price < ordered,
            Side::Ask => price > ordered,
        };
        score.fills += 1;
        score.filled += quantity;
        score.improved += u64::from(is_better);
        score.equal += u64::from(!is_better);
        score.improve_ticks += improve;
        let tick = ticks::tick(precision);
        self.markouts.add(now_ns, slot, terms, price, tick);
    }

    /// Counts an ended order.
    pub fn note_end(
        &mut self,
        setup: &Setup,
        slot: Slot,
        order: &Order,
        code: Option<RejectCode>,
        mid2: Option<i64>,
        now_ns: u64,
    ) {
        let score = &mut self.scores[slot];
        let terms = &order.terms;
        self.holds_ns[slot].push(now_ns - terms.sent_ns);
        if let Some(code) = code {
            score.rejects[code as usize] += 1;
        }
        if let Some((end, sent)) = mid2.zip(terms.mid2_sent) {
            let tick = ticks::tick(setup.pairs[terms.pair].config.precision);
            let moved = match terms.side {
                Side::Bid => end - sent,
                Side::Ask => sent - end,
            };
            let moved = i128::from(moved) * i128::from(tick);
            match order.cum() > 0 {
                true => score.moved_filled.add(moved),
                false => score.moved_rejected.add(moved),
            }
        }
    }

    /// Time of the next mark-out.
    pub fn due_ns(&self) -> u64 {
        self.markouts.due_ns()
    }

    /// Records the due mark-outs, with the composites of the last step.
    pub fn take_markouts(&mut self, composites: &Composites, now_ns: u64) {
        let scores = &mut self.scores;
        self.markouts.take(now_ns, |fill, horizon| {
            if let Some(mid2) = composites.mid2(fill.pair) {
                let mid2 = i128::from(mid2) * i128::from(fill.tick);
                let price2 = 2 * i128::from(fill.price.0);
                let better = match fill.side {
                    Side::Bid => mid2 - price2,
                    Side::Ask => price2 - mid2,
                };
                scores[fill.slot].markouts[horizon].add(better);
            }
        });
    }

    /// Scores of the orders of a bank and a pair so far, without the penalty and the scores of the bank's quotes.
    pub fn of(&self, slot: Slot) -> Score {
        let mut score = self.scores[slot];
        let mut holds_ns = self.holds_ns[slot].clone();
        holds_ns.sort_unstable();
        score.holds = holds(&holds_ns);
        score
    }
}

fn holds(sorted: &[u64]) -> Holds {
    Holds {
        p50_ns: nearest_rank(sorted, 50),
        p90_ns: nearest_rank(sorted, 90),
        max_ns: nearest_rank(sorted, 100),
    }
}

/// The ⌈n × percent / 100⌉-th smallest of sorted values.
fn nearest_rank(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}
