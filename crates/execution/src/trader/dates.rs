//! Value dates: a pair whose spot date has passed gets no order any more, and one alarm.

use super::{Incident, Trader};
use crate::config::Config;
use touchline_fx::value_dates::ValueDates;

/// Interval of the comparison: the date turns at a full hour.
const COMPARE_NS: u64 = 1_000_000_000;

/// The dates of the run.
pub(super) struct Dates {
    dates: ValueDates,
    due_ns: u64,
}

impl Dates {
    /// Compares at the first call; `wall_ns` is the wall clock.
    pub fn new(config: &Config, wall_ns: u64) -> Dates {
        let mut sessions = config.sessions.iter();
        let is_on_this_host = sessions.all(|session| session.host.ip().is_loopback());
        Dates {
            dates: ValueDates::new(&config.date, is_on_this_host, wall_ns),
            due_ns: 0,
        }
    }
}

impl Trader {
    /// Whether value dates are compared with the configuration's own day: all banks are on this host, and the day is long ago.
    pub fn is_rehearsal(&self) -> bool {
        self.dates.dates.is_rehearsal()
    }

    /// Stops pairs whose spot date has passed.
    pub(super) fn watch_dates(&mut self, mono_ns: u64) {
        if mono_ns < self.dates.due_ns {
            return;
        }
        self.dates.due_ns = mono_ns + COMPARE_NS;
        // The engine's clock does not follow a step of the wall clock, and the date of an order is that of the wall clock.
        let now_ns = self.clock.wall_ns();
        for (pair, about) in self.setup.pairs.iter().enumerate() {
            // mutant: execution: orders leave with a value date that has passed
            let has_passed = self.dates.dates.has_passed(about.spot_date, now_ns);
            if has_passed && !self.core.engine.is_stopped(pair) {
                self.core.engine.stop(pair);
                self.core.incident(Incident::DatePassed {
                    pair: about.config.symbol.clone(),
                    spot_date: about.config.spot_date.clone(),
                });
            }
        }
    }
}
