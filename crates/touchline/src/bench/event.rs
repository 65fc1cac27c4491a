//! `touchline bench event`: the message path, from bytes in memory to the publisher.
//!
//! The packets are replayed round after round as one long session, so that memory is warm and books
//! are in their normal state; rounds with and without timestamps alternate, which shows the cost of
//! the timestamps. Every sample is taken with two readings of the time stamp counter, whose cost is
//! included.
//!
//! Each round also runs through a second path whose publisher is a bus in shared memory: the
//! difference is the cost of publishing.

mod deribit;

use super::market::MarketName;
use super::progress;
use super::run::{Common, Run, failure};
use crate::format::counted;
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;
use touchline_feed::cme::{FeedType, Line, Settings};
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::replay::latency_histogram;
use touchline_gateway::venues::cme::ChannelConfig;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::bench::Statistics;
use touchline_lab::bench::endless::Endless;
use touchline_lab::bench::ipc::{Folder, pin};
use touchline_lab::bench::market::Market;
use touchline_lab::capture;
use touchline_net::{PacketSource, PcapSource};
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::{self, Publisher, Root};
use touchline_transport::{Envelope, Local, Publish, Subscribe};
use touchline_types::Validity;

/// A packet in memory → arbitration → decode → books → update handed to the publisher.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench event
  touchline bench event --venue deribit --json
  touchline bench event --pcap 340-a.pcap 340-b.pcap --config-xml config.xml --channel 340

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Venue protocol.
    #[arg(long, value_enum, default_value = "cme")]
    venue: BenchVenue,
    /// Captures with the incremental packets to replay; default: a generated session.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "config_xml")]
    pcap: Vec<PathBuf>,
    /// CME's config.xml, which names the channel's groups and ports.
    #[arg(long, value_name = "FILE", requires = "channel")]
    config_xml: Option<PathBuf>,
    /// The channel.
    #[arg(long, value_name = "N")]
    channel: Option<u32>,
    /// The generated market; default: mixed.
    #[arg(long, value_enum, conflicts_with = "pcap")]
    market: Option<MarketName>,
    /// Seed of the generated session.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Duration of the measurement, seconds.
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Run exactly N rounds instead, for counting instructions.
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Replay about N packets of line A a round, for tracing each access to memory.
    #[arg(long, value_name = "N")]
    packets: Option<usize>,
    /// Keep no order books, as with orders_max = 0.
    #[arg(long)]
    no_order_books: bool,
    /// Publish no tops of book, as with tops = false.
    #[arg(long)]
    no_tops: bool,
    /// Processor; default: any.
    #[arg(long, value_name = "A")]
    cpus: Option<usize>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BenchVenue {
    /// CME MDP 3.0.
    Cme,
    /// Deribit, FIX 4.4.
    Deribit,
}

type Stretch = Endless<capture::Line>;
type Path = CmePipeline<Local<Touch>>;
type BusPath = CmePipeline<Publisher>;

/// Subscriber that reads every update, so that the compiler cannot remove work of the path.
#[derive(Debug, Default)]
struct Touch;

impl Subscribe for Touch {
    #[inline]
    fn update(&mut self, envelope: &Envelope<'_>) {
        black_box(envelope);
    }
}

/// Results: rounds with timestamps, without, and published on a bus.
struct Rounds {
    marked: Samples,
    bare: Samples,
    bus: Samples,
}

/// Samples of one kind of round, nanoseconds.
struct Samples {
    message: Histogram<u64>,
    packet: Histogram<u64>,
    copy: Histogram<u64>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(cpu) = arguments.cpus {
        pin(cpu).map_err(failure)?;
    }
    match arguments.venue {
        BenchVenue::Cme => cme(arguments),
        BenchVenue::Deribit if arguments.pcap.is_empty() && arguments.market.is_none() => {
            deribit::run(arguments)
        }
        BenchVenue::Deribit => Err(Failure::usage(
            "--pcap and --market need --venue cme; --venue deribit measures a generated session of its own",
        )),
    }
}

impl Arguments {
    /// Numbers of the rounds to measure.
    fn rounds(&self) -> Box<dyn Iterator<Item = u32>> {
        let limit = Duration::from_secs_f64(self.seconds.max(0.0));
        match self.rounds {
            Some(count) => Box::new(progress::with_progress(0..count)),
            None => Box::new(progress::rounds_within(limit)),
        }
    }
}

