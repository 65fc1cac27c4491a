//! `touchline follow`: a subscriber that keeps the books of a bus.

mod stored;

use crate::books::{client_order_row, client_price_row};
use crate::format::{count, counted};
use crate::interrupt::Ending;
use crate::missing;
use crate::output::{Failure, Output, say, say_aside};
use crate::place::{Place, bus_name};
use crate::states::States;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use stored::StoredBooks;
use touchline_client::{Bus, Error, Events, Idle, Instrument, Next, Options, State};

/// Join a bus, keep its books from updates, and write them at the end.
///
/// A subscriber without a strategy: it continues through losses, overruns and restarts of the gateway. To verify the
/// path, compare its books with those of the other side (`replay --books`, `sim cme --truth-books`).
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; `touchline stat` lists them.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: String,
    #[command(flatten)]
    place: Place,
    /// Write the price books at the end, one JSON line for each instrument.
    #[arg(long, value_name = "OUT")]
    books: Option<PathBuf>,
    /// Write the order books at the end, one JSON line for each instrument.
    #[arg(long, value_name = "OUT")]
    orders: Option<PathBuf>,
    /// Write each state of each live price book: packet, security id and a hash of the four lists, in the
    /// format of `sim cme --truth-log`.
    #[arg(long, value_name = "OUT")]
    states: Option<PathBuf>,
    /// Write each state of each live order book: a hash of its orders, in the format of `sim cme --truth-order-log`.
    #[arg(long, value_name = "OUT")]
    order_states: Option<PathBuf>,
    /// Prices as traders quote them, with the display factor applied, instead of the prices of the venue.
    #[arg(long, conflicts_with_all = ["states", "order_states"])]
    display: bool,
    /// Wait up to N seconds for the bus.
    #[arg(long, value_name = "N", default_value_t = 0)]
    wait: u64,
    #[command(flatten)]
    ending: Ending,
    /// Register under this name: `stat` and `top` then show lag, overruns and latency of this reader.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print no summary.
    #[arg(long, short)]
    quiet: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline follow cme-340 --books books.jsonl --seconds 60
  touchline follow cme-340 --wait 10 --orders -

Output:
  The format of `replay`; last_rpt_seq is null, since a bus does not carry it.
  The summary goes to standard error if an output is standard output.

Exit status:
  0  stopped by Ctrl-C, SIGTERM, --seconds or --until-eof
  1  the bus does not exist or cannot be read, or an output cannot be written
  2  bad arguments";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = arguments.ending.catch()?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
    let (books, orders) = (open(&arguments.books)?, open(&arguments.orders)?);
    let start = Instant::now();
    let end = arguments.ending.after();
    let is_over = || interrupt.is_asked() || end.is_some_and(|end| start.elapsed() >= end);
    let Some(mut bus) = join(arguments, &is_over)? else {
        return Ok(());
    };
    let states = |path| Ok::<_, Failure>(open(path)?.map(States::of));
    let mut stored = StoredBooks::new(states(&arguments.states)?, states(&arguments.order_states)?);
    while !is_over() {
        // The clock is read once per batch.
        for _ in 0..BATCH {
            match bus.next_within(NAP) {
                Next::Event(event) => stored.event(&bus, &event),
                Next::TimedOut | Next::Stopped => break,
            }
        }
    }
    // Messages published before the end was requested are read; a publisher may continue without end.
    let patience = Instant::now() + FLUSH_TIMEOUT;
    // This process may have been stopped, and the publisher may have ended since the last check.
    bus.look_again();
    while let Next::Event(event) = bus.next_within(Duration::ZERO)
        && Instant::now() < patience
    {
        stored.event(&bus, &event);
    }
    write(&bus, books, orders)?;
    let summary = summary(arguments, &bus, &stored, start.elapsed());
    stored.finish()?;
    match (arguments.quiet, arguments.takes_stdout()) {
        (true, _) => Ok(()),
        (false, false) => say(&summary),
        (false, true) => {
            say_aside(&summary);
            Ok(())
        }
    }
}

