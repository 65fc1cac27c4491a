//! `touchline tail`: prints the messages of a bus.

pub mod json;
mod names;
mod text;

use crate::interrupt::Interrupt;
use crate::missing;
use crate::output::{Failure, Output, notice};
use crate::place::{Place, bus_name};
use crate::remote::{self, Remote};
use std::path::PathBuf;
use std::time::Duration;
use touchline_client::monitor::Monitor;
use touchline_client::{Bus, Connection, Error, Event, Events, Next, Options};

/// Follow a bus: print the present books, then each published message, one line each.
///
/// A line has the venue's time in UTC (the receive time if the venue has none), the instrument, the validity of its
/// book, the best bid and ask, and the change. Lines that start with -- report on the subscription: the publisher has
/// ended, another one has started, messages were lost because this reader was overrun. The command continues after
/// each, and waits for a bus that does not exist yet.
///
/// Of a trading engine's bus: each entry of its drop copy from now on, its kind and a JSON object.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; `touchline stat` lists them.
    #[arg(value_name = "BUS", value_parser = bus_name, required_unless_present = "from")]
    bus: Option<String>,
    /// Receive the bus of another host without a bus on this host, so without a directory: tcp://HOST:PORT, or an Aeron channel.
    // A directory of the environment would be a conflict, too.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["bus", "name", "named"])]
    from: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Print one JSON object a line, with every field of the message.
    #[arg(long)]
    json: bool,
    /// Only instruments whose symbol matches; * matches any characters. The security id of one without a symbol. Repeat it for several
    /// patterns.
    #[arg(long, value_name = "PATTERN")]
    symbol: Vec<String>,
    /// Only books that are live.
    #[arg(long)]
    live_only: bool,
    /// Leave out the definitions and books that are on the bus at the start.
    #[arg(long)]
    no_images: bool,
    /// Register under this name: `stat` and `top` then show lag, overruns and latency of this reader.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// On a lossless bus, make the publisher wait for this reader.
    #[arg(long)]
    named: bool,
    /// Stop after N messages.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline tail cme-340
  touchline tail cme-340 --symbol 'ES*' --live-only
  touchline tail cme-340 --name screen-2
  touchline tail --from tcp://gw1:7340
  touchline tail fx-run
  touchline tail cme-340 --json --no-images | jq 'select(.message == \"trade\")'

Changes:
  bid+1 12@4500.25   a new best bid; the levels below move down
  ask=3 7@4501       the third best ask has a new quantity
  ibid-2             the second best implied bid is deleted; the levels below move up
  ask clear          every level of the side is deleted

Best prices:
  The best bid and ask are the better of the direct and the implied book, with its
  name: direct, implied, or merged if both have that price. A line that ends with top
  is published ahead of the whole change.

Prices:
  As traders quote them: the venue's price times the display factor of the
  instrument's definition.

JSON:
  Prices and 64-bit numbers are strings; whole quantities are numbers. Levels are
  [price, quantity, orders]; indexes start at 0. best_bid and best_ask are [price,
  quantity, book] of the direct and the implied book together. Times are nanoseconds since 1970 UTC, marks are
  ticks of the publisher's clock.

Exit status:
  0  stopped by Ctrl-C or SIGTERM, the reader of the output has closed it, or --count
     messages were written
  1  the bus cannot be read, or the output cannot be written
  2  bad arguments";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let remote = arguments.from.as_deref().map(Remote::receive).transpose()?;
    let source = match &remote {
        Some(remote) => Source {
            bus: remote::BUS.to_owned(),
            directory: remote.folder().to_owned(),
        },
        None => arguments.source(),
    };
    let options = arguments.options(&source);
    let Some(mut bus) = join(&options, &source, &interrupt)? else {
        return Ok(());
    };
    let mut tail = Tail::new(arguments)?;
    while tail.goes_on() && !interrupt.is_asked() {
        let event = match bus.poll() {
            Some(event) => event,
            None => {
                tail.output.flush()?;
                match bus.next_within(NAP) {
                    Next::Event(event) => event,
                    Next::TimedOut => continue,
                    Next::Stopped => break,
                }
            }
        };
        tail.event(&bus, &event)?;
        if let Event::Connection(Connection::CaughtUp { instruments: 0 }) = event {
            tail.nothing_fits(arguments, &source, &options)?;
        }
    }
    tail.output.flush()
}

/// Interval of checks for an interrupt and a closed output.
const NAP: Duration = Duration::from_millis(20);