fn cme(arguments: &Arguments) -> Result<(), Failure> {
    let market = arguments.market.unwrap_or(MarketName::Mixed).market();
    let mut stretch = match (&arguments.config_xml, arguments.channel) {
        (Some(config_xml), Some(channel)) if !arguments.pcap.is_empty() => {
            recorded(arguments, config_xml, channel)?
        }
        _ => match arguments.packets {
            Some(packets) => market.short_rounds(packets, arguments.seed, &[capture::Line::A]),
            None => market.rounds(arguments.seed, &[capture::Line::A, capture::Line::B]),
        },
    };
    let orders_max = match arguments.no_order_books {
        true => 0,
        false => market.orders_max(),
    };
    let folder = Folder::new().map_err(|failed| Failure::run(failed.0))?;
    let publisher = publisher(&folder, market, orders_max, !arguments.no_tops)?;
    let mut path = warm_path(&stretch, market, orders_max, Local::new(Touch))?;
    let mut bus = warm_path(&stretch, market, orders_max, publisher)?;
    stretch.next_round();
    let run = Run::begin(&arguments.common);
    let rounds = measure(arguments, run.clock(), &mut stretch, &mut path, &mut bus);
    still_live(&path)?;
    still_live(&bus)?;
    report(&run, &stretch, rounds)
}

/// A bus with a gateway's settings, without readers.
fn publisher(
    folder: &Folder,
    market: Market,
    orders_max: usize,
    tops: bool,
) -> Result<Publisher, Failure> {
    let settings = shm::Settings {
        instruments_max: market.instruments_max(),
        orders_max,
        tops,
        ..shm::Settings::default()
    };
    Publisher::open(&Root::at(folder.path()), "event", &settings).map_err(Failure::run)
}

/// The incremental packets of captures.
fn recorded(arguments: &Arguments, config_xml: &PathBuf, channel: u32) -> Result<Stretch, Failure> {
    let channel = ChannelConfig::read(config_xml, channel).map_err(Failure::usage)?;
    let mut source = PcapSource::open(&arguments.pcap).map_err(Failure::run)?;
    let mut stretch = Stretch::new();
    while let Some(packet) = source.receive().map_err(Failure::run)?.packet() {
        if let Some((FeedType::Incremental, line)) = channel.routes().find(packet.destination) {
            let line = match line {
                Line::A => capture::Line::A,
                Line::B if arguments.packets.is_some() => continue,
                Line::B => capture::Line::B,
            };
            stretch.add(line, packet.receive_ns, packet.payload);
            if arguments.packets == Some(stretch.len()) {
                break;
            }
        }
    }
    if stretch.is_empty() {
        let what =
            "the captures have no incremental packet of the channel; is it the right channel?";
        return Err(Failure::run(what));
    }
    Ok(stretch)
}

/// A path after the opening and one round, with every instrument live.
fn warm_path<P: Publish>(
    stretch: &Stretch,
    market: Market,
    orders_max: usize,
    publisher: P,
) -> Result<CmePipeline<P>, Failure> {
    let mut path = path(market, orders_max, publisher);
    warm(&mut path, stretch);
    still_live(&path)?;
    Ok(path)
}

/// A path for a market, before its opening.
pub(super) fn path<P: Publish>(market: Market, orders_max: usize, publisher: P) -> CmePipeline<P> {
    let settings = Settings {
        instruments_max: market.instruments_max(),
        order_books: orders_max > 0,
        ..Settings::default()
    };
    let limits = Limits {
        instruments_max: settings.instruments_max,
        orders_max,
        event_changes_max: 4096,
        default_depth: settings.default_depth,
        levels_max: 0,
    };
    build(settings, limits, Symbols::default(), publisher)
}

/// Prepares the path for the measured rounds: the state of the middle of a day, and a first round.
pub(super) fn warm<P: Publish>(path: &mut CmePipeline<P>, stretch: &Stretch) {
    open(path, stretch);
    for (line, receive_ns, bytes, _) in stretch.packets() {
        path.packet(incremental(line), bytes, receive_ns, 0);
    }
}

/// The packets before the first round.
pub(super) fn open<P: Publish>(path: &mut CmePipeline<P>, stretch: &Stretch) {
    for snapshot in stretch.snapshots() {
        path.packet((FeedType::Snapshot, Line::A), &snapshot, 0, 0);
    }
    for (line, bytes) in stretch.opening() {
        path.packet(incremental(line), bytes, 0, 0);
    }
}

/// Source of a packet of the incremental feed.
pub(super) fn incremental(line: capture::Line) -> (FeedType, Line) {
    let line = match line {
        capture::Line::A => Line::A,
        capture::Line::B => Line::B,
    };
    (FeedType::Incremental, line)
}