/// Events between two readings of the clock.
const BATCH: usize = 1024;

/// Interval of checks for the end of the run.
const NAP: Duration = Duration::from_millis(20);

/// Time to read the messages that are already published at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Pause between two reads of an empty bus.
const PAUSE: Duration = Duration::from_micros(50);

impl Arguments {
    fn options(&self) -> Options {
        // Prices as the venue sends them are compared.
        let events = Events::BOOKS | Events::ORDERS | Events::TRADES;
        let options = Bus::options()
            .directory(self.place.root().path())
            .events(events | Events::STATISTICS | Events::STATUS)
            .venue_prices(!self.display)
            .idle(Idle::Sleep(PAUSE));
        match &self.name {
            Some(name) => options.name(name),
            None => options,
        }
    }

    fn takes_stdout(&self) -> bool {
        let outputs = [&self.books, &self.orders, &self.states, &self.order_states];
        outputs
            .into_iter()
            .flatten()
            .any(|path| path.as_os_str() == crate::output::STDOUT)
    }
}

/// Joins when a publisher exists; `None` if the run ends first.
fn join(arguments: &Arguments, is_over: &impl Fn() -> bool) -> Result<Option<Bus>, Failure> {
    let patience = Instant::now() + Duration::from_secs(arguments.wait);
    loop {
        let left = patience.saturating_duration_since(Instant::now());
        let options = arguments.options().wait(left.min(NAP));
        match options.join(&arguments.bus) {
            Ok(bus) => return Ok(Some(bus)),
            Err(error) if Instant::now() >= patience => return Err(refused(&error, arguments)),
            Err(_) if is_over() => return Ok(None),
            Err(_) => {}
        }
    }
}

fn refused(error: &Error, arguments: &Arguments) -> Failure {
    let error = missing::words(&arguments.place.root(), &arguments.bus, error);
    match arguments.wait {
        0 => Failure::run(format!("{error} (--wait N waits for it)")),
        seconds => Failure::run(format!("{error}, after {seconds} s")),
    }
}

/// Writes both files before either gets its final name.
fn write(bus: &Bus, mut books: Option<Output>, mut orders: Option<Output>) -> Result<(), Failure> {
    for instrument in by_security_id(bus) {
        if let Some(books) = &mut books {
            books.line(&client_price_row(
                &bus.book(instrument).map_err(Failure::run)?,
            ))?;
        }
        if let Some(orders) = &mut orders {
            orders.line(&client_order_row(bus, instrument))?;
        }
    }
    let mut outputs: Vec<_> = [books, orders].into_iter().flatten().collect();
    outputs.iter_mut().try_for_each(Output::flush)?;
    outputs.into_iter().try_for_each(Output::finish)
}

/// Instruments of the present publisher, by ascending security id.
fn by_security_id(bus: &Bus) -> Vec<Instrument> {
    let mut rows: Vec<_> = bus.instruments().filter(|of| bus.is_current(*of)).collect();
    rows.sort_by_key(|of| {
        bus.definition(*of)
            .map_or(0, |definition| definition.security_id)
    });
    rows
}

fn summary(arguments: &Arguments, bus: &Bus, stored: &StoredBooks, elapsed: Duration) -> String {
    let (seen, stats) = (&stored.seen, bus.stats());
    let known = by_security_id(bus);
    let live = known.iter().filter(|of| bus.state(**of) == Ok(State::Live));
    format!(
        "{}: {} in {} over {:.1} s, {} of {} live; {}, {}, {} lost by overruns, {} of the publisher\n",
        arguments.bus,
        counted(seen.updates, "update"),
        match seen.batches {
            1 => "1 batch".to_owned(),
            batches => format!("{} batches", count(batches)),
        },
        elapsed.as_secs_f64(),
        count(live.count() as u64),
        counted(known.len() as u64, "book"),
        counted(seen.gaps, "gap"),
        counted(seen.resets, "reset"),
        counted(stats.lost, "message"),
        counted(stats.restarts, "restart"),
    )
}
