//! `touchline bench event --venue deribit`: a FIX message in memory, through the session, to a full book.
//!
//! A snapshot builds a book of 1,200 levels a side; each following message changes one level, most of them near the
//! best. A round is one session from its Logon on; only the changes are measured. Every round runs through a path
//! without a bus and one with a bus: the difference is the cost of publishing.

use super::super::run::Run;
use super::{Arguments, Touch, publisher};
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::hint::black_box;

use touchline_feed::{ReceiveTime, SessionFeed};
use touchline_gateway::Pipeline;
use touchline_gateway::config::Config;
use touchline_gateway::replay::latency_histogram;
use touchline_gateway::venues::VENUES;
use touchline_gateway::venues::fix::{self, FixPipeline, FixVenue};
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::Folder;
use touchline_lab::bench::market::Market;
use touchline_lab::bench::session::{CONFIG, LEVELS, Stretch};
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::{Local, Publish};
use touchline_types::{BookKind, Instrument, Side, Validity};

/// Changes of a round.
const CHANGES: usize = 20_000;

/// Runs the benchmark.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = VENUES.from_text_as::<FixVenue>("the stretch's own", CONFIG);
    let config = config.map_err(Failure::file)?;
    let (sender, target) = (config.venue.target.as_str(), config.venue.sender.as_str());
    let stretch = Stretch::new(
        sender,
        target,
        arguments.packets.unwrap_or(CHANGES),
        arguments.seed,
    );
    let folder = Folder::new().map_err(|failed| Failure::run(failed.0))?;
    let mut local = path(&config, Local::new(Touch))?;
    let publisher = publisher(&folder, Market::Mixed, Market::Mixed.orders_max(), true)?;
    let mut bus = path(&config, publisher)?;
    let (mut marked, mut bare, mut on_bus) = (
        latency_histogram(),
        latency_histogram(),
        latency_histogram(),
    );
    let run = Run::begin(&arguments.common);
    let clock = run.clock();
    for number in arguments.rounds() {
        local.set_trace(number % 2 == 0);
        let samples = if number % 2 == 0 {
            &mut marked
        } else {
            &mut bare
        };
        round(&stretch, &mut local, &clock, samples, one_message)?;
        round(&stretch, &mut bus, &clock, &mut on_bus, on_the_bus)?;
    }
    report(&run, &stretch, marked, bare, on_bus)
}

fn path<P: Publish>(config: &Config<FixVenue>, publisher: P) -> Result<FixPipeline<P>, Failure> {
    fix::pipeline(config, publisher).map_err(Failure::usage)
}

/// One session: Logon and snapshot, then each change.
fn round<P: Publish>(
    stretch: &Stretch,
    path: &mut FixPipeline<P>,
    clock: &Clock,
    samples: &mut Histogram<u64>,
    message: impl Fn(&mut FixPipeline<P>, &[u8], ReceiveTime, u64),
) -> Result<(), Failure> {
    let time = ReceiveTime::at(1_567_870_621_000_000_000);
    path.connected(time);
    for opening in stretch.opening() {
        path.packet_at((), opening, time, 0);
        discard(path, time);
    }
    for change in stretch.changes() {
        let begin = ticks();
        message(path, change, time, begin);
        samples.saturating_record(clock.between_ns(begin, ticks()));
    }
    still_live(path)?;
    discard(path, time);
    path.disconnected(time);
    Ok(())
}

/// Drops the feed's outgoing messages: the generated session already has the answers.
fn discard<P: Publish, V: SessionFeed>(path: &mut Pipeline<V, P>, time: ReceiveTime) {
    let bytes = path.feed().outgoing().len();
    path.sent(bytes, time);
}

/// Checks that the book is live and deep: the figures are of this path only.
fn still_live<P: Publish>(path: &FixPipeline<P>) -> Result<(), Failure> {
    let feed = path.feed();
    let levels = path.prices().get(Instrument(0)).map_or(0, |book| {
        book.levels(BookKind::Direct, Side::Bid)
            .len()
            .min(book.levels(BookKind::Direct, Side::Ask).len())
    });
    let counters = feed.counters();
    let is_live = path.instruments().len() == 1 && feed.validity(Instrument(0)) == Validity::Live;
    if is_live && levels * 2 > LEVELS && counters.books_inconsistent + counters.gaps == 0 {
        return Ok(());
    }
    Err(Failure::run(format!(
        "the book is not live or has only {levels} levels a side; a bug of touchline; please report it"
    )))
}

/// The measured code; instruction counts are taken inside it.
#[inline(never)]
fn one_message<P: Publish>(
    path: &mut FixPipeline<P>,
    bytes: &[u8],
    time: ReceiveTime,
    polled: u64,
) {
    path.packet_at((), black_box(bytes), time, polled);
}

/// [`one_message`] with a bus, in a function of its own so that profiles separate the two.
#[inline(never)]
fn on_the_bus<P: Publish>(path: &mut FixPipeline<P>, bytes: &[u8], time: ReceiveTime, polled: u64) {
    path.packet_at((), black_box(bytes), time, polled);
}

fn report(
    run: &Run,
    stretch: &Stretch,
    marked: Histogram<u64>,
    bare: Histogram<u64>,
    bus: Histogram<u64>,
) -> Result<(), Failure> {
    let payload_bytes = stretch.change_bytes();
    let (trace_ns, bus_ns) = (marked.mean() - bare.mean(), bus.mean() - marked.mean());
    let statistics =
        |subject, histogram| Statistics::new("event", subject, histogram).of_bytes(payload_bytes);
    let lines = [
        statistics("touchline-deribit", marked),
        statistics("touchline-deribit-bus", bus),
        statistics("touchline-deribit-no-marks", bare),
    ];
    let what = format!(
        "{CHANGES} messages of one change a round, {payload_bytes} bytes on average, {LEVELS} levels a side"
    );
    let notes = [
        format!(
            "the timestamps cost {trace_ns:.0} ns a message (difference of the means, same run)"
        ),
        format!(
            "publishing in shared memory costs {bus_ns:.0} ns a message (difference of the means, same run)"
        ),
    ];
    run.report_with(&what, &lines, "", |_| String::new(), &notes)
}
