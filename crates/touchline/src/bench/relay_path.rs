//! `touchline bench relay-path`: a message from bus to bus, beside a datagram of raw UDP.

#[cfg(feature = "aeron")]
mod aeron;
mod ends;
mod links;
mod rate;

use super::run::{Common, Run, failure};
use crate::bench::progress::with_progress;
use crate::output::Failure;
use ends::Link;
use hdrhistogram::Histogram;
use links::{Links, Sample};
use std::fs;
use std::path::Path;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::Folder;

/// Time of a message from a bus over a relay to another bus, compared with a datagram of raw UDP.
///
/// With two processors, one thread publishes a trade and steps the sending end of the link, and another one steps the receiving end and
/// polls a reader of the second bus: the time that a message needs. With one, a single thread does all of it: the sum of the work on
/// the path, with the system calls of the loopback and without waits for another thread. Each sample is beside one of raw UDP on
/// the same threads.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench relay-path
  touchline bench relay-path --cpus 2,3 --samples 100000
  touchline bench relay-path --cpus 0
  touchline bench relay-path --rate

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Samples of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One processor for each end, or one for both.
    #[arg(long, value_name = "A[,B]", default_value = "0,1", value_parser = cpus)]
    cpus: (usize, Option<usize>),
    /// Messages per second; over Aeron beside plain Aeron with datagrams of the same lengths.
    #[arg(long)]
    rate: bool,
    #[command(flatten)]
    common: Common,
}

impl Arguments {
    /// Processor of the receiving end, if it has a thread of its own.
    fn receive_cpu(&self) -> Option<usize> {
        self.cpus.1
    }
}

/// One processor or two.
fn cpus(text: &str) -> Result<(usize, Option<usize>), String> {
    match text.parse() {
        Ok(one) => Ok((one, None)),
        Err(_) => super::ipc::cpus(text)
            .map(|(send, receive)| (send, Some(receive)))
            .map_err(|_| "give a processor, or two different ones such as 0,1".to_owned()),
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut run = Run::begin_on(arguments.cpus.0, &arguments.common)?;
    let folder = Folder::new().map_err(failure)?;
    fs::create_dir_all(folder.path()).map_err(Failure::run)?;
    if arguments.rate {
        return rate::run(arguments, folder.path(), &run);
    }
    let mut measured = Vec::new();
    for link in links(folder.path(), arguments.receive_cpu().is_some())? {
        measured.push(Measured::open(link, arguments, &run)?);
    }
    for _ in with_progress(0..arguments.rounds) {
        for subject in &mut measured {
            subject.round(arguments.samples, &mut run)?;
        }
    }
    report(measured, arguments, &run)
}

/// Links that are measured beside raw UDP.
fn links(folder: &Path, has_two_threads: bool) -> Result<Vec<Link>, Failure> {
    let mut links = Vec::new();
    // A thread that waits for itself has no lower bound.
    links.extend(has_two_threads.then(Link::cache_line));
    links.push(Link::tcp(&folder.join("tcp"))?);
    #[cfg(feature = "aeron")]
    links.extend([
        aeron::relay(folder)?,
        aeron::relay_group(folder)?,
        aeron::plain("aeron-udp", folder, vec![aeron::datagram_bytes()], None)?,
    ]);
    Ok(links)
}

/// A subject and raw UDP.
struct Measured {
    name: &'static str,
    payload_bytes: [u64; 2],
    /// Raw UDP, and the subject.
    links: Links,
    histograms: [Histogram<u64>; 2],
}

impl Measured {
    fn open(link: Link, arguments: &Arguments, run: &Run) -> Result<Measured, Failure> {
        let udp = Link::udp()?;
        Ok(Measured {
            name: link.name,
            payload_bytes: [udp.payload_bytes, link.payload_bytes],
            links: Links::open(vec![udp, link], arguments.receive_cpu(), run.clock())?,
            histograms: [latency_histogram(), latency_histogram()],
        })
    }

    fn round(&mut self, samples: u64, run: &mut Run) -> Result<(), Failure> {
        let mut round = latency_histogram();
        self.links.connect_all()?;
        for _ in 0..samples {
            for (link, histogram) in self.histograms.iter_mut().enumerate() {
                let took_ns = self.links.measure(link, Sample::Message)?.total_ns;
                histogram.saturating_record(took_ns);
                if link == 1 {
                    round.saturating_record(took_ns);
                }
            }
        }
        self.links.park();
        if self.name == "cache-line" {
            run.floor(round.value_at_quantile(0.5));
        }
        Ok(())
    }
}

fn report(measured: Vec<Measured>, arguments: &Arguments, run: &Run) -> Result<(), Failure> {
    let mut lines = Vec::new();
    let mut ratios = Vec::new();
    for subject in measured {
        let [udp, own] = subject.histograms;
        let median = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.5) as f64;
        ratios.extend([1.0, median(&own) / median(&udp)]);
        let names = [
            format!("udp-beside-{}", subject.name),
            subject.name.to_owned(),
        ];
        let pairs = names.into_iter().zip(subject.payload_bytes).zip([udp, own]);
        lines.extend(pairs.map(|((subject, bytes), histogram)| {
            Statistics::new("relay-path", subject, histogram).of_bytes(bytes)
        }));
    }
    let threads = match arguments.receive_cpu() {
        None => "one thread steps both ends",
        Some(_) => "a thread and a processor for each end",
    };
    let what = format!(
        "one trade from bus to bus over the loopback, {threads}; p50 ratio to raw UDP beside it"
    );
    let more = |number: usize| format!(" {:>9.2}", ratios[number]);
    run.report_with(&what, &lines, &format!(" {:>9}", "p50 ratio"), more, &[])
}

#[cfg(test)]
mod tests {
    use super::cpus;

    #[test]
    fn one_processor_or_two_different_ones() {
        assert_eq!(cpus("3"), Ok((3, None)));
        assert_eq!(cpus("0,1"), Ok((0, Some(1))));
        for wrong in ["", "0,0", "0,1,2", "a"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }
}
