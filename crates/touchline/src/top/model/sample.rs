//! Sample of a counters file, and differences of two.

use crate::stat::points;
use std::collections::BTreeMap;
use std::time::Instant;
use touchline_client::monitor::{CountersView, Description, HistogramView};

/// A count.
#[derive(Clone, Debug, Default)]
pub struct Count {
    /// Name.
    pub name: String,
    /// Total.
    pub total: u64,
    /// Increase in the last interval.
    pub recent: u64,
    /// Whether an increase is a fault.
    pub is_bad: bool,
}

/// A histogram with its description.
pub type Histogram = (Description, HistogramView);

/// Content of a counters file.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time of the sample.
    pub at: Instant,
    /// Start time of the counting process.
    pub start_unix_ns: u64,
    counters: BTreeMap<String, u64>,
    /// In the order of the table.
    pub histograms: Vec<Histogram>,
}

/// Quantiles of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// Number of values.
    pub count: u64,
    /// p50, p99, p99.9 and the maximum; `None` without values.
    pub at: [Option<u64>; 4],
}

impl Sample {
    /// Reads the counters file.
    pub fn take(counters_file: &CountersView) -> Sample {
        let counters = counters_file.counters();
        let histograms = counters_file.histograms();
        Sample {
            at: Instant::now(),
            start_unix_ns: counters_file.origin().start_unix_ns,
            counters: counters
                .map(|(what, value)| (what.name.clone(), value))
                .collect(),
            histograms: histograms
                .map(|(what, view)| (what.clone(), view))
                .collect(),
        }
    }

    /// A sample of these counters alone.
    #[cfg(test)]
    pub fn of(counters: impl IntoIterator<Item = (impl Into<String>, u64)>) -> Sample {
        let counters = counters.into_iter();
        Sample {
            at: Instant::now(),
            start_unix_ns: 0,
            counters: counters.map(|(name, value)| (name.into(), value)).collect(),
            histograms: Vec::new(),
        }
    }

    /// Whether the counter exists.
    pub fn has(&self, counter: &str) -> bool {
        self.counters.contains_key(counter)
    }

    /// Value of a counter; 0 if it does not exist.
    pub fn counter(&self, counter: &str) -> u64 {
        self.counters.get(counter).copied().unwrap_or(0)
    }

    /// The names of all counters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.counters.keys().map(String::as_str)
    }
}

impl Points {
    /// Quantiles of a histogram.
    pub fn of(view: &HistogramView) -> Points {
        Points {
            count: view.count(),
            at: points(view),
        }
    }
}

/// Values added to a histogram after an earlier sample; `without` if there is none.
pub fn since(
    view: &HistogramView,
    earlier: Option<&Sample>,
    number: usize,
    without: Points,
) -> Points {
    let before = earlier.and_then(|sample| sample.histograms.get(number));
    before.map_or(without, |(_, before)| Points::of(&view.since(before)))
}