/// Joins the bus; waits for one that does not exist, and says so. `None` if the process is interrupted first.
fn join(options: &Options, source: &Source, interrupt: &Interrupt) -> Result<Option<Bus>, Failure> {
    let mut is_told = false;
    while !interrupt.is_asked() {
        let error = match options.clone().join(&source.bus) {
            Ok(bus) => return Ok(Some(bus)),
            Err(error) => error,
        };
        let is_absent = matches!(error, Error::NoBus { .. } | Error::HalfStarted { .. });
        let is_engine = Monitor::new(Some(&source.directory)).is_engine(&source.bus);
        if !is_absent || is_engine {
            return Err(missing::refused_at(&source.directory, &source.bus, error));
        }
        if !std::mem::replace(&mut is_told, true) {
            let why = missing::words_at(&source.directory, &source.bus, error);
            notice(format_args!("{why}; waiting for it, Ctrl-C ends"));
        }
        std::thread::sleep(NAP);
    }
    Ok(None)
}

/// State of the output.
struct Tail {
    output: Output,
    line: String,
    json: bool,
    images: bool,
    /// Messages left to write.
    left: u64,
}

/// A bus and its directory.
struct Source {
    bus: String,
    directory: PathBuf,
}

/// Output of `tail` for a trading engine.
pub struct OfEngine {
    /// Bus of the engine.
    pub bus: String,
    /// Directory of the buses.
    pub directory: PathBuf,
    /// JSON alone.
    pub json: bool,
    /// Most lines.
    pub count: u64,
    /// An option that was given and does not apply.
    pub of_market_data: Option<&'static str>,
}

impl Arguments {
    /// Set if the bus is that of a trading engine, which has no market data.
    pub fn of_engine(&self) -> Option<OfEngine> {
        let Source { bus, directory } = self.source();
        let is_engine = self.from.is_none() && Monitor::new(Some(&directory)).is_engine(&bus);
        is_engine.then(|| OfEngine {
            bus,
            directory,
            json: self.json,
            count: self.count.unwrap_or(u64::MAX),
            of_market_data: self.of_market_data(),
        })
    }

    fn of_market_data(&self) -> Option<&'static str> {
        let options = [
            ("--symbol", !self.symbol.is_empty()),
            ("--live-only", self.live_only),
            ("--no-images", self.no_images),
            ("--name", self.name.is_some()),
            ("--named", self.named),
        ];
        let given = options.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(option, _)| option)
    }

    fn source(&self) -> Source {
        Source {
            bus: self.bus.clone().unwrap_or_default(),
            directory: self.place.root().path().to_owned(),
        }
    }

    fn options(&self, source: &Source) -> Options {
        let mut options = Bus::options()
            .directory(&source.directory)
            .events(Events::ALL)
            .symbols(self.symbol.iter().map(String::as_str))
            .live_only(self.live_only);
        if let Some(name) = &self.name {
            options = options.name(name);
        }
        match self.named {
            true => options.lossless(),
            false => options,
        }
    }
}

impl Tail {
    fn new(arguments: &Arguments) -> Result<Tail, Failure> {
        Ok(Tail {
            output: Output::stdout()?,
            line: String::new(),
            json: arguments.json,
            images: !arguments.no_images,
            left: arguments.count.unwrap_or(u64::MAX),
        })
    }

    /// Whether more messages are wanted and the output is open.
    fn goes_on(&self) -> bool {
        self.left > 0 && self.output.has_reader()
    }

    fn event(&mut self, bus: &Bus, event: &Event) -> Result<(), Failure> {
        let is_message = !matches!(event, Event::Connection(_));
        let is_image = is_message && bus.trace().is_kept;
        // A line is a message, and a message of all books has its line.
        if is_image && !self.images || bus.trace().is_of_all {
            return Ok(());
        }
        self.line.clear();
        match self.json {
            true => json::write(&mut self.line, bus, event),
            false => text::write(&mut self.line, bus, event),
        }
        self.left -= u64::from(is_message);
        self.output.line(&self.line)
    }

    /// Reports that no instrument of the bus matches the patterns.
    fn nothing_fits(
        &mut self,
        arguments: &Arguments,
        source: &Source,
        options: &Options,
    ) -> Result<(), Failure> {
        let Ok(snapshot) = options.clone().snapshot(&source.bus) else {
            return Ok(());
        };
        let defined = snapshot.instruments().count();
        if arguments.symbol.is_empty() || defined == 0 {
            return Ok(());
        }
        let symbols: Vec<_> = snapshot
            .instruments()
            .map(|instrument| snapshot.symbol(instrument))
            .collect();
        self.line.clear();
        match self.json {
            true => json::nothing_fits(&mut self.line, &arguments.symbol, defined),
            false => text::nothing_fits(&mut self.line, &arguments.symbol, &symbols),
        }
        self.output.line(&self.line)
    }
}
