//! Counters files: counters and histograms of a process, independent of a bus.
//!
//! Any process may have one, in a directory that it may write. [`CountersFile`] is the writing side, [`CountersView`]
//! the reading one; [`ProcessStats`] is a counters file with its own name, [`ReaderStats`] that of a named reader.

mod counters_file;
mod process_stats;
mod reader_stats;

pub use counters_file::{CountersFile, CountersView, Description, HistogramView, Origin};
pub use process_stats::{ProcessStats, ProcessView};
pub use reader_stats::{
    FineClock, READER_HISTOGRAMS, READERS_MAX, ReaderCounters, ReaderStats, ReaderView,
};
pub(crate) use reader_stats::{check_places, measure, sweep_of, views};
