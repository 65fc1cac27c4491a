//! `bench relay-path --rate`: how many messages each end of a relay over Aeron carries, beside plain Aeron with datagrams of the
//! same lengths.

use super::aeron::{open, unicast};
use super::plain::{Plain, Spent};
use super::*;
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::run::Sending;

/// Trades that are published before both ends run: what a relay finds that has work all the time.
const BURST: u64 = 512;
/// Distributions of both ends.
struct Rate {
    send: Histogram<u64>,
    receive: Histogram<u64>,
}

impl Rate {
    fn new() -> Rate {
        Rate {
            send: latency_histogram(),
            receive: latency_histogram(),
        }
    }

    fn record(&mut self, spent: Spent) {
        self.send.saturating_record(spent.send_ns);
        self.receive.saturating_record(spent.receive_ns);
    }

    /// Messages per second of the slower end, by the medians.
    fn per_second(&self) -> f64 {
        let median = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.5).max(1);
        BURST as f64 * 1e9 / median(&self.send).max(median(&self.receive)) as f64
    }

    fn lines(self, name: &str, payload_bytes: u64) -> [Statistics; 2] {
        let line = |end: &str, histogram| Statistics {
            bench: "relay-path-rate",
            subject: format!("{name}-{end}"),
            payload_bytes,
            histogram,
        };
        [line("send", self.send), line("receive", self.receive)]
    }
}

/// Alternates relay and plain Aeron.
pub fn run(arguments: &Arguments, folder: &Path, run: &Run) -> Result<(), Failure> {
    let clock = run.clock();
    let mut plain = Plain::open(&folder.join("plain"))?;
    let lengths = lengths(&folder.join("lengths"), plain.payload_bytes_max())?;
    let mut relay = open("relay-aeron-udp", &folder.join("relay"), &unicast()?)?;
    let (mut of_relay, mut of_plain) = (Rate::new(), Rate::new());
    for _ in 0..arguments.rounds {
        for _ in 0..arguments.samples.div_ceil(BURST) {
            of_relay.record(burst(&mut relay, &clock)?);
            of_plain.record(plain.burst(&lengths, &clock)?);
        }
    }
    let rates = [of_relay.per_second(), of_plain.per_second()];
    let mut lines = Vec::from(of_relay.lines("relay-aeron-udp", payload_bytes()));
    lines.extend(of_plain.lines("aeron-udp", payload_bytes()));
    let what = format!(
        "{BURST} trades over the loopback, time of each end; rate of the slower end, as if each had a processor"
    );
    let more = |number: usize| format!(" {:>9.2}", rates[number / 2] / 1e6);
    let notes = [format!(
        "rate, ratio of relay to plain Aeron: {:.2}; {} datagrams a burst, {} bytes each",
        rates[0] / rates[1],
        lengths.len(),
        lengths.iter().sum::<usize>() / lengths.len().max(1),
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

/// The time of both ends from a burst in the first bus to its last trade in the second.
fn burst(path: &mut RelayPath, clock: &Clock) -> Result<Spent, Failure> {
    let mut last = 0;
    for _ in 0..BURST {
        last = path.gateway.publish();
    }
    let mut spent = Spent::default();
    for _ in 0..TURNS_MAX {
        let began = ticks();
        path.send.work().map_err(Failure::run)?;
        let sent = ticks();
        path.receive.work().map_err(Failure::run)?;
        let received = ticks();
        spent.send_ns += clock.between_ns(began, sent);
        spent.receive_ns += clock.between_ns(sent, received);
        if path.latest() == Some(last) {
            while path.send.event().is_some() || path.receive.event().is_some() {}
            return Ok(spent);
        }
    }
    Err(Failure::run("relay-aeron-udp: a message was lost"))
}
