//! `touchline replay`: processes captures.

pub mod definitions;
mod inputs;
pub mod known;
pub mod of_channel;
pub mod of_tape;
mod print;
pub mod progress;
mod summary;
mod tape;

use crate::books::{write_books, write_orders};
use crate::format::time;
use crate::output::{Failure, Output, STDOUT, notice, say, say_aside};
use crate::record::Prices;
use crate::series::{Series, SeriesOutput};
use crate::tops::Tops;
use print::Printer;
use progress::Watched;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use summary::Summary;
use touchline_feed::cme::CmeFeed;
use touchline_gateway::config;
use touchline_gateway::replay::{Interrupted, Lateness, Pace, Speed, replay};
use touchline_gateway::venues::cme::{
    self, ChannelConfig, CmeConfig, CmePipeline, CmeReport, Definitions,
};
use touchline_gateway::{CountersFile, bus};
use touchline_instruments::Instruments;
use touchline_transport::Local;
use touchline_transport::clock::Clock;
use touchline_transport::shm::Publisher;

/// Process captures as a live gateway would, and write the books.
///
/// Packets are routed by group and port (CME's config.xml), lines A and B are arbitrated, and the books are updated, in
/// the order of capture time. At the end the books and a summary are written.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(flatten)]
    of_channel: of_channel::OfChannel,
    /// Captures: pcap or pcapng, uncompressed, .gz or .zst, or folders of them; several files are merged by capture time.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    pcap: Vec<PathBuf>,
    /// Tapes or raw recordings of `touchline record`, instead of captures: their directories; several are merged by receive time.
    #[arg(long, value_name = "DIR", num_args = 1.., help_heading = "Input")]
    journal: Vec<PathBuf>,
    #[command(flatten)]
    of_tape: of_tape::OfTape,
    /// Definitions for instruments that the input has without one: tables of `touchline definitions`, CME's secdef.dat, or, for
    /// captures, captures of the definition feed.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    definitions: Vec<PathBuf>,
    /// Exit status 0 even if a capture ends in the middle of a record.
    #[arg(long, help_heading = "Input")]
    allow_truncated: bool,

    /// Write the price books at the end, one JSON line for each instrument.
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    books: Option<PathBuf>,
    /// Write the order books at the end, one JSON line for each instrument.
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    orders: Option<PathBuf>,
    /// Write the best bid and ask of the direct book after each end of event, one JSON line each.
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    tops: Option<PathBuf>,
    /// Write a row for each change of the best bid, the best ask or the state of an instrument.
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    quotes: Option<PathBuf>,
    /// Write a row for each trade.
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    trades: Option<PathBuf>,
    /// Write prices as traders quote them, with the display factor of each instrument applied; without this flag, as
    /// the venue sends them.
    #[arg(long, help_heading = "Output")]
    display: bool,
    /// Print each packet field by field.
    #[arg(long, help_heading = "Output")]
    print: bool,
    /// Publish on the bus that the configuration names.
    #[arg(long, help_heading = "Output")]
    publish: bool,
    /// Name of the bus; overrides the configuration.
    #[arg(
        long,
        value_name = "NAME",
        requires = "publish",
        value_parser = config::bus_name,
        help_heading = "Output"
    )]
    bus: Option<String>,
    /// Directory of the buses; overrides the configuration. Default: /dev/shm/touchline-UID.
    #[arg(
        long,
        value_name = "DIR",
        env = "TOUCHLINE_DIR",
        help_heading = "Output"
    )]
    dir: Option<PathBuf>,
    /// Print the effective configuration as commented TOML, and exit.
    #[arg(long, help_heading = "Output")]
    print_config: bool,
    /// Print no summary and no progress bar.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// Content of a book in recovery until a snapshot fits.
    #[arg(long, value_enum, help_heading = "Settings")]
    join: Option<Join>,
    /// Gap timeout: how long packets received ahead of a gap wait for it, milliseconds of capture
    /// time.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(0..=10_000),
        help_heading = "Settings"
    )]
    wait_ms: Option<u64>,
    /// Compare the bytes of each packet's copies: compare_copies = true of the configuration.
    #[arg(long, help_heading = "Settings")]
    compare_copies: bool,
    /// Replay speed: max, or a factor (1 is the pace of the capture).
    #[arg(
        long,
        value_name = "max|N",
        default_value = "max",
        value_parser = speed,
        help_heading = "Settings"
    )]
    speed: Speed,
    /// Wait for the last 100 us before a packet or a message is due with a busy processor: an error of about 1 us instead of 30.
    #[arg(long, help_heading = "Settings")]
    spin: bool,
    /// Exit status 1 if a packet or a message is later than this on the schedule of --speed: 500us, 10ms.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Settings")]
    max_late: Option<Duration>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Join {
    /// An empty book.
    Snapshot,
    /// The levels that updates bring back (CME: natural refresh).
    Natural,
}

