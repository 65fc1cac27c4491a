//! Execution quality of each bank and pair over all runs of a period: rates and means with their counts and intervals of 95 %.
//!
//! Rates have Wilson's interval, means Student's. Mark-outs are known as sums between two scores of the engine, so their interval is that of
//! a ratio of these sums.

use super::account::{Account, Order, Quoted, Sums};
use super::exact::quotient;
use super::period::Period;
use super::statistics::{Interval, Ratio, Sample, Welch, welch};
use std::collections::BTreeMap;
use touchline_fx_events::scorecard::HORIZONS_MS;

/// Reports of symmetric banks of which at most this share accuses any bank.
pub const FALSE_ALARMS: f64 = 0.005;
/// Orders of each kind that the test needs, none sent before the end of another.
pub const TESTED_MIN: u64 = 20;

/// Quality of a bank in a pair.
#[derive(Debug, Default)]
pub struct Quality {
    /// Bank and pair.
    pub slot: (usize, usize),
    /// Orders sent, and their units.
    pub orders: u64,
    /// Units sent.
    pub sent: i64,
    /// Orders that ended.
    pub ended: u64,
    /// Of these, orders with a fill.
    pub with_fill: u64,
    /// Of these, orders that the bank ended with nothing filled.
    pub rejected: u64,
    /// Fills.
    pub fills: u64,
    /// Units of these, busts counted as filled.
    pub filled: i64,
    /// Units filled, net of busts.
    pub net: i64,
    /// Rejects by code.
    pub codes: BTreeMap<&'static str, u64>,
    /// Times an order became unknown.
    pub unknown: u64,
    /// Times from sending to the end, sorted.
    pub holds_ns: Vec<u64>,
    /// Move of the mid in our favour until the end, ticks: of orders with a fill, and of rejected ones.
    pub moved: [Sample; 2],
    /// The exact sums of those moves, twice their value in ticks.
    pub moved_ticks2: [i128; 2],
    /// The moves that the test of asymmetry takes: of orders that do not overlap.
    pub tested: [Sample; 2],
    /// End of the last order that the test takes.
    tested_until_ns: u64,
    /// Units of orders that the bank decided to reject times the move, twice its value, 1e-9 of the term currency.
    pub reject_cost2: i128,
    /// Such orders without a mid at sending or end.
    pub unmeasured: u64,
    /// Prices by size.
    pub prices: Vec<AllIn>,
    /// Scores that follow from quotes.
    pub quoted: Quoted,
    /// Result of the test of asymmetry.
    pub test: Option<Welch>,
}

/// Expected price of a size at a bank, with the cost of its rejects.
#[derive(Debug, Default)]
pub struct AllIn {
    /// Largest order, units; none of the orders above all sizes.
    pub up_to: Option<i64>,
    /// Orders that ended and have mids.
    pub orders: u64,
    /// Units filled.
    pub filled: i64,
    /// Dearer than the mid at sending, twice the value, 1e-9 of the term currency.
    pub price2: i128,
    /// Cost of rejects, likewise.
    pub reject2: i128,
    /// Term currency per million filled units, by order.
    pub ratio: Ratio,
}

impl AllIn {
    /// Both costs for a million filled units, hundredths of the term currency; none without a fill.
    pub fn per_million(&self) -> Option<i128> {
        per_million(self.price2 + self.reject2, self.filled)
    }
}

/// Twice an amount of 1e-9 for a million of units, in hundredths.
pub fn per_million(amount2: i128, units: i64) -> Option<i128> {
    quotient(
        amount2.checked_mul(100_000_000)?,
        2 * i128::from(units) * 1_000_000_000,
    )
}

/// Mean in hundredths of a tick of a sum of twice the values; none without a value.
pub fn mean(ticks2: i128, count: u64) -> Option<i128> {
    quotient(ticks2 * 100, 2 * i128::from(count))
}

