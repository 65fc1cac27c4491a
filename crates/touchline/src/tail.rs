//! `touchline tail`: follows a bus.

mod books;
mod json;
mod known;
mod names;
mod text;

use crate::interrupt::Interrupt;
use crate::missing;
use crate::output::{Failure, Output};
use crate::place::Place;
use books::Books;
pub use known::Known;
use std::time::Duration;
use touchline_gateway::bus;
use touchline_gateway::config::{Symbols, bus_name};
use touchline_transport::shm::{Item, Join, Polled, Root, Subscriber};
use touchline_transport::{BackOff, Idle, Idler, SubscriptionEvent};

/// Follow a bus: every book as it is now, then everything that is published, a line each.
///
/// A line says when (the venue's time, UTC; that of receipt where the venue said none), which
/// instrument, how far its book may be trusted, the best bid and ask, and what changed. Lines that
/// begin with -- are about the subscription: the publisher is gone, another one begins, messages
/// were lost because this reader was too slow. It goes on through all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; `touchline stat` lists them.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: String,
    #[command(flatten)]
    place: Place,
    /// One JSON object a line, with everything that a message says.
    #[arg(long)]
    json: bool,
    /// Only instruments whose symbol fits; * stands for any characters. May be given several times.
    #[arg(long, value_name = "PATTERN")]
    symbol: Vec<String>,
    /// Only books that are live.
    #[arg(long)]
    live_only: bool,
    /// Without the definitions and books that stand when the bus is joined.
    #[arg(long)]
    no_images: bool,
    /// Be seen by this name in `stat` and `top`: how far behind, what was lost, how long things took.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Have the publisher of a lossless bus wait for this reader.
    #[arg(long)]
    named: bool,
    /// End after so many messages.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline tail cme-340
  touchline tail cme-340 --symbol 'ES*' --live-only
  touchline tail cme-340 --name screen-2
  touchline tail cme-340 --json --no-images | jq 'select(.message == \"trade\")'

Changes:
  bid+1 12@4500.25   a level comes in as the best bid, what was there moves down
  ask=3 7@4501       the third best ask has this quantity now
  ibid-2             the second best implied bid goes, what is behind moves up
  ask clear          the list is empty

Best prices:
  The best bid and ask are the better of the direct and the implied book, and
  say which: direct, implied, or merged where both are at that price. A line
  that ends with top is of the direct book alone, ahead of the whole change.

JSON:
  Prices and numbers of 64 bits are strings, quantities numbers when whole;
  levels are [price, quantity, orders], indexes begin at 0. bid and ask are of
  the direct book, as the message has them; best_bid and best_ask are [price,
  quantity, book], of the direct and the implied book together. Times are
  nanoseconds since 1970 UTC, marks ticks of the publisher's clock.

Exit status:
  0  stopped by Ctrl-C or SIGTERM, the reader of the output has gone, or
     --count messages were written
  1  the bus does not exist or cannot be read, or the output not be written
  2  bad arguments";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let root = arguments.place.root();
    let mut subscriber = Subscriber::join(&root, &arguments.bus, arguments.join(&root)?)
        .map_err(|error| missing::refused(&root, &arguments.bus, error))?;
    let mut tail = Tail::new(arguments)?;
    let mut idler = Idler::new(Idle::BackOff(PAUSES));
    while tail.goes_on() && !interrupt.is_asked() {
        match subscriber.poll(|item| tail.item(&item)) {
            Polled::Given(written) => {
                written?;
                idler.idle(1);
            }
            // There is more: a reader of few symbols is not to sleep while it is behind.
            Polled::Passed(passed) => idler.idle(passed),
            Polled::Nothing => {
                tail.output.flush()?;
                idler.idle(0);
            }
        }
    }
    tail.output.flush()
}

/// A person cannot see less than a millisecond, and a screen needs no core of its own.
const PAUSES: BackOff = BackOff {
    spins: 0,
    yields: 10,
    sleep_min: Duration::from_micros(20),
    sleep_max: Duration::from_millis(1),
};

/// What is written of a subscription.
struct Tail {
    output: Output,
    known: Known,
    books: Books,
    line: String,
    json: bool,
    images: bool,
    /// Messages that may still be written.
    left: u64,
}

impl Arguments {
    fn join(&self, root: &Root) -> Result<Join, Failure> {
        let reader_stats = self.name.as_ref();
        let reader_stats = reader_stats.map(|name| bus::reader_stats(root, &self.bus, name));
        let mut join = Join {
            reader_stats: reader_stats
                .transpose()
                .map_err(|error| missing::refused(root, &self.bus, error))?,
            registered: self.named,
            live_only: self.live_only,
            ..Join::default()
        };
        if !self.symbol.is_empty() {
            let symbols = Symbols::new(self.symbol.clone()).map_err(Failure::usage)?;
            join.filter = Some(Box::new(move |definition| {
                symbols.admit_instrument(definition)
            }));
        }
        Ok(join)
    }
}

impl Tail {
    fn new(arguments: &Arguments) -> Result<Tail, Failure> {
        Ok(Tail {
            output: Output::stdout()?,
            known: Known::default(),
            books: Books::default(),
            line: String::new(),
            json: arguments.json,
            images: !arguments.no_images,
            left: arguments.count.unwrap_or(u64::MAX),
        })
    }

    /// Whether more is wanted, and somebody reads it.
    fn goes_on(&self) -> bool {
        self.left > 0 && self.output.has_reader()
    }

    fn item(&mut self, item: &Item<'_>) -> Result<(), Failure> {
        let (known, books, json) = (&mut self.known, &mut self.books, self.json);
        let is_message = match item {
            Item::Update(received) => {
                known.note(&received.update);
                books.note(received);
                if received.is_image && !self.images {
                    return Ok(());
                }
                true
            }
            Item::Top { .. } => true,
            Item::SubscriptionEvent(event) => {
                if let SubscriptionEvent::Restarted { .. } = event {
                    known.forget();
                    books.forget();
                }
                false
            }
            Item::BatchEnd => return Ok(()),
        };
        self.line.clear();
        match json {
            true => json::write(&mut self.line, item, known, books),
            false => text::write(&mut self.line, item, known, books),
        }
        self.left -= u64::from(is_message);
        self.output.line(&self.line)
    }
}
