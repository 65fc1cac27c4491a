//! `touchline bench record`: what a recorder costs the publisher of its bus.

use super::relay::{BUS, Gateway, payload_bytes};
use super::run::{Common, Run, failure};
use crate::format::{count, rate};
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::{Folder, pin};
use touchline_transport::clock::ticks;
use touchline_transport::shm::{CountersView, Root};

/// Cost of publishing a message, without a recorder and beside one.
///
/// A process publishes on a bus. Rounds alternate: without a recorder, and with one that writes each message to a tape. The publisher waits
/// for none, so the ratio of both is 1 but for what both share of the host: caches, memory and the disk's interrupts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench record --tape /data
  touchline bench record --tape /data --pause-us 10 --rounds 20 --cpus 2,3

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Folder for the tape, on the disk that is measured; the tape is removed at the end. Default: the system's temporary folder.
    #[arg(long, value_name = "DIR")]
    tape: Option<PathBuf>,
    /// Messages of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Time from one message to the next, microseconds.
    #[arg(long, value_name = "US", default_value_t = 2.0)]
    pause_us: f64,
    /// Processors: of the publisher, and of the recorder.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = super::ipc::cpus)]
    cpus: (usize, usize),
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    common: Common,
}

/// Name, and whether a recorder runs.
const SUBJECTS: [(&str, bool); 2] = [("no-recorder", false), ("recorder", true)];
/// Longest time until the recorder has joined, and until it has ended.
const START_MAX: Duration = Duration::from_secs(30);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus.0, &arguments.common)?;
    let shared = Folder::new().map_err(failure)?;
    std::fs::create_dir_all(shared.path()).map_err(Failure::run)?;
    let buses = shared.path().join("buses");
    let mut gateway = Gateway::start(&buses)?;
    let name = format!("touchline-bench-tape-{}", std::process::id());
    let folder = arguments.tape.clone().unwrap_or_else(std::env::temp_dir);
    let tape = Tape(folder.join(name));
    let mut taken = Taken::default();
    let lines = run.alternate(
        "record",
        arguments.rounds,
        &SUBJECTS,
        |_, is_recorded, into| {
            let recorder = is_recorded.then(|| Recorder::start(&buses, &tape.0, arguments.cpus));
            let recorder = recorder.transpose()?;
            let begin = Instant::now();
            arguments.measure(&mut gateway, &run, into);
            if let Some(recorder) = recorder {
                taken.seconds += begin.elapsed().as_secs_f64();
                recorder.end(&mut taken)?;
            }
            Ok(())
        },
    )?;
    let lines = lines.into_iter().map(|line| line.of_bytes(payload_bytes()));
    arguments.report(&lines.collect::<Vec<_>>(), &taken, &run)
}

/// What the recorders took, over all rounds.
#[derive(Default)]
struct Taken {
    messages: u64,
    lost: u64,
    /// Time in which they were published.
    seconds: f64,
}

impl Arguments {
    fn measure(&self, gateway: &mut Gateway, run: &Run, into: &mut Histogram<u64>) {
        for _ in 0..self.messages {
            let begin = ticks();
            run.sample(into, 1, || gateway.publish());
            run.pause(begin, self.pause_us);
        }
    }

    fn report(&self, lines: &[Statistics], taken: &Taken, run: &Run) -> Result<(), Failure> {
        let what = format!(
            "one trade every {} us, publisher on processor {}, recorder on {}",
            self.pause_us, self.cpus.0, self.cpus.1
        );
        let at = |line: &Statistics, quantile| line.histogram.value_at_quantile(quantile) as f64;
        let ratio = |line: &Statistics, quantile| at(line, quantile) / at(&lines[0], quantile);
        let ratios = |number: usize| {
            let line = &lines[number];
            format!(" {:>9.2} {:>11.2}", ratio(line, 0.5), ratio(line, 0.999))
        };
        let head = format!(" {:>9} {:>11}", "p50 ratio", "p99.9 ratio");
        let note = format!(
            "the rate beside the recorder: {}; recorded {} messages, lost {}",
            rate(taken.messages + taken.lost, taken.seconds),
            count(taken.messages),
            count(taken.lost)
        );
        run.report_with(&what, lines, &head, ratios, &[note])
    }
}

/// A recorder process; it is killed with this value.
struct Recorder {
    child: Child,
    counters: Option<CountersView>,
}

impl Recorder {
    /// Starts this program again, as a recorder on its processor; returns when it has joined the bus.
    fn start(buses: &Path, tape: &Path, cpus: (usize, usize)) -> Result<Recorder, Failure> {
        // A child has the processor of the thread that starts it.
        pin(cpus.1).map_err(failure)?;
        let child = Command::new(std::env::current_exe().map_err(Failure::run)?)
            .args(["record", BUS, "--until-eof", "--keep-gb", "1", "--journal"])
            .arg(tape)
            .arg("--dir")
            .arg(buses)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        pin(cpus.0).map_err(failure)?;
        let child =
            child.map_err(|error| Failure::run(format!("cannot start a recorder: {error}")))?;
        let mut recorder = Recorder {
            child,
            counters: None,
        };
        let processes = Root::at(buses.join(".processes"));
        let start = Instant::now();
        while recorder.counter("record_buses") != Some(1) {
            let counters = CountersView::open(&processes, &format!("record-{BUS}"));
            recorder.counters = counters.ok().flatten();
            if start.elapsed() > START_MAX {
                let text = format!("{}: no recorder joins the bus", tape.display());
                return Err(Failure::run(text));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(recorder)
    }

    fn counter(&self, name: &str) -> Option<u64> {
        self.counters.as_ref()?.counter(name)
    }

    /// Ends it; its tape has everything that it did not lose.
    fn end(mut self, taken: &mut Taken) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(Failure::run)?;
        // Its last counters stay in the mapping.
        taken.messages += self.counter("record_messages").unwrap_or(0);
        taken.lost += self.counter("record_lost").unwrap_or(0);
        match status.success() {
            true => Ok(()),
            false => Err(Failure::run(format!("the recorder failed: {status}"))),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The directory of the tape; it is removed with this value.
struct Tape(PathBuf);

impl Drop for Tape {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