impl Quality {
    fn add(&mut self, order: &Order, sizes: &[i64]) {
        self.orders += 1;
        self.sent += order.quantity;
        self.fills += order.fills;
        self.filled += order.cum;
        self.net += order.filled;
        self.unknown += order.unknown;
        let Some(end) = order.end else {
            return;
        };
        self.ended += 1;
        self.holds_ns.push(end.at_ns.saturating_sub(order.sent_ns));
        let is_rejected = order.is_rejected();
        self.with_fill += u64::from(order.fills > 0);
        self.rejected += u64::from(is_rejected);
        if let Some(code) = order.code.filter(|_| is_rejected) {
            *self.codes.entry(code.name()).or_default() += 1;
        }
        let is_judged = order.is_judged();
        let Some(moved2) = order.moved2() else {
            self.unmeasured += u64::from(is_judged);
            return;
        };
        if is_judged || (order.fills > 0 && !order.is_resolved) {
            let kind = usize::from(is_judged);
            let ticks2 = moved2 / i128::from(order.tick);
            self.moved[kind].add(ticks2 as f64 / 2.0);
            self.moved_ticks2[kind] += ticks2;
            self.add_tested(kind, (order.sent_ns, end.at_ns), ticks2);
        }
        let reject2 = match is_judged {
            true => i128::from(order.quantity) * moved2,
            false => 0,
        };
        self.reject_cost2 += reject2;
        if order.fills > 0 || is_judged {
            self.price(order, sizes, reject2);
        }
    }

    /// Gives the test a move, if the order was sent when the last one of the test had ended: orders in flight together share a move of the
    /// mid, and the test takes its values as independent.
    fn add_tested(&mut self, kind: usize, (sent_ns, end_ns): (u64, u64), ticks2: i128) {
        // mutant: fx: the test of asymmetry takes orders that overlap
        if sent_ns >= self.tested_until_ns {
            self.tested[kind].add(ticks2 as f64 / 2.0);
            self.tested_until_ns = end_ns;
        }
    }

    fn price(&mut self, order: &Order, sizes: &[i64], reject2: i128) {
        let Some(mid2) = order.mid2 else {
            return;
        };
        let mut fitting = sizes.iter().copied().filter(|size| order.quantity <= *size);
        let up_to = fitting.next();
        let at = self.prices.iter().position(|price| price.up_to == up_to);
        let at = at.unwrap_or_else(|| {
            self.prices.push(AllIn {
                up_to,
                ..AllIn::default()
            });
            self.prices.len() - 1
        });
        let price2 = order.sign() * (2 * order.cost - i128::from(order.filled) * mid2);
        let row = &mut self.prices[at];
        row.orders += 1;
        row.filled += order.filled;
        row.price2 += price2;
        row.reject2 += reject2;
        row.ratio
            .add(order.filled as f64 / 1e6, (price2 + reject2) as f64 / 2e9);
    }

    /// Filled share of the quantity that was sent, 1e-4, rounded towards zero as the engine does; none without an order.
    pub fn fill_ratio(&self) -> Option<i128> {
        (i128::from(self.filled) * 10_000).checked_div(i128::from(self.sent))
    }

    /// Whether there are enough orders for the test of asymmetry.
    fn has_test(&self) -> bool {
        self.tested.iter().all(|moved| moved.count >= TESTED_MIN)
    }

    /// The nearest rank of the hold times; none without an ended order.
    pub fn hold_ns(&self, percent: usize) -> Option<u64> {
        let rank = (self.holds_ns.len() * percent).div_ceil(100);
        self.holds_ns.get(rank.checked_sub(1)?).copied()
    }

    /// Mark-outs in ticks: horizon, sums, mean in hundredths of a tick, interval.
    pub fn markouts(
        &self,
        tick: i64,
    ) -> impl Iterator<Item = (u64, u64, Option<i128>, Option<Interval>)> + '_ {
        HORIZONS_MS
            .iter()
            .zip(&self.quoted.markouts)
            .map(move |(ms, sums)| {
                let by = 2 * i128::from(sums.all.count) * i128::from(tick);
                let mean = quotient(sums.all.sum2 * 100, by);
                (*ms, sums.all.count, mean, markout_interval(sums, tick))
            })
    }
}

fn markout_interval(sums: &Sums, tick: i64) -> Option<Interval> {
    let ratio = Ratio {
        parts: sums.batches,
        sums: [sums.all.count as f64, sums.all.sum2 as f64],
        squares: sums.squares,
    };
    let scale = 2.0 * tick as f64;
    ratio.interval().map(|ends| ends.map(|end| end / scale))
}