const AFTER_HELP: &str = "\
Examples:
  touchline replay --config cme-340.toml --pcap a.pcap b.pcap.zst --books books
  touchline replay --config-xml config.xml --channel 340 --pcap a.pcap --tops -
  touchline replay --config cme-340.toml --pcap a.pcap --quotes q.csv --trades t.csv
  touchline replay --config cme-340.toml --pcap a.pcap --print | less
  touchline replay --config cme-340.toml --pcap a.pcap --speed 1 --publish
  touchline replay --journal /data/cme-340 --quotes q.csv --trades t.csv

Files:
  OUT is a file, or - for standard output; one output can be standard output. A file
  appears under its name when it is complete; until then, and if the run fails, an
  existing file stays as it was. The next run removes what a killed run leaves
  (OUT.PID.partial). The summary goes to standard output, or to standard error if an
  output is standard output.

Series:
  The extension of OUT sets the format of --quotes and --trades: .csv, or .jsonl with
  one object a line. Rows have the exchange time and the receive time (nanoseconds since
  1970 UTC), the packet's sequence number, the instrument, and the validity of its book
  (state). The best bid and ask are the better of the direct and the implied book;
  bid_book and ask_book name it: direct, implied, or merged if both have that price.
  Rows are written at the end of an exchange event, in the order of the exchange;
  docs/captures.md has every column.

Bus:
  With --publish the updates are also published in shared memory: `touchline tail`,
  `book` and `stat` read them, during the replay and after it. When the replay stops, the
  books stay on the bus, marked as stale. A bus has one publisher at a time. A warning on
  standard error says if memory could not be locked or has no huge pages.

Configuration:
  The smallest --config:
    bus = \"cme-340\"
    [venue]
    kind = \"cme\"
    channel = 340
    config_xml = \"config.xml\"

Exit status:
  0  done
  1  the run failed: a capture missing, damaged or of another channel, an
     output that cannot be written, or a bus with another publisher; or a capture
     ends in the middle of a record: the outputs have all records before, and a
     warning names the file (status 0 with --allow-truncated)
  2  bad arguments or configuration";

/// The requested outputs.
struct Outputs {
    prices: Prices,
    books: Option<Output>,
    orders: Option<Output>,
    tops: Option<Output>,
    series: Option<Series>,
    printer: Option<Printer>,
}

type Writers = (Option<Tops>, Option<Series>);
type ReplayPipeline<'a> = CmePipeline<(Local<&'a mut Writers>, Option<Publisher>)>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if inputs::has_tapes(arguments)? {
        inputs::check_paths_of_tapes(arguments)?;
        return tape::run(arguments);
    }
    let config = inputs::config(arguments)?;
    if arguments.print_config {
        return say(&config.to_file());
    }
    let captures = inputs::captures(&arguments.pcap)?;
    inputs::check_paths(arguments, &captures, &config)?;
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .map_err(|error| Failure::configuration(&error))?;
    let source = inputs::source(arguments, &captures)?;
    let mut outputs = Outputs::open(arguments)?;
    let bus = publisher(arguments, &config)?;
    let mut counters_file = bus.as_ref().map(counters_file).transpose()?;
    let prices = Prices::displayed(arguments.display);
    let tops = outputs.tops.take().map(|output| Tops::new(output, prices));
    let mut writers: Writers = (tops, outputs.series.take());
    let local = Local::new(&mut writers);
    let mut pipeline: ReplayPipeline<'_> = cme::pipeline(&config, (local, bus));
    let definitions = known::define(&arguments.definitions, &config, &channel, &mut pipeline)?;
    let mut source = Watched::new(source, arguments.shows_progress());

    let printer = &mut outputs.printer;
    let outcome = replay(
        &mut source,
        channel.routes(),
        &mut pipeline,
        arguments.pace(),
        &mut counters_file,
        |packet, route| match printer {
            Some(printer) => printer.packet(packet, route),
            None => ControlFlow::Continue(()),
        },
    );
    let skipped = source.finish().skipped();
    let (report, error) = match outcome {
        Ok(report) => (report, None),
        Err(Interrupted { report, error }) => (*report, Some(error)),
    };
    warn(&report, definitions.as_ref(), pipeline.instruments());
    let left_early = outputs.printer.take().map_or(Ok(false), Printer::finish)?;
    if error.is_none() && report.routed() == 0 && !left_early {
        return Err(Failure::run(cme::other_channel(&config, &report, &skipped)));
    }
    if !arguments.quiet && !left_early {
        let summary =
            Summary::new(&channel, &report, skipped, &pipeline, config.venue.join).to_string();
        arguments.summarise(&summary)?;
    }
    match error {
        Some(error) => Err(stopped(&error, &report)),
        None => {
            outputs.write_final_books(&config, &pipeline)?;
            // The bus ends after the outputs are there: somebody may wait for its end to read them.
            let bus = pipeline.publisher_mut().inner_mut().1.take();
            drop(pipeline);
            outputs.finish([writers])?;
            drop(bus);
            arguments.check_late(report.lateness.as_ref())?;
            match report.truncations.is_empty() || arguments.allow_truncated {
                true => Ok(()),
                false => Err(Failure::Logged(1)),
            }
        }
    }
}

