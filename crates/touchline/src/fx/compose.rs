//! `touchline fx compose`: banks' buses in, one composite bus out.

use super::config_text::read_config;
use crate::interrupt::{Ending, Interrupt};
use crate::log::events::{self, Event};
use crate::log::{Field, Log, LogArguments, LogThread, Value};
use crate::output::{Failure, ended, log_thread, say};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_fx_live::compose::{Composer, Config, Error, Incident};
use touchline_transport::shm::Publisher;
use touchline_transport::{BackOff, Idle, Idler};

/// Compose the quotes of banks' buses into one price of each pair, on a bus of its own.
///
/// Each bank has a gateway of kind fx-bank, which publishes its quotes on a bus. The composite's bus has a book of each pair, the
/// banks at the best bid and ask, and what each configured size costs. A pair without a live bank is stale.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Directory of the buses; overrides the configuration. Default: /dev/shm/touchline-UID
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
    /// Write the inputs as a session file into this directory, with the composites as they are published
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    #[command(flatten)]
    ending: Ending,
    #[command(flatten)]
    log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim bank --config banks.toml --write fx &
  touchline gateway --config fx/lp01.toml &  touchline gateway --config fx/lp02.toml &
  touchline fx compose --config fx/compose.toml
  touchline fx compose --config fx/compose.toml --record session
  touchline fx replay session --out replayed

Watch it with `touchline top BUS`, `book BUS SYMBOL --watch`, `tail BUS` and `stat BUS`. The
settings are in docs/fx/compose.md; `touchline help events` lists the lines of its log. A recording has
config.toml, session.txt and composite.live.jsonl; a replay of it writes the same composites.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof
  1  the run failed: the bus is in use or was damaged, the recording cannot be written
  2  bad arguments or configuration";

/// Composes until it is stopped.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = &arguments.config;
    let mut config = read_config(path, Config::parse)?;
    config.starts_at(path.parent().unwrap_or(Path::new("")));
    if let Some(dir) = &arguments.dir {
        config.directory = Some(dir.clone());
    }
    let interrupt = arguments.ending.catch()?;
    let context = vec![("bus", config.bus.as_str().into())];
    let mut log = log_thread(Log::to_stderr(arguments.log, context))?;
    let outcome = compose(arguments, &config, &interrupt, &mut log);
    ended(outcome, log)
}

/// Composes, and returns the summary.
fn compose(
    arguments: &Arguments,
    config: &Config,
    interrupt: &Interrupt,
    log: &mut LogThread,
) -> Result<String, Failure> {
    let opened = Composer::open(config, arguments.record.as_deref());
    let mut composer = opened.map_err(failed)?;
    let (pairs, banks) = (config.pairs.len() as u64, config.banks.len() as u64);
    let about = [("pairs", pairs.into()), ("banks", banks.into())];
    log.write(&events::FX_COMPOSING, about);
    say(&format!(
        "composing {pairs} pairs of {banks} banks on bus {}\n",
        config.bus
    ))?;
    let idler = Idler::new(match config.spin {
        true => Idle::BusySpin,
        false => Idle::BackOff(BackOff {
            sleep_max: Duration::from_micros(200),
            ..BackOff::default()
        }),
    });
    let outcome = rounds(arguments, &mut composer, log, interrupt, idler);
    let outcome = outcome.and_then(|()| composer.finish().map_err(failed));
    // Findings of the last rounds.
    note(&mut composer, log);
    outcome?;
    log.write(&events::STOPPED, []);
    Ok(summary(&composer))
}

fn rounds(
    arguments: &Arguments,
    composer: &mut Composer<Publisher>,
    log: &mut LogThread,
    interrupt: &Interrupt,
    mut idler: Idler,
) -> Result<(), Failure> {
    let (start, end) = (Instant::now(), arguments.ending.after());
    let mut rounds = 0_u32;
    loop {
        idler.idle(composer.work().map_err(failed)?.messages);
        // A clock and a flag, not in each round.
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(64) {
            note(composer, log);
            if end.is_some_and(|end| start.elapsed() >= end) {
                return Ok(());
            }
        }
        if interrupt.is_asked() {
            return Ok(());
        }
    }
}

/// Logs what the composer noticed. Without room in the log the composer keeps it.
fn note(composer: &mut Composer<Publisher>, log: &mut LogThread) {
    while log.is_ready()
        && let Some(incident) = composer.next_incident()
    {
        let (event, fields) = line(incident);
        log.write(event, fields);
    }
}

/// Event and fields of the line of an incident.
fn line(incident: Incident) -> (&'static Event, Vec<Field>) {
    match incident {
        Incident::ClockStep(step_ns) => {
            let step_ms = (step_ns / 1_000_000).to_string();
            (&events::CLOCK_STEP, vec![("step_ms", Value::from(step_ms))])
        }
        Incident::KindRefused(refused) => {
            let text = refused.to_string();
            let fields = vec![("bank", refused.bank.into()), ("text", text.into())];
            (&events::FX_QUOTES_REFUSED, fields)
        }
    }
}

fn summary(composer: &Composer<Publisher>) -> String {
    let counters = composer.counters();
    format!(
        "{} updates of banks, {} composites published, {} times a bank was lost\n",
        counters.bank_updates, counters.composites_published, counters.banks_lost,
    )
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Config(error) => Failure::usage(error),
        other => Failure::run(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_fx_live::compose::KindRefused;

    /// A program selects a line by its event and fields.
    #[test]
    fn each_incident_is_an_event_of_the_log() {
        let mut log = Log::in_memory();
        let refused = KindRefused {
            bank: "LP01".to_owned(),
            is_full: true,
        };
        for incident in [
            Incident::ClockStep(3_600_000_000_000),
            Incident::ClockStep(-250_000_000),
            Incident::KindRefused(refused),
        ] {
            let (event, fields) = line(incident);
            log.write(event, fields);
        }
        let lines = log.lines();
        let heads = lines.iter().map(|line| line.split(" text=").next());
        assert_eq!(
            heads.flatten().collect::<Vec<_>>(),
            [
                "WARN clock_step step_ms=3600000",
                "WARN clock_step step_ms=-250",
                "WARN fx_quotes_refused bank=LP01",
            ]
        );
        assert!(lines[2].contains("its quotes are refused"), "{}", lines[2]);
    }
}
