//! `scorecard.csv`, `scorecard_days.csv` and `prices.csv`: quality of the banks, with a count and an interval beside each mean and rate.

use super::account::{Account, Day};
use super::exact::{known, quotient};
use super::quality::{AllIn, Quality, is_accused, mean, per_million, probability, tests};
use super::statistics::{Interval, wilson};
use super::tables::{Table, cell};
use touchline_fx_events::ticks;

const SCORES: [&str; 33] = [
    "bank",
    "pair",
    "orders",
    "sent",
    "ended",
    "fills",
    "filled",
    "net",
    "fill_ratio",
    "with_fill",
    "fill_rate",
    "fill_rate_low",
    "fill_rate_high",
    "rejected",
    "reject_rate",
    "reject_rate_low",
    "reject_rate_high",
    "codes",
    "unknown",
    "hold_p50_ns",
    "hold_p90_ns",
    "hold_max_ns",
    "reject_cost",
    "reject_cost_per_million",
    "currency",
    "rejects_unmeasured",
    "quotes",
    "spread_ticks",
    "asymmetry_n",
    "asymmetry_p",
    "asymmetric",
    "found_in_8_of_10_ticks",
    "tests",
];
const MEANS: [&str; 8] = [
    "bank", "pair", "measure", "unit", "n", "mean", "low", "high",
];
const PRICES: [&str; 12] = [
    "bank",
    "pair",
    "up_to",
    "orders",
    "filled",
    "currency",
    "price_per_million",
    "reject_cost_per_million",
    "all_in_per_million",
    "low",
    "high",
    "all_in_ticks",
];

/// Ends of an interval with four decimals; empty if there is none.
fn ends(interval: Option<Interval>) -> [String; 2] {
    match interval {
        Some(ends) => ends.map(|end| format!("{end:.4}")),
        None => Default::default(),
    }
}

/// A rate with four decimals, and its interval.
fn rate(count: u64, of: u64) -> [String; 3] {
    let share = quotient(i128::from(count) * 10_000, i128::from(of));
    let [low, high] = ends(wilson(count, of));
    [known(share, 4), low, high]
}

fn names(account: &Account, quality: &Quality) -> [String; 2] {
    let (bank, pair) = quality.slot;
    [
        cell(&account.banks[bank]),
        cell(&account.pairs[pair].symbol),
    ]
}

/// `scorecard.csv`.
pub fn scorecard(account: &Account, qualities: &[Quality]) -> String {
    let mut table = Table::new(&SCORES);
    let tests = tests(qualities);
    for quality in qualities {
        table.row(&score(account, quality, tests));
    }
    table.finish()
}

/// Rows of `scorecard_days.csv` of one trade date: the same, behind the date.
pub fn day_rows(account: &Account, day: Day, qualities: &[Quality]) -> Vec<Vec<String>> {
    let tests = tests(qualities);
    let row = |quality| {
        let mut row = vec![day.to_string()];
        row.extend(score(account, quality, tests));
        row
    };
    qualities.iter().map(row).collect()
}

/// `scorecard_days.csv` of the rows of its trade dates.
pub fn scorecard_days<'a>(rows: impl Iterator<Item = &'a Vec<String>>) -> String {
    let mut columns = vec!["trade_date"];
    columns.extend(SCORES);
    let mut table = Table::new(&columns);
    rows.for_each(|row| table.row(row));
    table.finish()
}