/// Warnings behind the last packet.
fn warn(report: &CmeReport, definitions: Option<&Definitions>, instruments: &Instruments) {
    for truncation in &report.truncations {
        notice(format_args!(
            "warning: {truncation}; all packets before are processed, and without --allow-truncated the exit status is 1"
        ));
    }
    if let Some(sentence) = definitions.and_then(|given| given.conflicts(instruments)) {
        notice(format_args!("warning: {sentence}"));
    }
}

impl Arguments {
    /// The schedule of the replay.
    fn pace(&self) -> Pace {
        Pace::new(self.speed).spins(self.spin)
    }

    /// Refuses a schedule that was not kept.
    fn check_late(&self, lateness: Option<&Lateness>) -> Result<(), Failure> {
        let (Some(most), Some(lateness)) = (self.max_late, lateness) else {
            return Ok(());
        };
        match lateness.max() > most {
            true => Err(Failure::run(format!(
                "late by {:?}, over --max-late {most:?}: the outputs are complete; give the replay a processor of its own, --spin, or a lower --speed",
                lateness.max()
            ))),
            false => Ok(()),
        }
    }

    fn outputs(&self) -> impl Iterator<Item = &Path> {
        let outputs = [
            &self.books,
            &self.orders,
            &self.tops,
            &self.quotes,
            &self.trades,
        ];
        outputs.into_iter().flatten().map(PathBuf::as_path)
    }

    /// Whether standard output is one of the outputs.
    fn takes_stdout(&self) -> bool {
        self.print || self.outputs().any(|path| path == Path::new(STDOUT))
    }

    /// Whether a progress bar is shown: not while lines of output scroll on the same terminal.
    fn shows_progress(&self) -> bool {
        !self.quiet && !self.takes_stdout()
    }

    fn summarise(&self, summary: &str) -> Result<(), Failure> {
        if self.takes_stdout() {
            say_aside(summary);
            return Ok(());
        }
        say(summary)
    }
}

impl Outputs {
    fn open(arguments: &Arguments) -> Result<Outputs, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
        let series = |path: &Option<PathBuf>| path.as_deref().map(SeriesOutput::open).transpose();
        let (quotes, trades) = (series(&arguments.quotes)?, series(&arguments.trades)?);
        let has_series = quotes.is_some() || trades.is_some();
        let prices = Prices::displayed(arguments.display);
        let may_leave = arguments.outputs().next().is_none();
        Ok(Outputs {
            prices,
            books: open(&arguments.books)?,
            orders: open(&arguments.orders)?,
            tops: open(&arguments.tops)?,
            series: has_series
                .then(|| Series::new(quotes, trades, prices))
                .transpose()?,
            printer: arguments
                .print
                .then(|| Printer::new(may_leave))
                .transpose()?,
        })
    }

    fn write_final_books(
        &mut self,
        config: &CmeConfig,
        pipeline: &ReplayPipeline<'_>,
    ) -> Result<(), Failure> {
        let symbols = &config.venue.symbols;
        if let Some(books) = &mut self.books {
            write_books(pipeline, symbols, self.prices, books)?;
        }
        if let Some(orders) = &mut self.orders {
            write_orders(pipeline, symbols, self.prices, orders)?;
        }
        Ok(())
    }

    /// Flushes all outputs, then gives them their final names.
    fn finish(self, writers: impl IntoIterator<Item = Writers>) -> Result<(), Failure> {
        let mut outputs: Vec<_> = [self.books, self.orders].into_iter().flatten().collect();
        for (tops, series) in writers {
            outputs.extend(tops.map(Tops::into_output).transpose()?.flatten());
            let series = series.map(Series::into_outputs).transpose()?;
            outputs.extend(series.into_iter().flatten());
        }
        outputs.iter_mut().try_for_each(Output::flush)?;
        outputs.into_iter().try_for_each(Output::finish)
    }
}

/// The bus, if requested; a warning reports memory that is not locked or has no huge pages.
fn publisher(arguments: &Arguments, config: &CmeConfig) -> Result<Option<Publisher>, Failure> {
    if !arguments.publish {
        return Ok(None);
    }
    let publisher = bus::open(config).map_err(Failure::run)?;
    for warning in publisher.warnings() {
        notice(format_args!("bus {}: {warning}", config.bus));
    }
    Ok(Some(publisher))
}

fn counters_file(bus: &Publisher) -> Result<CountersFile, Failure> {
    CountersFile::create::<CmeFeed>(bus, Clock::calibrated(), std::iter::empty())
        .map_err(Failure::run)
}

/// A replay that ended before its source.
pub fn stopped(error: &touchline_gateway::replay::Error, report: &CmeReport) -> Failure {
    let routed = crate::format::counted(report.routed(), "packet");
    Failure::run(format!(
        "{error}; {routed} before it processed, no output is written"
    ))
}

fn speed(text: &str) -> Result<Speed, String> {
    match text.parse::<f64>() {
        _ if text == "max" => Ok(Speed::Max),
        Ok(factor) if (1e-6..=1e6).contains(&factor) => Ok(Speed::Times(factor)),
        _ => Err("give max or a factor from 0.000001 to 1000000 such as 1 or 0.5".to_owned()),
    }
}
