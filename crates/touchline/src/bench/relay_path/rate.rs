//! `bench relay-path --rate`: how many messages a relay over Aeron carries, beside plain Aeron with datagrams of the same lengths.

use super::super::relay::{Gateway, payload_bytes};
use super::ends::send_settings;
use super::sides::{Load, Sides, Spent};
use super::{Arguments, aeron};
use crate::bench::run::Run;
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::path::Path;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::run::{Sending, Work};

/// Trades that are published before both ends run: what a relay finds that has work all the time.
const BURST: u64 = 512;

/// Distributions of a link.
struct Rate {
    near: Histogram<u64>,
    far: Histogram<u64>,
    total: Histogram<u64>,
}

impl Rate {
    fn new() -> Rate {
        Rate {
            near: latency_histogram(),
            far: latency_histogram(),
            total: latency_histogram(),
        }
    }

    fn record(&mut self, spent: Spent) {
        self.near.saturating_record(spent.near_ns);
        self.far.saturating_record(spent.far_ns);
        self.total.saturating_record(spent.total_ns);
    }

    /// Messages per second by the medians: of both ends at once, or, if one thread steps both, of the slower end.
    fn per_second(&self, is_one_thread: bool) -> f64 {
        let median = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.5).max(1);
        let slower = match is_one_thread {
            true => median(&self.near).max(median(&self.far)),
            false => median(&self.total),
        };
        BURST as f64 * 1e9 / slower as f64
    }

    fn lines(self, name: &str, is_one_thread: bool) -> Vec<Statistics> {
        let line = |subject: String, histogram| Statistics {
            bench: "relay-path-rate",
            subject,
            payload_bytes: payload_bytes(),
            histogram,
        };
        match is_one_thread {
            true => vec![
                line(format!("{name}-send"), self.near),
                line(format!("{name}-receive"), self.far),
            ],
            false => vec![line(name.to_owned(), self.total)],
        }
    }
}

/// Alternates relay and plain Aeron.
pub fn run(arguments: &Arguments, folder: &Path, run: &Run) -> Result<(), Failure> {
    let longest = aeron::datagram_bytes_max(folder)?;
    let lengths = lengths(&folder.join("lengths"), longest)?;
    let datagrams = lengths.len() as u64;
    let average = lengths.iter().sum::<usize>() / lengths.len().max(1);
    let links = vec![
        aeron::relay(folder)?,
        aeron::plain(folder, lengths.clone(), false)?,
        aeron::plain(folder, lengths, true)?,
    ];
    let names: Vec<_> = links.iter().map(|link| link.name).collect();
    let mut sides = Sides::open(links, arguments.far_cpu(), run.clock())?;
    let mut rates = [Rate::new(), Rate::new(), Rate::new()];
    for _ in 0..arguments.rounds {
        for _ in 0..arguments.samples.div_ceil(BURST) {
            for (link, messages) in [BURST, datagrams, datagrams].into_iter().enumerate() {
                rates[link].record(sides.measure(link, Load::Burst(messages))?);
            }
        }
    }
    let is_one_thread = arguments.far_cpu().is_none();
    let per_second = [0, 1, 2].map(|link: usize| rates[link].per_second(is_one_thread));
    let mut columns = Vec::new();
    let mut lines = Vec::new();
    for ((rate, name), per_second) in rates.into_iter().zip(names).zip(per_second) {
        let more = rate.lines(name, is_one_thread);
        columns.extend(more.iter().map(|_| per_second));
        lines.extend(more);
    }
    let what = match is_one_thread {
        true => "time of each end; rate of the slower one, as if each had a processor",
        false => "a thread and a processor for each end, time until the last has arrived",
    };
    let what = format!("{BURST} trades over the loopback, {what}");
    let more = |number: usize| format!(" {:>9.2}", columns[number] / 1e6);
    let notes = [format!(
        "the rate of the relay is {:.2} of that of plain Aeron with the same settings, {:.2} with Aeron's own; {datagrams} datagrams a burst, {average} bytes each",
        per_second[0] / per_second[1],
        per_second[0] / per_second[2],
    )];
    run.report_with(&what, &lines, &format!(" {:>9}", "M/s"), more, &notes)
}

/// Lengths of the datagrams of a burst: a sender packs it into batches for a link in memory.
fn lengths(folder: &Path, batch_bytes_max: usize) -> Result<Vec<usize>, Failure> {
    let mut gateway = Gateway::start(folder)?;
    let settings = send_settings(folder, batch_bytes_max)?;
    let mut send = Sending::new(settings, MemoryLink::default()).map_err(Failure::run)?;
    // The definition, and a heartbeat.
    while send.work().map_err(Failure::run)? > 0 {}
    let before = send.link().batches.len();
    for _ in 0..BURST {
        gateway.publish();
    }
    while send.work().map_err(Failure::run)? > 0 {}
    let batches = send.link().batches.iter().skip(before);
    Ok(batches.map(Vec::len).collect())
}
