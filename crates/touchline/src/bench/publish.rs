//! `touchline bench publish`: cost of readers to the writer.

use super::ipc::{failure, start};
use super::run::{Common, Run};
use crate::bench::progress::with_progress;
use crate::output::Failure;
use hdrhistogram::Histogram;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::ring::{BATCH_END, PAYLOAD_BYTES_MAX, Payload, Written};
use touchline_lab::bench::ipc::{Folder, Part, Role, pin};
use touchline_transport::clock::{Clock, ticks};

/// Cost of publishing one message, with and without readers.
///
/// Cases: no reader, one reader process, three, and one stopped by a signal, alternating in one run. Messages are
/// spaced in time, as in a feed; readers spin.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench publish
  touchline bench publish --rounds 20 --cpus 2,3

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Bytes of a message.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    payload: usize,
    /// Messages of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Time from one message to the next, microseconds.
    #[arg(long, value_name = "US", default_value_t = 1.0)]
    pause_us: f64,
    /// Processors: of the writer, and of all readers.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = super::ipc::cpus)]
    cpus: (usize, usize),
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    common: Common,
}

/// Name, number of readers, and whether they are stopped.
const COMPANIES: [(&str, u32, bool); 4] = [
    ("no-reader", 0, false),
    ("one-reader", 1, false),
    ("three-readers", 3, false),
    ("one-stopped-reader", 1, true),
];

/// Small enough to wrap every few milliseconds, so that readers are overrun too.
const RING_BYTES: u64 = 1024 * 1024;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if !(8..=PAYLOAD_BYTES_MAX).contains(&arguments.payload) {
        return Err(Failure::usage(format!(
            "--payload: give 8 to {PAYLOAD_BYTES_MAX} bytes"
        )));
    }
    pin(arguments.cpus.0).map_err(failure)?;
    let run = Run::begin(&arguments.common);
    let clock = run.clock();
    let mut histograms = COMPANIES.map(|_| latency_histogram());
    for _ in with_progress(0..arguments.rounds) {
        for ((_, readers, stopped), histogram) in COMPANIES.iter().zip(&mut histograms) {
            arguments.measure(*readers, *stopped, &clock, histogram)?;
        }
    }
    arguments.report(histograms, &run)
}

impl Arguments {
    fn measure(
        &self,
        readers: u32,
        stopped: bool,
        clock: &Clock,
        into: &mut Histogram<u64>,
    ) -> Result<(), Failure> {
        let folder = Folder::new().map_err(failure)?;
        let mut stream = Written::stream(folder.path(), RING_BYTES, false).map_err(failure)?;
        let role = Role {
            part: Part::RingRead,
            folder: folder.path().to_owned(),
            cpu: self.cpus.1,
            payload_bytes: self.payload,
            // Readers run until they are killed.
            messages: u64::MAX,
            gather: 1,
            shares_cpu: readers > 1,
        };
        let company = (0..readers)
            .map(|_| start(&role))
            .collect::<Result<Vec<_>, _>>()?;
        if stopped {
            company
                .iter()
                .try_for_each(|reader| reader.stop())
                .map_err(failure)?;
        }
        let pause_ns = (self.pause_us.max(0.0) * 1e3) as u64;
        let mut payload = Payload::new(self.payload);
        for number in 1..=self.messages {
            payload.set_number(number);
            let begin = ticks();
            payload.send(&mut stream.writer, BATCH_END, false);
            let end = ticks();
            into.saturating_record(clock.between_ns(begin, end));
            while clock.between_ns(begin, ticks()) < pause_ns {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn report(
        &self,
        histograms: [Histogram<u64>; COMPANIES.len()],
        run: &Run,
    ) -> Result<(), Failure> {
        let lines = COMPANIES
            .iter()
            .zip(histograms)
            .map(|((subject, ..), histogram)| Statistics {
                bench: "publish",
                subject: (*subject).to_owned(),
                payload_bytes: self.payload as u64,
                histogram,
            });
        let lines: Vec<_> = lines.collect();
        let what = format!(
            "one message of {} bytes every {} us, writer on processor {}, readers on {}",
            self.payload, self.pause_us, self.cpus.0, self.cpus.1
        );
        let at = |line: &Statistics, quantile| line.histogram.value_at_quantile(quantile) as f64;
        let ratio = |line: &Statistics, quantile| at(line, quantile) / at(&lines[0], quantile);
        let ratios = |number: usize| {
            let line = &lines[number];
            format!(" {:>9.2} {:>11.2}", ratio(line, 0.5), ratio(line, 0.999))
        };
        let head = format!(" {:>9} {:>11}", "p50 ratio", "p99.9 ratio");
        run.report_with(&what, &lines, &head, ratios, &[])
    }
}
