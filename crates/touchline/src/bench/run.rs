//! A run of a benchmark: its conditions, and disturbances.

use crate::doctor::cpu_list::CpuList;
use crate::format::utc;
use crate::output::Failure;
use crate::version;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use touchline_lab::bench::conditions::{Load, Resolution};
use touchline_lab::bench::{Host, Statistics};
use touchline_transport::clock::Clock;

/// Options of every benchmark.
#[derive(Clone, Debug, clap::Args)]
pub struct Common {
    /// Print one JSON object a line instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Write the complete distribution of each figure into this folder, in the text format of
    /// HdrHistogram.
    #[arg(long, value_name = "DIR")]
    pub histograms: Option<PathBuf>,
}

/// A running benchmark.
pub struct Run {
    is_json: bool,
    histograms: Option<PathBuf>,
    host: Host,
    clock: Clock,
    resolution: Resolution,
    /// Start time, in UTC.
    begun: String,
    load: Load,
    /// Medians of the lower bound, one a round.
    floors_ns: Vec<u64>,
}

impl Run {
    /// Starts a run. Bind the measuring thread to its processor first.
    pub fn begin(common: &Common) -> Run {
        let clock = Clock::calibrated();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Run {
            is_json: common.json,
            histograms: common.histograms.clone(),
            host: Host::here(),
            clock,
            resolution: Resolution::measure(&clock),
            begun: utc(now.map_or(0, |now| now.as_nanos() as u64)),
            load: Load::now(),
            floors_ns: Vec::new(),
        }
    }

    /// Clock of the figures.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether figures are printed as JSON.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Adds the median of the lower bound in one round: a moving lower bound means that the host was disturbed.
    pub fn floor(&mut self, median_ns: u64) {
        self.floors_ns.push(median_ns);
    }

    /// Disturbances of the run so far.
    fn disturbed(&self) -> Vec<String> {
        let disturbance = Load::now().disturbance_since(&self.load, &self.floors_ns);
        disturbance.sentences()
    }

    /// Prints the header of a table: host, build, units, clock, and `what`.
    pub fn print_head(&self, what: &str) {
        let Run {
            host,
            begun,
            resolution,
            ..
        } = self;
        println!("{host}; touchline {}, {begun}", version::LONG);
        println!("{what}");
        println!("times in nanoseconds; {resolution}");
    }

    /// Prints a warning if two busy processes share a processor, or a core as Linux knows it.
    pub fn print_placement(&self, one: usize, other: usize) {
        let siblings = format!("/sys/devices/system/cpu/cpu{one}/topology/core_cpus_list");
        let siblings = std::fs::read_to_string(siblings).unwrap_or_default();
        let siblings = CpuList::of_kernel(&siblings).unwrap_or_default();
        if one == other {
            println!("SHARED: both processes run on processor {one}, and wait for each other");
        } else if siblings.iter().any(|sibling| sibling == other) {
            println!("SHARED: processors {one} and {other} are threads of one core");
        }
    }

    /// Prints below a table why its figures are not to be quoted, if so: disturbances of the run, and a build that is not
    /// optimised.
    pub fn print_caveats(&self) {
        if !version::IS_OPTIMISED {
            println!("{}", version::NOT_OPTIMISED);
        }
        let disturbed = self.disturbed();
        if !disturbed.is_empty() {
            println!(
                "DISTURBED: {}; measure again on a quiet host",
                disturbed.join("; ")
            );
        }
    }

    /// Prints a JSON line with the common fields: time, build, arguments, host and disturbances.
    pub fn print_json(&self, mut line: Value) {
        line["time"] = json!(self.begun);
        line["version"] = json!(version::VERSION);
        line["commit"] = json!(version::COMMIT);
        line["optimised"] = json!(version::IS_OPTIMISED);
        line["arguments"] = json!(std::env::args().skip(1).collect::<Vec<_>>());
        line["clock"] = json!({
            "step_ns": self.resolution.step_ns,
            "reading_ns": self.resolution.reading_ns,
        });
        line["disturbed"] = json!(self.disturbed());
        line["host"] = self.host.to_json();
        println!("{line}");
    }

    /// Prints figures as JSON lines or as a table with a header, and writes their distributions if requested.
    pub fn report(&self, what: &str, statistics: &[Statistics]) -> Result<(), Failure> {
        self.report_with(what, statistics, "", |_| String::new(), &[])
    }

    /// [`Self::report`] with more columns, which have headers, and notes below.
    pub fn report_with(
        &self,
        what: &str,
        statistics: &[Statistics],
        head: &str,
        more: impl Fn(usize) -> String,
        notes: &[String],
    ) -> Result<(), Failure> {
        self.write_distributions(statistics)?;
        if self.is_json {
            statistics
                .iter()
                .for_each(|line| self.print_json(line.to_json()));
            return Ok(());
        }
        self.print_head(what);
        println!("{}{head}", Statistics::HEAD);
        for (number, line) in statistics.iter().enumerate() {
            println!("{line}{}", more(number));
        }
        notes.iter().for_each(|note| println!("{note}"));
        self.print_caveats();
        Ok(())
    }

    /// Writes the complete distribution of each figure, if requested.
    pub fn write_distributions(&self, statistics: &[Statistics]) -> Result<(), Failure> {
        match &self.histograms {
            Some(folder) => write_distributions(statistics, folder),
            None => Ok(()),
        }
    }
}

fn write_distributions(statistics: &[Statistics], folder: &Path) -> Result<(), Failure> {
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let mut lines = statistics.iter();
        lines.try_for_each(|line| line.write_distribution(folder))
    });
    written.map_err(|error| {
        let folder = folder.display();
        Failure::run(format!(
            "{folder}: cannot be written ({error}); give a folder that you may write to"
        ))
    })
}
