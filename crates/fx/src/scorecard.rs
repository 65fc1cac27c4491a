//! The scorecard of each bank and pair, exact over time.

mod markouts;

pub use touchline_fx_events::scorecard::{HORIZONS_MS, Holds, Mean, Score};

use crate::composite::{BankSet, Composites};
use crate::orders::{Order, OrderState, RejectCode};
use crate::setup::{Bank, Pair, Setup, Slot};
use crate::ticks;
use markouts::Markouts;
use touchline_types::{Price, Side};

/// Current state of a bank and a pair.
#[derive(Debug, Clone, Copy, Default)]
struct Present {
    /// Time since which the bank is at the best price, by side.
    best_ns: [Option<u64>; 2],
    /// Spread of the bank, and the time since which both of its sides are usable with this spread.
    spread: Option<(i64, u64)>,
}

/// Scores of all banks and pairs.
#[derive(Debug, Clone)]
pub struct Scorecard {
    scores: Vec<Score>,
    /// Time from sending to the end of each ended order, by slot.
    holds_ns: Vec<Vec<u64>>,
    /// Accumulated time up, and start of the present one, by bank.
    up: Vec<(u64, Option<u64>)>,
    /// Current state of each slot, and its start.
    present: Vec<Present>,
    markouts: Markouts,
}

impl Scorecard {
    /// Empty scorecard.
    pub fn new(setup: &Setup) -> Scorecard {
        Scorecard {
            scores: vec![Score::default(); setup.slots()],
            holds_ns: vec![Vec::new(); setup.slots()],
            up: vec![(0, None); setup.banks.len()],
            present: vec![Present::default(); setup.slots()],
            markouts: Markouts::default(),
        }
    }

    /// Takes memory for this many further orders, twice the share of each slot.
    pub fn reserve(&mut self, orders: usize) {
        let share = (2 * orders).div_ceil(self.scores.len().max(1));
        for holds_ns in &mut self.holds_ns {
            holds_ns.reserve(share);
        }
        self.markouts.reserve(orders);
    }

    /// Records a pricing session up or down.
    pub fn set_up(&mut self, bank: Bank, is_up: bool, now_ns: u64) {
        let (sum_ns, since_ns) = &mut self.up[bank];
        if let Some(since_ns) = since_ns.take() {
            *sum_ns += now_ns - since_ns;
        }
        *since_ns = is_up.then_some(now_ns);
    }

    /// Score of a bank and a pair, without the time that its session was up.
    pub fn so_far(&self, slot: Slot) -> &Score {
        &self.scores[slot]
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
        let is_miss_of_ours = order.is_cancel_asked() && order.state() != OrderState::Rejected;
        if let Some(code) = code.filter(|_| !is_miss_of_ours) {
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

    /// Score of a bank and a pair so far, without its penalty.
    pub fn of(&self, bank: Bank, slot: Slot, now_ns: u64) -> Score {
        let mut score = self.scores[slot];
        let (sum_ns, since_ns) = self.up[bank];
        score.up_ns = sum_ns + since_ns.map_or(0, |since_ns| now_ns - since_ns);
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