/// Cells of a bank and pair, in a report of this number of tests.
fn score(account: &Account, quality: &Quality, tests: usize) -> Vec<String> {
    let optional = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let mut row = names(account, quality).to_vec();
    row.extend(
        [
            quality.orders,
            quality.sent as u64,
            quality.ended,
            quality.fills,
        ]
        .map(|count| count.to_string()),
    );
    row.push(quality.filled.to_string());
    row.push(quality.net.to_string());
    row.push(known(quality.fill_ratio(), 4));
    row.push(quality.with_fill.to_string());
    row.extend(rate(quality.with_fill, quality.ended));
    row.push(quality.rejected.to_string());
    row.extend(rate(quality.rejected, quality.ended));
    let codes = quality
        .codes
        .iter()
        .map(|(code, count)| format!("{code} {count}"));
    row.push(codes.collect::<Vec<_>>().join(" "));
    row.push(quality.unknown.to_string());
    row.extend([50, 90, 100].map(|percent| optional(quality.hold_ns(percent))));
    let cost = reject_cost2(quality);
    row.push(known(cost.map(|cost2| cost2 * 5), 10));
    row.push(known(
        cost.and_then(|cost2| per_million(cost2, quality.sent)),
        2,
    ));
    row.push(cell(account.pairs[quality.slot.1].currencies().1));
    row.push(quality.unmeasured.to_string());
    row.push(quality.quoted.quotes.to_string());
    let (spread_ns, spread_sum) = quality.quoted.spread;
    let spread = quotient(spread_sum * 100, i128::from(spread_ns));
    row.push(known(spread, 2));
    let tested = quality.tested.iter().map(|moved| moved.count).sum::<u64>();
    row.push(tested.to_string());
    match &quality.test {
        Some(test) => row.extend([
            probability(test.p),
            is_accused(quality, tests).to_string(),
            format!("{:.4}", test.found_in_8_of_10),
        ]),
        None => row.extend([const { String::new() }; 3]),
    }
    row.push(tests.to_string());
    row
}

/// Cost of the rejects, twice the value, 1e-9 of the term currency; none if no order ended or none of the rejects that the bank decided has mids.
pub fn reject_cost2(quality: &Quality) -> Option<i128> {
    let has_mids = quality.unmeasured == 0 || quality.moved[1].count > 0;
    let is_known = quality.ended > 0 && has_mids;
    is_known.then_some(quality.reject_cost2)
}

/// `means.csv`: every mean of the scorecard with its count and interval.
pub fn means(account: &Account, qualities: &[Quality]) -> String {
    let mut table = Table::new(&MEANS);
    for quality in qualities {
        let names = names(account, quality);
        let mut add = |measure: &str, n: u64, mean: Option<i128>, interval: Option<Interval>| {
            let [low, high] = ends(interval);
            let mut row = names.to_vec();
            row.extend([
                measure.to_owned(),
                "ticks".to_owned(),
                n.to_string(),
                known(mean, 2),
                low,
                high,
            ]);
            table.row(&row);
        };
        for (kind, measure) in ["moved_filled", "moved_rejected"].iter().enumerate() {
            let sample = &quality.moved[kind];
            let mean = mean(quality.moved_ticks2[kind], sample.count);
            add(measure, sample.count, mean, sample.interval());
        }
        let precision = account.pairs[quality.slot.1].precision;
        for (ms, n, mean, interval) in quality.markouts(ticks::tick(precision)) {
            add(&format!("markout_{ms}ms"), n, mean, interval);
        }
    }
    table.finish()
}

/// `prices.csv`: what a million costs at a bank, by size, with its rejects.
pub fn prices(account: &Account, qualities: &[Quality]) -> String {
    let mut table = Table::new(&PRICES);
    for quality in qualities {
        let pair = &account.pairs[quality.slot.1];
        let tick = i128::from(ticks::tick(pair.precision));
        for price in &quality.prices {
            let [low, high] = interval(price);
            let per = |amount2: i128| known(per_million(amount2, price.filled), 2);
            let all_in2 = price.price2 + price.reject2;
            let in_ticks = quotient(all_in2 * 100, 2 * i128::from(price.filled) * tick);
            let mut row = names(account, quality).to_vec();
            row.extend([
                price
                    .up_to
                    .map_or_else(String::new, |size| size.to_string()),
                price.orders.to_string(),
                price.filled.to_string(),
                cell(pair.currencies().1),
                per(price.price2),
                per(price.reject2),
                known(price.per_million(), 2),
                low,
                high,
                known(in_ticks, 2),
            ]);
            table.row(&row);
        }
    }
    table.finish()
}

/// Interval of a price, two decimals.
pub fn interval(price: &AllIn) -> [String; 2] {
    match price.ratio.interval().filter(|_| price.filled > 0) {
        Some(ends) => ends.map(|end| format!("{end:.2}")),
        None => Default::default(),
    }
}
