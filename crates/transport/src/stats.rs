//! Counters files: numbers and histograms of a process, apart from any bus.
//!
//! Any process may have one, in a directory that it has the right to write. [`CountersFile`] is the
//! writing side, [`CountersView`] the reading one; [`ProcessStats`] is one under a name of its own, [`ReaderStats`] what a
//! reader that gave a name shows.

mod counters_file;
mod process_stats;
mod reader_stats;

pub use counters_file::{CountersFile, CountersView, Description, HistogramView, Origin};
pub use process_stats::{ProcessStats, ProcessView};
pub use reader_stats::{
    FineClock, READER_HISTOGRAMS, READERS_MAX, ReaderCounters, ReaderStats, ReaderView,
};
pub(crate) use reader_stats::{measure, sweep_of, views};
