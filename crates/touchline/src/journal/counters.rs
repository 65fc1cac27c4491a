//! Counters of `journal send` and `journal receive`, each in a counters file of its process.

use crate::output::Failure;
use crate::place::{Place, bus_name};
use touchline_transport::shm::ProcessStats;
use touchline_types::CounterInfo;

touchline_types::counters! {
    /// Counters of `touchline journal receive`.
    pub struct CopyCounters {
        journal_copy_connected: "sources now" = "1 while the copy is connected to its source.",
        journal_copy_connections: "times" = "Connections on which the source was heard.",
        journal_copy_position: "bytes now" = "Position up to which the copy is on the disk.",
        journal_copy_source_position: "bytes now" = "Position behind the last record of the source's journal, as of its last status; 0 if it was never heard.",
        journal_copy_behind: "bytes now" = "Bytes of the source's journal that are not on the disk here, as of the source's last status.",
        journal_copy_silent_ns: "ns now" = "Time since the source was heard, or since the start.",
    }
}

touchline_types::counters! {
    /// Counters of `touchline journal send`.
    pub struct SourceCounters {
        journal_source_position: "bytes now" = "Position behind the last record of the journal that was read for a copy.",
        journal_copies: "copies now" = "Copies that are connected.",
        journal_copies_behind: "bytes now" = "Bytes of the journal that are not on the disk of the connected copy that is most behind.",
        journal_copies_behind_ns: "ns now" = "Time since the oldest of these bytes was read here, to 10 ms.",
        journal_copies_lost: "times" = "Connections of copies that ended.",
        journal_copies_refused: "times" = "Connections that were refused, or ended before they were those of a copy.",
    }
}

/// Interval at which counters are written.
const SHOW_NS: u64 = 100_000_000;

/// Name and place of a counters file.
#[derive(Debug, clap::Args)]
pub struct Counted {
    /// Name of its counters, for `touchline stat NAME` and the exporter; a second process of this kind on a host needs another one.
    #[arg(long, value_name = "NAME", value_parser = bus_name)]
    name: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// A counters file that is written at an interval.
pub struct CountersAtInterval {
    stats: ProcessStats,
    at_ns: u64,
}

impl Counted {
    /// Creates the file, under this name if the arguments have none.
    pub fn create(&self, name: &str, table: &[CounterInfo]) -> Result<CountersAtInterval, Failure> {
        let name = self.name.as_deref().unwrap_or(name);
        let stats = ProcessStats::create(&self.place.root(), name, 1.0, table, []);
        let stats = stats.map_err(|error| {
            Failure::run(format!("counters {name}: {error}; give another --name"))
        })?;
        Ok(CountersAtInterval { stats, at_ns: 0 })
    }
}

impl CountersAtInterval {
    /// Whether the interval is over; another one begins.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns >= self.at_ns;
        if is_due {
            self.at_ns = now_ns + SHOW_NS;
        }
        is_due
    }

    /// Writes all counters, in the order of the table.
    pub fn show(&mut self, counts: impl IntoIterator<Item = u64>) {
        self.stats.counters_file().show(counts);
    }
}
