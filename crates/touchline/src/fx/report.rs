//! `touchline fx report`: drop copy for back offices, positions, fills and scorecard of a trading engine.

mod about;
mod account;
mod exact;
mod files;
mod office;
mod page;
mod period;
mod quality;
mod scores;
mod slippage;
mod statistics;
mod tables;
mod value_dates;

pub use account::Arrival;
pub use exact::DECIMALS;
pub use slippage::{MILLION_DECIMALS, Slippage, TICK_DECIMALS, Traded};

use super::follow::{Source, open};
use crate::interrupt::Interrupt;
use crate::log::{Log, LogArguments, LogThread, events};
use crate::output::{Failure, ended, log_thread, say};
use about::{Origin, digits};
use clap::Args;
use files::{Files, positions, scorecard};
use office::Office;
use period::Period;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_fx_days::Date;
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_desk::{Follower, PublishedEntry};
use touchline_fx_live::execution::Config;
use touchline_fx_live::execution::back_office::Reports;
use touchline_journal::ChainReader;

/// Report on a trading engine: drop copy for back offices, positions, fills and scorecard.
///
/// The report is a process of its own: the engine does not notice whether it runs, is slow, is frozen or dies.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx report --scorecard
  touchline fx report --config fx/run.toml --out report --follow
  touchline fx report --config fx/run.toml --out january --from 20260101 --to 20260131

With --follow and a section [report] in the configuration it is a FIX 4.4 acceptor that sends each
fill, cancel, reject, bust and correction to every client of the section; see docs/fx/trade.md.

Files of --out, and of a folder of it for each trade date, such as 20260105 (17:00 New York):
  report.html      everything on one page to read and to print, without a reference to anything outside
  about.json       period, account, release, configuration, journal, counts, and the SHA-256 of each file
  parents.csv      slippage against the market at arrival, duration, end, who sent it
  orders.csv       terms, value date, mids, hold, state, fills
  commands.csv     who gave which command, and the answer
  alarms.csv       alarms of the journal, and kills
  fills.csv        every fill, bust and correction; with --follow rows are appended
  value_dates.csv  positions by value date, realised and open profit
  scorecard.csv    each bank and pair over all runs, with intervals and the test of asymmetry
  means.csv        moves and mark-outs: number, mean, interval
  prices.csv       expected price of a million by bank and size
Of the whole period alone:
  scorecard_days.csv
                   the columns of scorecard.csv for each trade date
Of the whole journal alone:
  positions.jsonl  position of each pair: base units, cash in term currency, time
  positions.csv    the same, with worst cases and profit
  scorecard.jsonl  scorecard of each bank and pair as the engine wrote it last, with its time

Exit status: 0 done or stopped, 1 the journal cannot be read, a file cannot be written or the port
is in use, 2 bad arguments or configuration")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Write the files into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// First trade date of the files of --out, YYYYMMDD; the first of the journal if absent
    #[arg(long, value_name = "DATE", value_parser = trade_date)]
    from: Option<u32>,
    /// Last trade date of the files of --out, YYYYMMDD; the last of the journal if absent
    #[arg(long, value_name = "DATE", value_parser = trade_date)]
    to: Option<u32>,
    /// Print the scorecard of each bank and pair behind the positions, as of its last writing by the engine
    #[arg(long)]
    scorecard: bool,
    /// Follow the engine until Ctrl-C: serve the back offices of section report, and keep the files of --out up to date
    #[arg(long)]
    follow: bool,
    /// Stop when standard input is closed, for a process that starts this as a child
    #[arg(long)]
    until_eof: bool,
    #[command(flatten)]
    log: LogArguments,
}

/// Time between two writings of the files, and two readings while no engine runs.
const EVERY: Duration = Duration::from_secs(1);
/// Time between two readings while an engine runs.
const LOOK: Duration = Duration::from_millis(5);
const NAP: Duration = Duration::from_millis(1);

/// Writes the report.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.source.settings()?;
    let section = config.report.as_ref().filter(|_| arguments.follow);
    if arguments.follow && arguments.out.is_none() && section.is_none() {
        return Err(Failure::usage(
            "--follow has nothing to do: give --out DIR, or a section [report] in the configuration",
        ));
    }
    let interrupt = Interrupt::catch()?;
    if arguments.until_eof {
        interrupt.at_end_of_input();
    }
    if section.is_some() {
        // A client must not receive the trades of another engine's journal.
        let setup = config.setup().map_err(Failure::usage)?;
        touchline_fx_live::execution::check_owner(&config, &setup).map_err(Failure::run)?;
    }
    let (origin, period) = (arguments.origin(&config)?, arguments.period()?);
    let mut shown = Shown {
        follower: open(&config),
        files: Files::new(arguments.out.as_deref(), origin, period),
        chain: ChainReader::new(&config.run.journal),
    };
    // Everything that is in the journal, before any number of a client is used.
    let mut reports = Reports::default();
    shown.poll(|ledger, told| {
        if section.is_some() {
            reports.take(ledger, told);
        }
    })?;
    if let Some(journal) = shown.follower.journal() {
        reports.of_journal(journal);
    }
    shown.write()?;
    if !arguments.follow {
        return say(&printed(shown.files.ledger(), arguments));
    }
    let context = vec![("bus", config.run.bus.as_str().into())];
    let mut log = log_thread(Log::to_stderr(arguments.log, context))?;
    let outcome = match section {
        Some(section) => Office::open(section, reports).map(Some),
        None => Ok(None),
    };
    let outcome = outcome.and_then(|mut office| {
        if let Some(office) = &office {
            let what = format!("drop copy: listening on {}", office.address());
            log.write(&events::FX_BACK_OFFICE, [("what", what.into())]);
        }
        follow(&mut shown, office.as_mut(), &interrupt, &mut log)
    });
    let printed = outcome.map(|()| printed(shown.files.ledger(), arguments));
    ended(printed, log)
}

