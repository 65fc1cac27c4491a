//! Statistics of a composer and of the banks: counters, the passive half of the scorecard, histograms.
//!
//! A counter of a bank and a pair is named `<name>:<bank>:<pair>`, which an exporter shows with labels.

use crate::compose::counters::{BankCounters, Counters, ScoreCounters, labelled};
use crate::compose::output::Cause;
use crate::compose::time::HostClock;
use touchline_fx::Pricing;
use touchline_fx::quotes;
use touchline_fx::setup::Setup;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::{CountersFile, Error, Publisher, PublisherCounters};
use touchline_types::{CounterInfo, Side};

/// Measured intervals.
pub const HISTOGRAMS: &[CounterInfo] = &[
    CounterInfo {
        name: "compose_ns",
        unit: "ns",
        help: "From a bank's update polled from its bus to the composite published.",
    },
    CounterInfo {
        name: "receive_to_composite_ns",
        unit: "ns",
        help: "From a bank's message received by its gateway to the composite published.",
    },
];

/// The counters file of a composer.
#[derive(Debug)]
pub struct Statistics {
    file: CountersFile,
    clock: Clock,
    values: Vec<u64>,
}

impl Statistics {
    /// Creates the file on the publisher's bus.
    ///
    /// # Errors
    /// The file has no space for the counters.
    pub fn create(publisher: &Publisher, setup: &Setup) -> Result<Statistics, Error> {
        let clock = Clock::calibrated();
        let (banks, scores) = (banks(setup), scores(setup));
        let tables = [
            Counters::TABLE,
            quotes::Counters::TABLE,
            PublisherCounters::TABLE,
        ];
        let all = tables.into_iter().flatten().chain(&banks).chain(&scores);
        let file = CountersFile::create(publisher.lock(), clock.ns_per_tick(), all, HISTOGRAMS)?;
        Ok(Statistics {
            file,
            clock,
            values: Vec::with_capacity(256 + banks.len() + scores.len()),
        })
    }

    /// A quote was processed, and the result published.
    pub fn published(&mut self, cause: &Cause, host: &mut HostClock) {
        if cause.polled > 0 {
            let compose_ns = self.clock.between_ns(cause.polled, ticks());
            self.file.record(0, compose_ns);
            if !cause.is_taken_up {
                let since_ns = host.wall_ns().saturating_sub(cause.receive_ns);
                self.file.record(1, since_ns);
            }
        }
    }

    /// Updates all statistics. `closed_until_ns`: start of each bank's next session, while it is closed by its hours.
    pub fn show(
        &mut self,
        counters: &Counters,
        publisher: &PublisherCounters,
        closed_until_ns: impl Iterator<Item = u64>,
        pricing: &mut Pricing,
        setup: &Setup,
    ) {
        self.values.clear();
        self.values.extend(counters.counts());
        self.values.extend(pricing.counters().counts());
        self.values.extend(publisher.counts());
        for bank_closed_until in closed_until_ns {
            let counters = BankCounters { bank_closed_until };
            self.values.extend(counters.counts());
        }
        for (bank, about) in setup.banks.iter().enumerate() {
            let up_ns = pricing.up_ns(bank);
            for pair in &about.pairs {
                let score = pricing.score(bank, *pair);
                let counters = ScoreCounters {
                    score_quotes: score.quotes,
                    score_up_ns: up_ns,
                    score_best_bid_ns: score.best_ns[Side::Bid.index()],
                    score_best_ask_ns: score.best_ns[Side::Ask.index()],
                    score_quoting_ns: score.spread_ns,
                    score_spread_tick_us: u64::try_from(score.spread_sum / 1_000).unwrap_or(0),
                };
                self.values.extend(counters.counts());
            }
        }
        self.file.show(self.values.iter().copied());
    }
}

/// Counters of each bank.
fn banks(setup: &Setup) -> Vec<CounterInfo> {
    let all = setup.banks.iter();
    let all = all.flat_map(|bank| labelled(BankCounters::TABLE, &bank.config.name));
    all.collect()
}

/// Counters of each bank and pair.
fn scores(setup: &Setup) -> Vec<CounterInfo> {
    let mut all = Vec::new();
    for bank in &setup.banks {
        for pair in &bank.pairs {
            let symbol = &setup.pairs[*pair].config.symbol;
            let label = format!("{}:{symbol}", bank.config.name);
            all.extend(labelled(ScoreCounters::TABLE, &label));
        }
    }
    all
}
