//! A bus to show, and the filter of its counters and histograms.

use touchline_client::monitor::{CountersView, Description, Overview, ProcessView, ReaderView};

/// A bus with its counters file.
pub struct Bus {
    pub overview: Overview,
    pub readers: Vec<ReaderView>,
    pub counters_file: Option<CountersView>,
    /// Relays that send it.
    pub relays: Vec<ProcessView>,
}

/// Filter of counters and histograms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nonzero counters and nonempty histograms.
    Counted,
    /// All.
    All,
    /// Counters with this text in name or meaning, in lower case.
    With(String),
}

impl Shown {
    pub fn has(&self, what: &Description, count: u64) -> bool {
        match self {
            Shown::All => true,
            Shown::Counted => count > 0,
            Shown::With(text) => {
                let has = |said: &str| said.to_lowercase().contains(text);
                has(&what.name) || has(&what.help)
            }
        }
    }
}
