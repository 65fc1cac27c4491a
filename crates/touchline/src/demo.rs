//! `touchline demo`: a generated session with faults on both lines, through the path, against the
//! truth.

mod latency;
mod save;
mod session;
mod timeline;
mod truth;

use crate::figures::{counted, duration};
use crate::ladder::ladder;
use crate::output::{Failure, say};
use crate::paint::Paint;
use latency::Latency;
use session::Session;
use std::cmp::Reverse;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;
use timeline::Timeline;
use touchline_book::{Consolidated, PriceBook};
use touchline_feed::Venue;
use touchline_feed::cme::Settings;
use touchline_gateway::Limits;
use touchline_gateway::cme::{CmePipeline, build};
use touchline_gateway::config::Symbols;
use touchline_net::clock::ticks;
use touchline_transport::{Envelope, Local, Mirror, Subscribe};
use touchline_types::{Instrument, Side};

/// Show the whole path at work on a generated session with faults.
///
/// A simulated CME channel sends a session over two lines; packets are lost, late, doubled, damaged
/// and out of order on their way. The path arbitrates, finds the gaps, recovers from the snapshot
/// loops, and publishes; a subscriber keeps books from what is published. At the end its books are
/// compared with those of the exchange. The same seed gives the same session on any machine.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Which session.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Version of CME's schema that the exchange speaks.
    #[arg(long, value_name = "V", default_value = "13", value_parser = ["9", "13"])]
    version: String,
    /// Number of instruments, 1 to 64.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u64).range(1..=64)
    )]
    instruments: u64,
    /// Keep the session in this folder: capture, configuration, and the exchange's books.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline demo
  touchline demo --seed 7 --version 9 --instruments 24
  touchline demo --save demo
  touchline replay --config demo/cme.toml --pcap demo/session.pcap

Files that --save writes:
  session.pcap                            both lines of all feeds, faults and all
  config.xml, cme.toml                    what replay needs
  truth-books.jsonl, truth-orders.jsonl   what a lossless subscriber has

Colours are shown on a terminal, unless NO_COLOR is set.

Exit status:
  0  every book equals the exchange's
  1  a book differs
  2  bad arguments";

/// The subscriber: books of its own, a diary, and a stop-watch.
#[derive(Debug)]
struct Watch {
    mirror: Mirror,
    timeline: Timeline,
    latency: Latency,
}

/// Instruments whose ladders are shown, and how deep.
const LADDERS: usize = 3;
const LADDER_ROWS: usize = 5;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let paint = Paint::for_stdout();
    let session = Session::generate(arguments);
    if let Some(folder) = &arguments.save {
        save::save(&session, folder)?;
    }
    say(&session.describe(paint))?;
    let (pipeline, elapsed_ns) = replay(&session);
    let watch = &pipeline.publisher().inner().subscriber;
    let comparison = truth::compare(&session.truth, pipeline.venue(), &watch.mirror);
    let mut page = String::new();
    page += &watch.timeline.describe(pipeline.venue(), paint);
    page += &ladders(&pipeline, paint);
    page += &comparison.describe(paint);
    page += &watch.latency.describe(paint);
    let packets = counted(session.arrivals.len() as u64, "packet");
    let _ = writeln!(
        page,
        "\n{packets} went through the path in {}",
        duration(elapsed_ns)
    );
    say(&page)?;
    if comparison.is_equal() {
        return Ok(());
    }
    Err(Failure::run(format!(
        "{}; please report it with this command line",
        comparison.difference()
    )))
}

/// Feeds every arrival to a path of its own.
fn replay(session: &Session) -> (CmePipeline<Local<Watch>>, u64) {
    let settings = Settings {
        instruments_max: 256,
        snapshot_orders_max: 16_384,
        ..Settings::default()
    };
    let limits = Limits {
        instruments_max: settings.instruments_max,
        orders_max: 65_536,
        event_changes_max: 16_384,
        default_depth: settings.default_depth,
    };
    let watch = Watch {
        mirror: Mirror::new(limits.instruments_max, limits.orders_max),
        timeline: Timeline::new(session.start_ns()),
        latency: Latency::new(),
    };
    let mut pipeline = build(settings, limits, Symbols::default(), Local::new(watch));
    let started = Instant::now();
    for arrival in &session.arrivals {
        let watch = &mut pipeline.publisher_mut().inner_mut().subscriber;
        watch.timeline.now_ns = arrival.time_ns;
        let route = session::route(arrival);
        pipeline.packet(route, &arrival.payload, arrival.time_ns, ticks());
    }
    pipeline.finish();
    (pipeline, started.elapsed().as_nanos() as u64)
}

fn ladders(pipeline: &CmePipeline<Local<Watch>>, paint: Paint) -> String {
    let (venue, mirror) = (
        pipeline.venue(),
        &pipeline.publisher().inner().subscriber.mirror,
    );
    let mut text = format!("\n{}\n", paint.bold("Books, as the subscriber has them"));
    let instruments = (0..venue.instruments() as u32).map(Instrument);
    let mut shown: Vec<_> = instruments
        .filter_map(|instrument| Some((instrument, mirror.book(instrument)?)))
        .collect();
    shown.sort_by_key(|(_, book)| (is_crossed(book), Reverse(rows_of(book))));
    shown.truncate(LADDERS);
    for (instrument, book) in shown {
        let definition = venue.definition(instrument);
        let validity = mirror.validity(instrument);
        text += &ladder(definition, validity, book, LADDER_ROWS, paint);
    }
    text
}

/// How many rows a ladder of the book has with both sides filled.
fn rows_of(book: &PriceBook) -> usize {
    let [bids, asks] = Side::BOTH.map(|side| Consolidated::new(book, side).count());
    bids.min(asks)
}

/// Whether implied interest crosses the book; the simulated exchange does not match it.
fn is_crossed(book: &PriceBook) -> bool {
    let [bid, ask] = Side::BOTH.map(|side| Consolidated::new(book, side).next());
    bid.zip(ask)
        .is_some_and(|(bid, ask)| bid.price >= ask.price)
}

impl Subscribe for Watch {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.mirror.update(envelope);
        self.latency.update(envelope);
        self.timeline.update(envelope);
    }
}
