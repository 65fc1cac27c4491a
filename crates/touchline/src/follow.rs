//! `touchline follow`: a subscriber that keeps the books, as a strategy would.

mod stored;

use crate::books::{order_row, price_row};
use crate::format::{count, counted};
use crate::interrupt::Interrupt;
use crate::missing;
use crate::output::{Failure, Output, say};
use crate::place::Place;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use stored::StoredBooks;
use touchline_book::LevelList;
use touchline_gateway::bus;
use touchline_gateway::config::bus_name;
use touchline_transport::shm::{Error, Join, Overview, Root, Subscriber};
use touchline_transport::{BackOff, Idle, Idler};

/// Join a bus, keep its books from updates alone, and write them at the end.
///
/// What a strategy does with a bus, without the strategy: it goes on through losses, laps and
/// restarts of the gateway, and in the end shows what it holds. Compared with the books of the other
/// side (`replay --books`, `sim cme --truth-books`) that says whether the way in between can be
/// trusted.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; `touchline stat` lists them.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: String,
    #[command(flatten)]
    place: Place,
    /// Write the price books at the end, a JSON line for each instrument.
    #[arg(long, value_name = "OUT")]
    books: Option<PathBuf>,
    /// Write the order books at the end, a JSON line for each instrument.
    #[arg(long, value_name = "OUT")]
    orders: Option<PathBuf>,
    /// Write each state of each live price book while it goes on: packet, venue id and a hash of the
    /// four lists, in the form of `sim cme --truth-log`.
    #[arg(long, value_name = "OUT")]
    states: Option<PathBuf>,
    /// The same of each live order book: a hash of its orders, in the form of `sim cme --truth-order-log`.
    #[arg(long, value_name = "OUT")]
    order_states: Option<PathBuf>,
    /// Wait so many seconds for the bus to be there.
    #[arg(long, value_name = "N", default_value_t = 0)]
    wait: u64,
    /// End by itself after so many seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// End when standard input does, for whoever starts this as a child.
    #[arg(long)]
    until_eof: bool,
    /// Be seen by this name in `stat` and `top`: how far behind, what was lost, how long things took.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// No summary.
    #[arg(long, short)]
    quiet: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline follow cme-340 --books books.jsonl --seconds 60
  touchline follow cme-340 --wait 10 --orders -

Output:
  As `replay` writes them; last_rpt_seq is null, since a bus does not carry it.
  The summary goes to standard error where standard output is taken.

Exit status:
  0  stopped by Ctrl-C, SIGTERM, --seconds or --until-eof
  1  the bus does not exist or cannot be read, or an output not be written
  2  bad arguments";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    if arguments.until_eof {
        interrupt.at_end_of_input();
    }
    let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
    let (books, orders) = (open(&arguments.books)?, open(&arguments.orders)?);
    let start = Instant::now();
    let end = arguments.seconds.map(Duration::from_secs);
    let is_over = || interrupt.is_asked() || end.is_some_and(|end| start.elapsed() >= end);
    let Some(mut subscriber) = join(arguments, &is_over)? else {
        return Ok(());
    };
    let mut stored = StoredBooks::new(open(&arguments.states)?, open(&arguments.order_states)?);
    let mut idler = Idler::new(Idle::BackOff(PAUSES));
    while !is_over() {
        let work = subscriber.drain(BATCH, &mut stored);
        // mutant: soak: a subscriber leaks a little each time it reads
        idler.idle(work);
    }
    // What was published before the end was asked for is part of it; a publisher may go on for ever.
    let patience = Instant::now() + FLUSH_TIMEOUT;
    // This process may have been stopped, and the publisher gone since it looked last.
    subscriber.look_again();
    while subscriber.drain(BATCH, &mut stored) > 0 && Instant::now() < patience {}
    write(&stored, books, orders)?;
    let summary = summary(arguments, &stored, start.elapsed());
    stored.finish()?;
    match (arguments.quiet, arguments.takes_stdout()) {
        (true, _) => Ok(()),
        (false, false) => say(&summary),
        (false, true) => {
            eprint!("{summary}");
            Ok(())
        }
    }
}

