//! `touchline fx report`: drop copy for back offices, positions, fills and scorecard of a trading engine.

mod files;
mod office;
mod page;

use super::follow::{Source, open};
use crate::interrupt::Interrupt;
use crate::log::{Log, LogArguments, events};
use crate::output::{Failure, say};
use clap::Args;
use files::{Files, positions, scorecard};
use office::Office;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_desk::{Follower, PublishedEntry};
use touchline_fx_live::execution::back_office::Reports;

/// Report on a trading engine: drop copy for back offices, positions, fills and scorecard.
///
/// The report is a process of its own: the engine does not notice whether it runs, is slow, is frozen or dies.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx report --scorecard
  touchline fx report --config fx/run.toml --out report --follow

With --follow and a section [report] in the configuration it is a FIX 4.4 acceptor that sends each
fill, cancel, reject, bust and correction to every client of the section; see docs/fx/trade.md.

Files of --out:
  positions.jsonl  position of each pair: base units, cash in term currency, time
  positions.csv    the same, with worst cases and profit
  fills.csv        every fill, bust and correction; with --follow rows are appended
  scorecard.jsonl  scorecard of each bank and pair, of the last minute or the end of the last run
  report.html      scorecard with plots, one page without a reference to anything outside it

Exit status: 0 done or stopped, 1 the journal cannot be read, a file cannot be written or the port
is in use, 2 bad arguments or configuration")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Write the files into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
    let mut follower = open(&config);
    let ledger = match section {
        Some(_) => Ledger::of_all_orders(),
        None => Ledger::default(),
    };
    let mut files = Files::new(arguments.out.as_deref(), ledger);
    // Everything that is in the journal, before any number of a client is used.
    let mut reports = Reports::default();
    poll(&mut follower, |told| {
        files.take(told);
        if section.is_some() {
            reports.take(files.ledger(), told);
        }
    })?;
    if let Some(journal) = follower.journal() {
        reports.of_journal(journal);
    }
    files.write()?;
    if !arguments.follow {
        return say(&printed(files.ledger(), arguments));
    }
    let mut log = Log::to_stderr(arguments.log, vec![("bus", config.run.bus.as_str().into())]);
    let outcome = match section {
        Some(section) => Office::open(section, reports).map(Some),
        None => Ok(None),
    };
    let outcome = outcome.and_then(|mut office| {
        if let Some(office) = &office {
            let what = format!("drop copy: listening on {}", office.address());
            log.write(&events::FX_BACK_OFFICE, [("what", what.into())]);
        }
        follow(
            &mut follower,
            &mut files,
            office.as_mut(),
            &interrupt,
            &mut log,
        )
    });
    log.finish();
    outcome.map_err(|failure| failure.logged(&mut log))?;
    say(&printed(files.ledger(), arguments))
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
    follower: &mut Follower,
    files: &mut Files,
    mut office: Option<&mut Office>,
    interrupt: &Interrupt,
    log: &mut Log,
) -> Result<(), Failure> {
    let (mut look, mut write) = (Instant::now(), Instant::now() + EVERY);
    while !interrupt.is_asked() {
        let now = Instant::now();
        if now >= look {
            read(follower, files, office.as_deref_mut())?;
            look = now + if follower.has_engine() { LOOK } else { EVERY };
        }
        if now >= write {
            files.write()?;
            write = now + EVERY;
        }
        let mut is_busy = false;
        if let Some(office) = &mut office {
            is_busy = office.work()?;
            while let Some(what) = office.next_news() {
                log.write(&events::FX_BACK_OFFICE, [("what", what.into())]);
            }
        }
        if !is_busy {
            log.flush();
            std::thread::sleep(NAP);
        }
    }
    // Entries that the engine wrote since, if it ended a moment ago.
    read(follower, files, office.as_deref_mut())?;
    files.write()?;
    office.map_or(Ok(()), Office::close)
}

fn read(
    follower: &mut Follower,
    files: &mut Files,
    mut office: Option<&mut Office>,
) -> Result<(), Failure> {
    poll(follower, |told| {
        files.take(told);
        if let Some(office) = &mut office {
            office.take(files.ledger(), told);
        }
    })?;
    office.map_or(Ok(()), |office| office.of_journal(follower.journal()))
}

fn poll(follower: &mut Follower, mut each: impl FnMut(&PublishedEntry<'_>)) -> Result<(), Failure> {
    let polled = follower.poll(&mut each);
    polled.map(drop).map_err(Failure::run)
}
