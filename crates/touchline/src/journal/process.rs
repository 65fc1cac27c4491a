//! Common part of `journal send` and `journal receive`: a process with counters and a log that runs until it is stopped.

use crate::interrupt::Interrupt;
use crate::log::{Log, LogArguments, LogThread};
use crate::output::{Failure, ended, log_thread};
use crate::place::{Place, bus_name};
use touchline_transport::shm::ProcessStats;
use touchline_types::CounterInfo;

/// Interval at which counters are written.
const SHOW_NS: u64 = 100_000_000;

/// Arguments of both.
#[derive(Debug, clap::Args)]
pub struct Process {
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long)]
    until_eof: bool,
    /// Name of its counters, for `touchline stat NAME` and the exporter; a second process of this kind on a host needs another one.
    #[arg(long, value_name = "NAME", value_parser = bus_name)]
    name: Option<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    log: LogArguments,
}

/// A counters file that is written at an interval.
pub struct CountersAtInterval {
    stats: ProcessStats,
    at_ns: u64,
}

impl Process {
    /// Runs `serve`, which returns when it is interrupted, and logs its failure. The counters have this name if the arguments
    /// have none.
    pub fn run(
        &self,
        name: &str,
        table: &[CounterInfo],
        serve: impl FnOnce(&Interrupt, &mut LogThread, &mut CountersAtInterval) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let interrupt = Interrupt::catch()?;
        if self.until_eof {
            interrupt.at_end_of_input();
        }
        let mut log = log_thread(Log::to_stderr(self.log, Vec::new()))?;
        let counters = self.counters(name, table);
        let outcome = counters.and_then(|mut counters| {
            serve(&interrupt, &mut log, &mut counters)?;
            counters.stats.finish();
            Ok(String::new())
        });
        ended(outcome, log)
    }

    fn counters(&self, name: &str, table: &[CounterInfo]) -> Result<CountersAtInterval, Failure> {
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
