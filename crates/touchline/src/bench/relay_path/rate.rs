//! `bench relay-path --rate`: how many messages each end of a relay over Aeron carries, beside plain Aeron with datagrams of the
//! same lengths.

use super::aeron::{client, links, unicast};
use super::*;
use std::cell::RefCell;
use std::rc::Rc;
use touchline_aeron::{Client, ExclusivePublication, Refused, Subscription};
use touchline_relay::SenderCounters;
use touchline_relay::batch::Batch;
use touchline_relay::link::{CarrierEvent, Kind, SendEvent};

/// Trades that are published before both ends run: what a relay finds that has work all the time.
const BURST: u64 = 512;
/// Stream of plain Aeron.
const STREAM: i32 = 341;
/// Fragments in one call.
const FRAGMENTS_MAX: usize = 64;

/// Lengths of the datagrams of a burst.
type Lengths = Rc<RefCell<Vec<usize>>>;

/// Time of each end for one burst, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    send_ns: u64,
    receive_ns: u64,
}

/// Distributions of both ends.
struct Ends {
    send: Histogram<u64>,
    receive: Histogram<u64>,
}

impl Ends {
    fn new() -> Ends {
        Ends {
            send: latency_histogram(),
            receive: latency_histogram(),
        }
    }

    fn record(&mut self, spent: Spent) {
        self.send.saturating_record(spent.send_ns);
        self.receive.saturating_record(spent.receive_ns);
    }

    /// Messages per second of the slower end, by the medians.
    fn rate(&self) -> f64 {
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
    let lengths = Lengths::default();
    let mut relay = relay(&folder.join("relay"), &lengths)?;
    let mut plain = Plain::open(&folder.join("plain"))?;
    let (mut of_relay, mut of_plain) = (Ends::new(), Ends::new());
    let (mut datagrams, mut bytes) = (0_u64, 0_u64);
    for _ in 0..arguments.rounds {
        for _ in 0..arguments.samples.div_ceil(BURST) {
            lengths.borrow_mut().clear();
            of_relay.record(burst(&mut relay, &clock)?);
            let lengths = lengths.borrow();
            datagrams += lengths.len() as u64;
            bytes += lengths.iter().sum::<usize>() as u64;
            of_plain.record(plain.burst(&lengths, &clock)?);
        }
    }
    let bursts = of_relay.send.len().max(1);
    let rates = [of_relay.rate(), of_plain.rate()];
    let mut lines = Vec::from(of_relay.lines("relay-aeron-udp", payload_bytes()));
    lines.extend(of_plain.lines("aeron-udp", payload_bytes()));
    let what = format!(
        "{BURST} trades over the loopback, time of each end; rate of the slower end, as if each had a processor"
    );
    let more = |number: usize| format!(" {:>9.2}", rates[number / 2] / 1e6);
    let notes = [format!(
        "rate, ratio of relay to plain Aeron: {:.2}; {} datagrams a burst, {} bytes each",
        rates[0] / rates[1],
        datagrams / bursts,
        bytes / datagrams.max(1),
    )];
    run.report_with(&what, &lines, &format!(" {:>9}", "M/s"), more, &notes)
}

/// A relay whose sending link notes what it sends.
fn relay(folder: &Path, lengths: &Lengths) -> Result<RelayPath, Failure> {
    fs::create_dir_all(folder).map_err(Failure::run)?;
    let (link, receive) = links(folder, &unicast()?).map_err(Failure::run)?;
    let batch_bytes_max = link.batch_bytes_max();
    let send = Noted {
        link,
        lengths: Rc::clone(lengths),
    };
    let links = (send, receive);
    RelayPath::open(
        "relay-aeron-udp",
        folder,
        batch_bytes_max,
        sources()?,
        links,
    )
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

/// A link that notes the length of each batch.
struct Noted<L> {
    link: L,
    lengths: Lengths,
}

impl<L: SendLink> SendLink for Noted<L> {
    fn send(&mut self, batch: &Batch, kind: Kind) -> bool {
        let is_sent = self.link.send(batch, kind);
        if is_sent {
            self.lengths.borrow_mut().push(batch.datagram().len());
        }
        is_sent
    }

    fn has_room(&self) -> bool {
        self.link.has_room()
    }

    fn asked(&mut self) -> u32 {
        self.link.asked()
    }

    fn work(&mut self, now_ns: u64) -> usize {
        self.link.work(now_ns)
    }

    fn count(&self, counters: &mut SenderCounters) {
        self.link.count(counters);
    }

    fn event(&mut self) -> Option<SendEvent> {
        self.link.event()
    }

    fn carrier_event(&mut self) -> Option<CarrierEvent> {
        self.link.carrier_event()
    }

    fn failed(&mut self) -> Option<String> {
        self.link.failed()
    }
}

/// A publication and a subscription, each with a driver that its end steps.
struct Plain {
    near: Rc<Client>,
    far: Rc<Client>,
    publication: ExclusivePublication,
    subscription: Subscription,
    bytes: Vec<u8>,
}

impl Plain {
    fn open(folder: &Path) -> Result<Plain, Failure> {
        fs::create_dir_all(folder).map_err(Failure::run)?;
        let channel = unicast()?;
        let near = client(&folder.join("driver-a")).map_err(Failure::run)?;
        let far = client(&folder.join("driver-b")).map_err(Failure::run)?;
        let publication = near
            .exclusive_publication(&channel, STREAM)
            .map_err(Failure::run)?;
        let subscription = far.subscription(&channel, STREAM).map_err(Failure::run)?;
        let bytes = vec![7; publication.payload_bytes_max()];
        let plain = Plain {
            near,
            far,
            publication,
            subscription,
            bytes,
        };
        for _ in 0..TURNS_MAX {
            plain.near.do_work().map_err(Failure::run)?;
            plain.far.do_work().map_err(Failure::run)?;
            if plain.publication.is_connected() && plain.subscription.is_connected() {
                return Ok(plain);
            }
        }
        Err(Failure::run("aeron-udp: the ends do not connect"))
    }

    /// Sends datagrams of these lengths until all have arrived.
    fn burst(&mut self, lengths: &[usize], clock: &Clock) -> Result<Spent, Failure> {
        let (mut sent, mut received) = (0, 0);
        let mut spent = Spent::default();
        for _ in 0..TURNS_MAX {
            let began = ticks();
            while let Some(length) = lengths.get(sent) {
                match self.publication.offer(&self.bytes[..*length]) {
                    Ok(_) => sent += 1,
                    Err(Refused::BackPressured | Refused::AdminAction) => break,
                    Err(refused) => return Err(Failure::run(refused)),
                }
            }
            self.near.do_work().map_err(Failure::run)?;
            let ended = ticks();
            self.far.do_work().map_err(Failure::run)?;
            let polled = self.subscription.poll(FRAGMENTS_MAX, |fragment| {
                std::hint::black_box(fragment.bytes());
            });
            received += polled.map_err(Failure::run)?;
            spent.send_ns += clock.between_ns(began, ended);
            spent.receive_ns += clock.between_ns(ended, ticks());
            if received == lengths.len() {
                return Ok(spent);
            }
        }
        Err(Failure::run("aeron-udp: a message was lost"))
    }
}
