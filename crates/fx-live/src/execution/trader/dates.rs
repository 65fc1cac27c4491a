//! Value dates: a pair whose spot date has passed gets no more orders, and one alarm.

use super::{Incident, Trader};
use crate::execution::config::Config;
use touchline_fx::value_dates::ValueDates;

/// Interval of the comparison: the date turns at a full hour.
const COMPARE_NS: u64 = 1_000_000_000;

/// The dates of the run.
pub(super) struct Dates {
    day: Day,
    due_ns: u64,
}

/// Day that a pair's spot date is compared with.
enum Day {
    /// New York's.
    Today,
    /// The dates of the configuration, which is marked as a rehearsal.
    Rehearsal(ValueDates),
    /// The dates of the configuration, which are long past, with banks on this host, for pairs whose banks state the
    /// same value date: a simulated bank does, a live bank behind a proxy on this host does not.
    AsQuoted(ValueDates),
}

impl Dates {
    /// Compares at the first call; `wall_ns` is the wall clock.
    pub fn new(config: &Config, wall_ns: u64) -> Dates {
        let own = ValueDates::of_rehearsal(&config.date, wall_ns);
        let day = match (config.rehearsal, config.is_on_this_host()) {
            (true, _) => Day::Rehearsal(own),
            (false, true) if own.is_long_ago() => Day::AsQuoted(own),
            (false, _) => Day::Today,
        };
        Dates { day, due_ns: 0 }
    }
}

impl Trader {
    /// Stops pairs whose spot date has passed.
    pub(super) fn watch_dates(&mut self, mono_ns: u64) {
        if mono_ns < self.dates.due_ns {
            return;
        }
        self.dates.due_ns = mono_ns + COMPARE_NS;
        for pair in 0..self.setup.pairs.len() {
            if self.core.engine.trading().is_stopped(pair) || !self.has_passed(pair) {
                continue;
            }
            self.core.engine.stop(pair);
            let about = &self.setup.pairs[pair].config;
            self.core.incident(Incident::DatePassed {
                pair: about.symbol.clone(),
                spot_date: about.spot_date.clone(),
            });
        }
    }

    fn has_passed(&mut self, pair: usize) -> bool {
        // The engine's clock does not follow a step of the wall clock, and the date of an order is that of the wall clock.
        let now_ns = self.clock.wall_ns();
        let spot_date = self.setup.pairs[pair].spot_date;
        // mutant: execution: orders leave with a value date that has passed
        let has_passed = |dates: &ValueDates| dates.has_passed(spot_date, now_ns);
        match &self.dates.day {
            Day::Today => has_passed(&ValueDates::TODAY),
            Day::Rehearsal(own) => has_passed(own),
            Day::AsQuoted(own) if has_passed(own) => true,
            Day::AsQuoted(_) if has_passed(&ValueDates::TODAY) => {
                let mut is_undated = false;
                for source in &mut self.sources {
                    is_undated |= source.require_dates(pair);
                }
                is_undated
            }
            Day::AsQuoted(_) => false,
        }
    }
}
