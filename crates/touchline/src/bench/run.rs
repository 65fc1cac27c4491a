//! A run of a benchmark: its frame, its conditions, and disturbances.

use super::progress::rows_with_progress;
use crate::doctor::cpu_list::CpuList;
use crate::format::utc;
use crate::output::Failure;
use crate::print::print_line;
use crate::version;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::conditions::{Load, Resolution};
use touchline_lab::bench::ipc::{Failed, pin};
use touchline_lab::bench::{Host, Statistics};
use touchline_transport::clock::{Clock, ticks};

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
    placement: Option<Placement>,
}

/// Processors of the busy processes of a benchmark.
struct Placement {
    what: String,
    /// Processors or cores that two of the processes share, a sentence each.
    shared: Vec<String>,
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
            placement: None,
        }
    }

    /// The same, with the calling thread on this processor.
    pub fn begin_on(cpu: usize, common: &Common) -> Result<Run, Failure> {
        pin(cpu).map_err(failure)?;
        Ok(Run::begin(common))
    }

    /// The frame of a benchmark: in each round `samples` of each subject, alternately.
    pub fn alternate<S>(
        &self,
        bench: &'static str,
        rounds: u32,
        subjects: &[(impl AsRef<str>, S)],
        mut samples: impl FnMut(u32, &S, &mut Histogram<u64>) -> Result<(), Failure>,
    ) -> Result<Vec<Statistics>, Failure> {
        let names = subjects.iter().map(|(name, _)| name.as_ref());
        let empty = names.map(|name| Statistics::new(bench, name, latency_histogram()));
        let mut rows: Vec<_> = empty.collect();
        let count = rows.len();
        for part in rows_with_progress(0..rounds as usize * count, "rows") {
            let (round, number) = ((part / count) as u32, part % count);
            samples(round, &subjects[number].1, &mut rows[number].histogram)?;
        }
        Ok(rows)
    }

    /// A sample of `count` calls that `work` makes: their mean.
    #[inline]
    pub fn sample<T>(&self, into: &mut Histogram<u64>, count: u64, work: impl FnOnce() -> T) -> T {
        let begin = ticks();
        let done = work();
        let end = ticks();
        into.saturating_record(self.clock.between_ns(begin, end) / count);
        done
    }

    /// Spins until `pause_us` after a reading of the clock.
    #[inline]
    pub fn pause(&self, begin: u64, pause_us: f64) {
        let pause_ns = (pause_us.max(0.0) * 1e3) as u64;
        while self.clock.between_ns(begin, ticks()) < pause_ns {
            std::hint::spin_loop();
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
        print_line!("{host}; touchline {}, {begun}", version::LONG);
        print_line!("{what}");
        print_line!("times in nanoseconds; {resolution}");
    }

    /// Sets the processors of the busy processes; `what` says which process runs where. JSON lines have both from now on.
    pub fn place(&mut self, what: &str, cpus: &[usize]) {
        self.placement = Some(Placement {
            what: what.to_owned(),
            shared: shared(cpus, siblings),
        });
    }

    /// Prints a warning for each two busy processes that share a processor, or a core as Linux knows it.
    pub fn print_shared(&self) {
        let sentences = self.placement.iter().flat_map(|placed| &placed.shared);
        sentences.for_each(|sentence| print_line!("SHARED: {sentence}"));
    }

    /// Prints below a table why its figures are not to be quoted, if so: disturbances of the run, and a build that is not
    /// optimised.
    pub fn print_caveats(&self) {
        if !version::IS_OPTIMISED {
            print_line!("{}", version::NOT_OPTIMISED);
        }
        let disturbed = self.disturbed();
        if !disturbed.is_empty() {
            print_line!(
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
        if let Some(Placement { what, shared }) = &self.placement {
            line["placement"] = json!(what);
            line["shared"] = json!(!shared.is_empty());
        }
        line["host"] = self.host.to_json();
        print_line!("{line}");
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
        print_line!("{}{head}", Statistics::HEAD);
        for (number, line) in statistics.iter().enumerate() {
            print_line!("{line}{}", more(number));
        }
        notes.iter().for_each(|note| print_line!("{note}"));
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

/// A run without a result.
pub fn failure(Failed(why): Failed) -> Failure {
    Failure::run(why)
}

/// All rounds of a subject.
pub fn merged<'a>(rounds: impl Iterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    let mut all = latency_histogram();
    for round in rounds {
        all.add(round).expect("they have the same bounds");
    }
    all
}

/// The median of some values; of an even number of them, the mean of the middle two.
///
/// # Panics
/// There is none.
pub fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    match values.len() % 2 {
        0 => (values[upper - 1] + values[upper]) / 2.0,
        _ => values[upper],
    }
}

/// Threads of a processor's core, as Linux knows them.
fn siblings(cpu: usize) -> CpuList {
    let list = format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list");
    let list = std::fs::read_to_string(list).unwrap_or_default();
    CpuList::of_kernel(&list).unwrap_or_default()
}

/// A sentence for each two processes on one processor or on threads of one core.
fn shared(cpus: &[usize], siblings: impl Fn(usize) -> CpuList) -> Vec<String> {
    let pairs = cpus.iter().enumerate();
    let pairs =
        pairs.flat_map(|(index, one)| cpus[index + 1..].iter().map(move |other| (one, other)));
    pairs
        .filter_map(|(&one, &other)| match one == other {
            true => Some(format!(
                "two processes run on processor {one}, and wait for each other"
            )),
            false => siblings(one)
                .iter()
                .any(|sibling| sibling == other)
                .then(|| format!("processors {one} and {other} are threads of one core")),
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_of_two_is_between_them() {
        assert_eq!(middle(vec![3.0, 1.0]), 2.0);
        assert_eq!(middle(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(middle(vec![4.0]), 4.0);
    }

    #[test]
    fn each_round_has_every_subject_and_a_sample_is_a_mean() {
        let common = Common {
            json: true,
            histograms: None,
        };
        let run = Run::begin(&common);
        let mut order = Vec::new();
        let rows = run.alternate(
            "test",
            2,
            &[("a", 'a'), ("b", 'b')],
            |round, subject, into| {
                order.push((round, *subject));
                run.sample(into, 1 << 40, || ());
                Ok(())
            },
        );
        assert_eq!(order, [(0, 'a'), (0, 'b'), (1, 'a'), (1, 'b')]);
        let rows = rows.expect("no subject fails");
        let counts = rows
            .iter()
            .map(|row| (row.subject.as_str(), row.histogram.len()));
        assert_eq!(counts.collect::<Vec<_>>(), [("a", 2), ("b", 2)]);
        assert!(rows.iter().all(|row| row.histogram.max() <= 1));
        let begin = ticks();
        run.pause(begin, 300.0);
        assert!(run.clock().between_ns(begin, ticks()) >= 300_000);
    }

    #[test]
    fn every_two_processes_of_a_processor_or_core_are_reported() {
        let siblings = |cpu| CpuList::of_kernel(["0,2", "1", "0,2"][cpu]).expect("a list");
        let shared = |cpus: &[usize]| shared(cpus, siblings);
        assert!(shared(&[1, 0]).is_empty());
        let on_one = "two processes run on processor 1, and wait for each other";
        assert_eq!(shared(&[1, 0, 1]), [on_one]);
        assert_eq!(
            shared(&[1, 0, 2]),
            ["processors 0 and 2 are threads of one core"]
        );
    }
}
