//! `bench relay-path --rate`: how many messages a relay carries; over Aeron beside plain Aeron with datagrams of the same lengths.

use super::super::relay::payload_bytes;
use super::Arguments;
use super::ends::Link;
use super::links::{Links, Sample, Times};
use crate::bench::progress::with_progress;
use crate::bench::run::Run;
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::path::Path;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;

/// Trades that are published before both ends run: what a relay finds that has work all the time.
const BURST: u64 = 512;

/// A measured link with its times.
struct Subject {
    name: &'static str,
    /// Messages of the link that carry the trades.
    messages: u64,
    send: Histogram<u64>,
    receive: Histogram<u64>,
    total: Histogram<u64>,
}

impl Subject {
    fn new(link: &Link, messages: u64) -> Subject {
        Subject {
            name: link.name,
            messages,
            send: latency_histogram(),
            receive: latency_histogram(),
            total: latency_histogram(),
        }
    }

    fn record(&mut self, times: Times) {
        self.send.saturating_record(times.send_ns);
        self.receive.saturating_record(times.receive_ns);
        self.total.saturating_record(times.total_ns);
    }

    /// Trades per second by the medians: of both ends at once, or, if one thread steps both, of the slower end.
    fn per_second(&self, is_one_thread: bool) -> f64 {
        let median = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.5).max(1);
        let slower = match is_one_thread {
            true => median(&self.send).max(median(&self.receive)),
            false => median(&self.total),
        };
        BURST as f64 * 1e9 / slower as f64
    }

    fn lines(self, is_one_thread: bool) -> Vec<Statistics> {
        let line = |subject: String, histogram| {
            Statistics::new("relay-path-rate", subject, histogram).of_bytes(payload_bytes())
        };
        match is_one_thread {
            true => vec![
                line(format!("{}-send", self.name), self.send),
                line(format!("{}-receive", self.name), self.receive),
            ],
            false => vec![line(self.name.to_owned(), self.total)],
        }
    }
}

/// Measures all links in turn.
pub fn run(arguments: &Arguments, folder: &Path, run: &Run) -> Result<(), Failure> {
    let (opening, mut subjects): (Vec<_>, Vec<_>) = links(folder)?
        .into_iter()
        .map(|(link, messages)| {
            let subject = Subject::new(&link, messages);
            (link, subject)
        })
        .unzip();
    let mut open = Links::open(opening, arguments.receive_cpu(), run.clock())?;
    for _ in with_progress(0..arguments.rounds) {
        for _ in 0..arguments.samples.div_ceil(BURST) {
            for (link, subject) in subjects.iter_mut().enumerate() {
                subject.record(open.measure(link, Sample::Burst(subject.messages))?);
            }
        }
    }
    open.park();
    report(subjects, arguments.receive_cpu().is_none(), run)
}

/// Measured links, each with the number of messages that carry a burst.
fn links(folder: &Path) -> Result<Vec<(Link, u64)>, Failure> {
    let tcp = Link::tcp(&folder.join("tcp"))?;
    #[cfg(feature = "aeron")]
    let more = super::aeron::burst_links(folder, BURST)?;
    #[cfg(not(feature = "aeron"))]
    let more = [];
    Ok([(tcp, BURST)].into_iter().chain(more).collect())
}

fn report(subjects: Vec<Subject>, is_one_thread: bool, run: &Run) -> Result<(), Failure> {
    let what = match is_one_thread {
        true => "time of each end; rate of the slower one, as if each had a processor",
        false => "a thread and a processor for each end, time until the last has arrived",
    };
    let what = format!("{BURST} trades over the loopback, {what}");
    let rates: Vec<(&str, f64)> = subjects
        .iter()
        .map(|subject| (subject.name, subject.per_second(is_one_thread)))
        .collect();
    let notes = ratios(&rates);
    let mut columns = Vec::new();
    let mut lines = Vec::new();
    for (subject, (_, per_second)) in subjects.into_iter().zip(rates) {
        let more = subject.lines(is_one_thread);
        columns.extend(more.iter().map(|_| per_second));
        lines.extend(more);
    }
    let more = |number: usize| format!(" {:>9.2}", columns[number] / 1e6);
    run.report_with(&what, &lines, &format!(" {:>9}", "M/s"), more, &notes)
}

/// The rate of the relay over Aeron as multiples of those of plain Aeron.
fn ratios(rates: &[(&str, f64)]) -> Vec<String> {
    let relay = rates.iter().find(|(name, _)| *name == "relay-aeron-udp");
    let plain = |name: &&(&str, f64)| name.0.starts_with("aeron-udp");
    let ratio = |relay: f64| {
        move |(name, rate): &(&str, f64)| {
            format!(
                "the rate of relay-aeron-udp is {:.2} of {name}",
                relay / rate
            )
        }
    };
    let ratios = relay.map(|(_, relay)| rates.iter().filter(plain).map(ratio(*relay)).collect());
    ratios.unwrap_or_default()
}
