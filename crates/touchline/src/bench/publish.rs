//! `touchline bench publish`: what readers cost the writer.

use super::ipc::{failure, start};
use crate::output::Failure;
use hdrhistogram::Histogram;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::ipc::ring::{BATCH_END, PAYLOAD_BYTES_MAX, Payload, Written};
use touchline_lab::bench::ipc::{Folder, Part, Role, pin};
use touchline_lab::bench::{Host, Statistics};
use touchline_transport::clock::{Clock, ticks};

/// What it costs to publish one message, with readers and without.
///
/// Nobody reads, one process reads, three do, and one is stopped by a signal: by turns, in one run.
/// Messages leave some time between them, as those of a feed do; readers spin.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench publish
  touchline bench publish --rounds 20 --cpus 2,3")]
pub struct Arguments {
    /// Bytes of a message.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    payload: usize,
    /// Messages of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Nanoseconds from one message to the next.
    #[arg(long, value_name = "NS", default_value_t = 1_000)]
    every_ns: u64,
    /// Processors: of the writer, and of all readers.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = super::ipc::cpus)]
    cpus: (usize, usize),
    /// Times that each subject is measured, by turns.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

/// Who reads: how many, and whether they are stopped.
const COMPANIES: [(&str, u32, bool); 4] = [
    ("no-reader", 0, false),
    ("one-reader", 1, false),
    ("three-readers", 3, false),
    ("one-stopped-reader", 1, true),
];

/// So many bytes go round in a few milliseconds, so that readers are overtaken, too.
const RING_BYTES: u64 = 1024 * 1024;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if !(8..=PAYLOAD_BYTES_MAX).contains(&arguments.payload) {
        return Err(Failure::usage(format!(
            "--payload: give 8 to {PAYLOAD_BYTES_MAX} bytes"
        )));
    }
    let host = Host::here();
    pin(arguments.cpus.0).map_err(failure)?;
    let mut histograms = COMPANIES.map(|_| latency_histogram());
    for _ in 0..arguments.rounds {
        for ((_, readers, stopped), histogram) in COMPANIES.iter().zip(&mut histograms) {
            arguments.measure(*readers, *stopped, histogram)?;
        }
    }
    arguments.report(histograms, &host);
    Ok(())
}

impl Arguments {
    fn measure(
        &self,
        readers: u32,
        stopped: bool,
        into: &mut Histogram<u64>,
    ) -> Result<(), Failure> {
        let folder = Folder::new().map_err(failure)?;
        let mut stream = Written::stream(folder.path(), RING_BYTES, false).map_err(failure)?;
        let role = Role {
            part: Part::RingRead,
            folder: folder.path().to_owned(),
            cpu: self.cpus.1,
            payload_bytes: self.payload,
            // They read until they are killed.
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
        let clock = Clock::calibrated();
        let mut payload = Payload::new(self.payload);
        for number in 1..=self.messages {
            payload.set_number(number);
            let begin = ticks();
            payload.send(&mut stream.writer, BATCH_END, false);
            let end = ticks();
            into.saturating_record(clock.between_ns(begin, end));
            while clock.between_ns(begin, ticks()) < self.every_ns {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn report(&self, histograms: [Histogram<u64>; COMPANIES.len()], host: &Host) {
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
        if self.json {
            lines
                .iter()
                .for_each(|line| println!("{}", line.to_json(host)));
            return;
        }
        println!("{host}");
        println!(
            "{} bytes every {} ns, writer on processor {}, readers on {}",
            self.payload, self.every_ns, self.cpus.0, self.cpus.1
        );
        println!("{}{:>10}{:>10}", Statistics::HEAD, "p50 ratio", "p99.9 r.");
        let at = |line: &Statistics, quantile| line.histogram.value_at_quantile(quantile) as f64;
        let ratio = |line: &Statistics, quantile| at(line, quantile) / at(&lines[0], quantile);
        for line in &lines {
            println!(
                "{line}{:>10.2}{:>10.2}",
                ratio(line, 0.5),
                ratio(line, 0.999)
            );
        }
    }
}
