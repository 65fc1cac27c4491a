//! `touchline bench publish`: cost of readers to the writer.

use super::ipc::start;
use super::run::{Common, Run, failure};
use crate::output::Failure;
use hdrhistogram::Histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::ring::{BATCH_END, PAYLOAD_BYTES_MAX, Payload, Written};
use touchline_lab::bench::ipc::{Folder, Part, Role};
use touchline_transport::clock::ticks;

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
const COMPANIES: [(&str, (u32, bool)); 4] = [
    ("no-reader", (0, false)),
    ("one-reader", (1, false)),
    ("three-readers", (3, false)),
    ("one-stopped-reader", (1, true)),
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
    let run = Run::begin_on(arguments.cpus.0, &arguments.common)?;
    let lines = run.alternate(
        "publish",
        arguments.rounds,
        &COMPANIES,
        |_, company, into| arguments.measure(*company, &run, into),
    )?;
    let bytes = arguments.payload as u64;
    let lines = lines.into_iter().map(|line| line.of_bytes(bytes));
    arguments.report(&lines.collect::<Vec<_>>(), &run)
}

impl Arguments {
    fn measure(
        &self,
        (readers, stopped): (u32, bool),
        run: &Run,
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
            warmup: 0,
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
        let mut payload = Payload::new(self.payload);
        for number in 1..=self.messages {
            payload.set_number(number);
            let begin = ticks();
            run.sample(into, 1, || {
                payload.send(&mut stream.writer, BATCH_END, false)
            });
            run.pause(begin, self.pause_us);
        }
        Ok(())
    }

    fn report(&self, lines: &[Statistics], run: &Run) -> Result<(), Failure> {
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
        run.report_with(&what, lines, &head, ratios, &[])
    }
}
