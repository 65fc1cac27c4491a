//! What a board held at one moment, and what can be said of two of them.

use crate::stat::points;
use std::collections::BTreeMap;
use std::time::Instant;
use touchline_client::monitor::{CountersView, Description, HistogramView};

/// A histogram and what it is.
pub type Histogram = (Description, HistogramView);

/// All that a board holds.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When it was taken.
    pub at: Instant,
    /// When its process began to count.
    pub start_unix_ns: u64,
    counters: BTreeMap<String, u64>,
    /// In the order of the table.
    pub histograms: Vec<Histogram>,
}

/// A histogram in five figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// How many values.
    pub count: u64,
    /// p50, p99, p99.9 and the largest; `None` of no values.
    pub at: [Option<u64>; 4],
}

impl Sample {
    /// What it holds now.
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

    /// Whether it counts this.
    pub fn has(&self, counter: &str) -> bool {
        self.counters.contains_key(counter)
    }

    /// A counter; 0 of one that there is not.
    pub fn counter(&self, counter: &str) -> u64 {
        self.counters.get(counter).copied().unwrap_or(0)
    }

    /// The names of all counters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.counters.keys().map(String::as_str)
    }
}

impl Points {
    /// Of what a histogram holds.
    pub fn of(view: &HistogramView) -> Points {
        Points {
            count: view.count(),
            at: points(view),
        }
    }
}

/// What came into a histogram after an earlier sample; `without` if there is none.
pub fn since(
    view: &HistogramView,
    earlier: Option<&Sample>,
    number: usize,
    without: Points,
) -> Points {
    let before = earlier.and_then(|sample| sample.histograms.get(number));
    // mutant: top: the last interval is all of it
    before.map_or(without, |(_, before)| Points::of(&view.since(before)))
}
