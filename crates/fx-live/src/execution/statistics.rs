//! Counters and histograms of an engine, in a counters file that has the name of its bus.

use crate::compose::{Counters as SourceCounters, labelled};
use crate::execution::counters::{AlarmCounters, BankCounters, Counters};
use crate::execution::trader::Path;
use touchline_fx::Engine;
use touchline_fx::quotes;
use touchline_fx::setup::Setup;
use touchline_fx_events::event::Alarm;
use touchline_fx_events::orders::RejectCode;
use touchline_transport::bus::{Error, Root};
use touchline_transport::clock::Clock;
use touchline_transport::shm::ProcessStats;
use touchline_types::CounterInfo;

/// Measured intervals.
pub const HISTOGRAMS: &[CounterInfo] = &[
    CounterInfo {
        name: "fx_quote_to_order_ns",
        unit: "ns",
        help: "From a bank's quote polled from its bus to the last byte of its orders handed to the kernel.",
    },
    CounterInfo {
        name: "fx_receive_to_order_ns",
        unit: "ns",
        help: "From a bank's quote received by its gateway to the last byte of its orders handed to the kernel.",
    },
];

/// Counts of one bank that the core does not have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BankCounts {
    /// Messages about orders.
    pub reports: u64,
    /// Start of the next session while this one is closed by its hours, nanoseconds since 1970; else 0.
    pub closed_until_ns: u64,
}

/// The counters file.
#[derive(Debug)]
pub(crate) struct Statistics {
    stats: ProcessStats,
    clock: Clock,
    values: Vec<u64>,
}

impl Statistics {
    /// Creates the file.
    pub fn create(
        root: &Root,
        name: &str,
        clock: Clock,
        setup: &Setup,
    ) -> Result<Statistics, Error> {
        let banks = of_banks(setup);
        let alarms = of_alarms();
        let tables = [
            Counters::TABLE,
            &alarms,
            SourceCounters::TABLE,
            quotes::Counters::TABLE,
            &banks,
        ];
        let all: Vec<&CounterInfo> = tables.into_iter().flatten().collect();
        let count = all.len();
        let stats = ProcessStats::create(root, name, clock.ns_per_tick(), all, HISTOGRAMS)?;
        Ok(Statistics {
            stats,
            clock,
            values: Vec::with_capacity(count),
        })
    }

    /// Removes the file, at an end in order.
    pub fn finish(self) {
        self.stats.finish();
    }

    /// Records the paths of a round.
    pub fn record(&mut self, paths: &[Path], wall_ns: u64, now: u64) {
        for path in paths {
            let path_ns = self.clock.between_ns(path.began, path.ended);
            // The wall clock was read after the last byte was handed over.
            let since_ns = self.clock.between_ns(path.ended, now);
            let ended_ns = wall_ns.saturating_sub(since_ns);
            let file = self.stats.counters_file();
            file.record(0, path_ns);
            file.record(1, ended_ns.saturating_sub(path.receive_ns));
        }
    }

    /// Updates all counters.
    pub fn show(
        &mut self,
        counters: &Counters,
        alarms: &[u64],
        sources: &SourceCounters,
        banks: impl Iterator<Item = BankCounts>,
        engine: &Engine,
    ) {
        self.values.clear();
        self.values.extend(counters.counts());
        self.values.extend(alarms);
        self.values.extend(sources.counts());
        self.values.extend(engine.pricing().counters().counts());
        let setup = engine.setup();
        for (bank, counts) in banks.enumerate() {
            let [orders, fills, rejects, unknown] = scores(engine, setup, bank);
            let counters = BankCounters {
                fx_bank_session: u64::from(engine.trading().is_order_session_up(bank)),
                fx_bank_closed_until: counts.closed_until_ns,
                fx_bank_orders: orders,
                fx_bank_reports: counts.reports,
                fx_bank_fills: fills,
                fx_bank_rejects: rejects,
                fx_bank_outcomes_unknown: unknown,
            };
            self.values.extend(counters.counts());
        }
        let file = self.stats.counters_file();
        file.show(self.values.iter().copied());
    }
}

/// Orders that ended without a fill of all banks, by code.
pub(crate) fn rejects(engine: &Engine) -> [u64; RejectCode::COUNT] {
    let mut sum = [0; RejectCode::COUNT];
    for slot in 0..engine.setup().slots() {
        let of_slot = engine.trading().score_so_far(slot).rejects;
        sum.iter_mut().zip(of_slot).for_each(|(sum, of)| *sum += of);
    }
    sum
}

/// Times that an outcome became unknown, of all banks.
pub(crate) fn unknown(engine: &Engine) -> u64 {
    let slots = 0..engine.setup().slots();
    slots
        .map(|slot| engine.trading().score_so_far(slot).unknown)
        .sum()
}

/// Orders, fills, rejects and unknown outcomes of a bank.
fn scores(engine: &Engine, setup: &Setup, bank: usize) -> [u64; 4] {
    let mut sum = [0; 4];
    for pair in &setup.banks[bank].pairs {
        let score = engine.trading().score_so_far(setup.slot(bank, *pair));
        let rejects: u64 = score.rejects.iter().sum();
        let of_pair = [score.orders, score.fills, rejects, score.unknown];
        sum.iter_mut().zip(of_pair).for_each(|(sum, of)| *sum += of);
    }
    sum
}

/// Counters of each alarm.
fn of_alarms() -> Vec<CounterInfo> {
    let mut all = Vec::new();
    for what in Alarm::all() {
        all.extend(labelled(AlarmCounters::TABLE, &what.to_string()));
    }
    all
}

/// Counters of each bank.
fn of_banks(setup: &Setup) -> Vec<CounterInfo> {
    let banks = setup.banks.iter();
    let all = banks.flat_map(|bank| labelled(BankCounters::TABLE, &bank.config.name));
    all.collect()
}