/// Checks that the path is live: the figures are of the live path only.
pub(super) fn still_live<P: Publish>(path: &CmePipeline<P>) -> Result<(), Failure> {
    let counters = path.feed().counters();
    let instruments = path.instruments().iter();
    let not_live = instruments
        .filter(|i| path.feed().validity(*i) != Validity::Live)
        .count();
    if not_live == 0 && counters.gaps == 0 {
        return Ok(());
    }
    Err(Failure::run(format!(
        "not live: {}; seen: {}; measure a stretch without loss",
        counted(not_live as u64, "instrument"),
        counted(counters.gaps, "gap"),
    )))
}

fn measure(
    arguments: &Arguments,
    clock: Clock,
    stretch: &mut Stretch,
    path: &mut Path,
    bus: &mut BusPath,
) -> Rounds {
    let mut measured = Rounds {
        marked: Samples::new(),
        bare: Samples::new(),
        bus: Samples::new(),
    };
    for number in arguments.rounds() {
        path.set_trace(number % 2 == 0);
        let samples = if number % 2 == 0 {
            &mut measured.marked
        } else {
            &mut measured.bare
        };
        round(stretch, path, &clock, samples, one_packet);
        round(stretch, bus, &clock, &mut measured.bus, on_the_bus);
        stretch.next_round();
    }
    measured
}

fn round<P: Publish>(
    stretch: &Stretch,
    path: &mut CmePipeline<P>,
    clock: &Clock,
    samples: &mut Samples,
    packet: impl Fn(&mut CmePipeline<P>, (FeedType, Line), &[u8], u64, u64) -> bool,
) {
    for (line, receive_ns, bytes, messages) in stretch.packets() {
        let channel = incremental(line);
        let begin = ticks();
        let delivered = packet(path, channel, bytes, receive_ns, begin);
        let ns = clock.between_ns(begin, ticks());
        if delivered {
            samples.packet.saturating_record(ns);
            let each = ns.checked_div(messages).unwrap_or(0);
            samples.message.saturating_record_n(each, messages);
        } else {
            samples.copy.saturating_record(ns);
        }
    }
}

/// The measured code; instruction counts are taken inside it.
#[inline(never)]
fn one_packet(
    path: &mut Path,
    channel: (FeedType, Line),
    bytes: &[u8],
    receive_ns: u64,
    polled: u64,
) -> bool {
    path.packet(channel, black_box(bytes), receive_ns, polled)
}

/// [`one_packet`] with a bus, in a function of its own so that profiles separate the two.
#[inline(never)]
fn on_the_bus(
    path: &mut BusPath,
    channel: (FeedType, Line),
    bytes: &[u8],
    receive_ns: u64,
    polled: u64,
) -> bool {
    path.packet(channel, black_box(bytes), receive_ns, polled)
}

impl Samples {
    fn new() -> Samples {
        Samples {
            message: latency_histogram(),
            packet: latency_histogram(),
            copy: latency_histogram(),
        }
    }
}

fn report(run: &Run, stretch: &Stretch, rounds: Rounds) -> Result<(), Failure> {
    let Rounds { marked, bare, bus } = rounds;
    let payload_bytes = stretch.packet_bytes();
    let statistics =
        |subject, histogram| Statistics::new("event", subject, histogram).of_bytes(payload_bytes);
    let mean = |histogram: &Histogram<u64>| histogram.mean();
    let trace_ns = mean(&marked.packet) - mean(&bare.packet);
    let bus_ns = mean(&bus.packet) - mean(&marked.packet);
    let lines = [
        statistics("touchline-cme", marked.message),
        statistics("touchline-cme-packet", marked.packet),
        statistics("touchline-cme-copy", marked.copy),
        statistics("touchline-cme-bus", bus.message),
        statistics("touchline-cme-packet-bus", bus.packet),
        statistics("touchline-cme-no-marks", bare.message),
        statistics("touchline-cme-packet-no-marks", bare.packet),
    ];
    let what = format!(
        "{} packets a round, {payload_bytes} bytes on average",
        stretch.len()
    );
    let notes = [
        format!(
            "the timestamps cost {trace_ns:.0} ns a packet (difference of the means, same run)"
        ),
        format!(
            "publishing in shared memory costs {bus_ns:.0} ns a packet (difference of the means, same run)"
        ),
    ];
    run.report_with(&what, &lines, "", |_| String::new(), &notes)
}