/// Things handed over between two looks at the clock.
const BATCH: usize = 1024;

/// How long what is already published is read at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

const PAUSES: BackOff = BackOff {
    spins: 100,
    yields: 100,
    sleep_min: Duration::from_micros(20),
    sleep_max: Duration::from_micros(50),
};

impl Arguments {
    fn subscribe(&self, root: &Root) -> Result<Subscriber, Error> {
        let reader_stats = |name: &String| bus::reader_stats(root, &self.bus, name);
        let join = Join {
            reader_stats: self.name.as_ref().map(reader_stats).transpose()?,
            ..Join::default()
        };
        Subscriber::join(root, &self.bus, join)
    }

    fn takes_stdout(&self) -> bool {
        let outputs = [&self.books, &self.orders, &self.states, &self.order_states];
        outputs
            .into_iter()
            .flatten()
            .any(|path| path.as_os_str() == crate::output::STDOUT)
    }
}

/// Joins as soon as there is a publisher; `None` if the end comes first.
fn join(arguments: &Arguments, is_over: &impl Fn() -> bool) -> Result<Option<Subscriber>, Failure> {
    let root = arguments.place.root();
    let patience = Instant::now() + Duration::from_secs(arguments.wait);
    loop {
        let is_last = Instant::now() >= patience;
        // A bus without a publisher may be one of yesterday.
        let is_there =
            is_last || Overview::publisher_of(&root, &arguments.bus).is_ok_and(|p| p.is_some());
        let joined = is_there.then(|| arguments.subscribe(&root));
        match joined {
            Some(Ok(subscriber)) => return Ok(Some(subscriber)),
            Some(Err(error)) if is_last => return Err(refused(&root, &error, arguments)),
            _ if is_over() => return Ok(None),
            _ => thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn refused(root: &Root, error: &Error, arguments: &Arguments) -> Failure {
    let error = missing::words(root, &arguments.bus, error);
    match arguments.wait {
        0 => Failure::run(format!("{error} (--wait N waits for it)")),
        seconds => Failure::run(format!("{error}, after {seconds} s")),
    }
}

/// Writes both before the first one takes its name.
fn write(
    stored: &StoredBooks,
    mut books: Option<Output>,
    mut orders: Option<Output>,
) -> Result<(), Failure> {
    for definition in stored.by_security_id() {
        let instrument = definition.instrument;
        if let Some(books) = &mut books {
            let book = stored.mirror.book(instrument);
            let levels = |kind, side| book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
            let validity = stored.mirror.validity(instrument);
            books.line(&price_row(&definition, validity, None, levels))?;
        }
        if let Some(orders) = &mut orders {
            let validity = stored.mirror.orders_validity(instrument);
            let row = order_row(&definition, validity, stored.mirror.orders());
            orders.line(&row)?;
        }
    }
    let mut outputs: Vec<_> = [books, orders].into_iter().flatten().collect();
    outputs.iter_mut().try_for_each(Output::flush)?;
    outputs.into_iter().try_for_each(Output::finish)
}

fn summary(arguments: &Arguments, stored: &StoredBooks, elapsed: Duration) -> String {
    let seen = &stored.seen;
    let (live, known) = stored.live();
    format!(
        "{}: {} in {} over {:.1} s, {} of {} live; {}, {}, {} lost by laps, {} of the publisher\n",
        arguments.bus,
        counted(seen.updates, "update"),
        match seen.batches {
            1 => "1 batch".to_owned(),
            batches => format!("{} batches", count(batches)),
        },
        elapsed.as_secs_f64(),
        count(live as u64),
        counted(known as u64, "book"),
        counted(seen.gaps, "gap"),
        counted(seen.resets, "reset"),
        counted(seen.lost, "message"),
        counted(seen.restarts, "restart"),
    )
}