/// Quality of every bank and pair with an order or a quote in a period.
pub fn qualities(account: &Account, period: Period) -> Vec<Quality> {
    let mut found: BTreeMap<(usize, usize), Quality> = BTreeMap::new();
    let orders = account.orders.iter();
    // As in the engine: how long a bank held an adopted order is not known.
    for order in orders.filter(|order| period.has(order.day) && !order.is_adopted) {
        let slot = found.entry((order.bank, order.pair)).or_default();
        slot.add(order, &account.pairs[order.pair].sizes);
    }
    for ((day, bank, pair), quoted) in &account.quoted {
        if period.has(*day) {
            found.entry((*bank, *pair)).or_default().quoted.join(quoted);
        }
    }
    let tests = found.values().filter(|quality| quality.has_test()).count();
    let alpha = alpha(tests);
    for (slot, quality) in &mut found {
        quality.slot = *slot;
        quality.holds_ns.sort_unstable();
        quality
            .prices
            .sort_by_key(|price| price.up_to.unwrap_or(i64::MAX));
        if quality.has_test() {
            let [filled, rejected] = &quality.tested;
            quality.test = welch(rejected, filled, alpha);
        }
    }
    found.into_values().collect()
}

/// Rate of one of several tests: together they accuse a symmetric bank in [`FALSE_ALARMS`] of the reports at most.
pub fn alpha(tests: usize) -> f64 {
    FALSE_ALARMS / tests.max(1) as f64
}

/// What the test says of a bank and a pair, in a sentence; `tests` is the number of tests of the report.
pub fn verdict(account: &Account, quality: &Quality, tests: usize) -> String {
    let (bank, pair) = (
        &account.banks[quality.slot.0],
        &account.pairs[quality.slot.1].symbol,
    );
    let [filled, rejected] = &quality.tested;
    let counts = format!(
        "{} rejected and {} filled orders that do not overlap",
        rejected.count, filled.count
    );
    let Some(test) = &quality.test else {
        return match quality.has_test() {
            true => format!(
                "{bank} {pair}: {counts}; the mid never moved during them, so nothing can be said of asymmetry."
            ),
            false => format!(
                "{bank} {pair}: {counts}, with a mid at both ends; the test of asymmetry needs {TESTED_MIN} of each."
            ),
        };
    };
    let means = [rejected, filled].map(|sample| sample.mean().unwrap_or_default());
    let moves = format!(
        "the mid moved by {:.2} ticks in our favour before a reject and by {:.2} before a fill",
        means[0], means[1]
    );
    let said = match test.p <= alpha(tests) {
        true => "the bank rejects when the market moves for us".to_owned(),
        false => format!(
            "no asymmetry is found; a difference of {:.2} ticks would be found in 8 of 10 reports",
            test.found_in_8_of_10
        ),
    };
    format!(
        "{bank} {pair}: {counts}; {moves} (p = {}): {said}.",
        probability(test.p)
    )
}

/// The error rate of the tests, in a sentence.
pub fn error_rate(tests: usize) -> String {
    if tests == 0 {
        return format!(
            "The test of asymmetry needs {TESTED_MIN} rejected and {TESTED_MIN} filled orders that do not overlap, with a mid at both ends; no bank has as \
             many in a pair."
        );
    }
    format!(
        "Welch's test, one-sided, of the moves of rejected against filled orders that do not overlap, at {:.2} % for each of {tests} banks and pairs: of 1,000 reports on \
         banks that reject in both directions alike, at most {:.0} accuse any bank.",
        100.0 * alpha(tests),
        1_000.0 * FALSE_ALARMS
    )
}

/// A probability with three digits.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 1e-6 => "below 0.000001".to_owned(),
        p => format!("{p:.6}"),
    }
}

/// Whether the test accuses the bank.
pub fn is_accused(quality: &Quality, tests: usize) -> bool {
    quality.test.is_some_and(|test| test.p <= alpha(tests))
}

/// Number of tests of a report.
pub fn tests(qualities: &[Quality]) -> usize {
    qualities
        .iter()
        .filter(|quality| quality.has_test())
        .count()
}

#[cfg(test)]
mod tests;