/// An engine, and the files that show it.
struct Shown {
    follower: Follower,
    files: Files,
    /// Hash chain of its journal.
    chain: ChainReader,
}

impl Shown {
    /// Takes the new entries, and gives each to `each`.
    fn poll(&mut self, mut each: impl FnMut(&Ledger, &PublishedEntry<'_>)) -> Result<(), Failure> {
        let files = &mut self.files;
        let polled = self.follower.poll(&mut |told| {
            files.take(told);
            each(files.ledger(), told);
        });
        polled.map(drop).map_err(Failure::run)
    }

    /// Takes the new entries, also for the clients.
    fn read(&mut self, mut office: Option<&mut Office>) -> Result<(), Failure> {
        self.poll(|ledger, told| {
            if let Some(office) = &mut office {
                office.take(ledger, told);
            }
        })?;
        let journal = self.follower.journal();
        office.map_or(Ok(()), |office| office.of_journal(journal))
    }

    /// Writes the files that changed, with the journal that they are of.
    fn write(&mut self) -> Result<(), Failure> {
        let id = self.follower.journal();
        if let Some(id) = id.filter(|_| self.files.has_folder()) {
            let chain = self.chain.poll().map_err(Failure::run)?;
            let head = chain.head.map(|head| head.to_string());
            let head = head.unwrap_or_default();
            self.files.note_journal(digits(&id), head, chain.faults);
        }
        self.files.write()
    }
}

impl Arguments {
    /// Trade dates of the files.
    fn period(&self) -> Result<Period, Failure> {
        let period = Period {
            first: self.from.unwrap_or(Period::ALL.first),
            last: self.to.unwrap_or(Period::ALL.last),
        };
        match period.first <= period.last {
            true => Ok(period),
            false => Err(Failure::usage(format!(
                "--from {} is after --to {}",
                period.first, period.last
            ))),
        }
    }

    /// Origin of the files, without the journal, which is read later.
    fn origin(&self, config: &Config) -> Result<Origin, Failure> {
        if self.out.is_none() {
            return Ok(Origin::default());
        }
        let path = self.source.file()?;
        Origin::of(&path, &config.account, &config.report_currency)
            .map_err(|error| Failure::run(format!("{}: cannot be read ({error})", path.display())))
    }
}

/// A trade date in eight digits.
fn trade_date(text: &str) -> Result<u32, String> {
    let is_date = text.len() == 8 && Date::strptime("%Y%m%d", text).is_ok();
    match text.parse() {
        Ok(date) if is_date => Ok(date),
        _ => Err("it is not a date as YYYYMMDD".to_owned()),
    }
}

/// Output of the command at its end.
fn printed(ledger: &Ledger, arguments: &Arguments) -> String {
    let mut text = positions(ledger);
    if arguments.scorecard {
        text.push_str(&scorecard(ledger));
    }
    text
}

fn follow(
    shown: &mut Shown,
    mut office: Option<&mut Office>,
    interrupt: &Interrupt,
    log: &mut LogThread,
) -> Result<(), Failure> {
    let (mut look, mut write) = (Instant::now(), Instant::now() + EVERY);
    while !interrupt.is_asked() {
        let now = Instant::now();
        if now >= look {
            shown.read(office.as_deref_mut())?;
            look = now
                + if shown.follower.has_engine() {
                    LOOK
                } else {
                    EVERY
                };
        }
        if now >= write {
            shown.write()?;
            // Files of a long journal are written less often: at most a twentieth of the time.
            write = now + EVERY.max(now.elapsed() * 20);
        }
        let mut is_busy = false;
        if let Some(office) = &mut office {
            is_busy = office.work()?;
            // Without room the office keeps them.
            while log.is_ready()
                && let Some(what) = office.next_news()
            {
                log.write(&events::FX_BACK_OFFICE, [("what", what.into())]);
            }
        }
        if !is_busy {
            std::thread::sleep(NAP);
        }
    }
    // Entries that the engine wrote since, if it ended a moment ago.
    shown.read(office.as_deref_mut())?;
    shown.write()?;
    office.map_or(Ok(()), Office::close)
}

#[cfg(test)]
mod tests;
