//! Scorecard of a composite's banks, from the counters `score_<what>:<bank>:<pair>` of its composer.

use super::sample::Sample;
use std::collections::BTreeMap;

/// How a bank does in a pair, since the start or the reset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BankScore {
    /// Name.
    pub bank: String,
    /// Quote messages per second that its session was up.
    pub quotes_per_second: f64,
    /// Share of the time that its session was up in which it was at the best bid, and ask.
    pub best: [f64; 2],
    /// Its own mean spread while both sides counted, ticks.
    pub spread: Option<f64>,
    /// Time that its session was up, nanoseconds.
    pub up_ns: u64,
}

/// Scores of a pair, the bank that is most at the best first. `total` is that of a counter.
pub fn of_pair(sample: &Sample, symbol: &str, total: impl Fn(&str) -> u64) -> Vec<BankScore> {
    let mut banks: BTreeMap<&str, BankScore> = BTreeMap::new();
    for name in sample.names() {
        let parts = name.strip_prefix("score_quotes:");
        let Some((bank, pair)) = parts.and_then(|parts| parts.rsplit_once(':')) else {
            continue;
        };
        if pair != symbol {
            continue;
        }
        let of = |what: &str| total(&format!("score_{what}:{bank}:{pair}"));
        let up_ns = of("up_ns");
        let share = |of_up: u64| of_up as f64 / up_ns.max(1) as f64;
        let quoting_us = of("quoting_ns") / 1_000;
        let score = BankScore {
            bank: bank.to_owned(),
            quotes_per_second: share(of("quotes")) * 1e9,
            best: [share(of("best_bid_ns")), share(of("best_ask_ns"))],
            spread: (quoting_us > 0).then(|| of("spread_tick_us") as f64 / quoting_us as f64),
            up_ns,
        };
        banks.insert(bank, score);
    }
    let mut scores: Vec<BankScore> = banks.into_values().collect();
    let at_best = |score: &BankScore| score.best[0] + score.best[1];
    // Banks that are equally often at the best price are sorted by name.
    scores.sort_by(|one, other| at_best(other).total_cmp(&at_best(one)));
    scores
}
