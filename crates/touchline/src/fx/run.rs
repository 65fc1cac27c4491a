//! `touchline fx run`: the trading engine.

use super::follow::configuration;
use crate::interrupt::Interrupt;
use crate::log::{Log, LogArguments, LogThread, events};
use crate::output::{Failure, say};
use clap::Args;
use std::io::Stderr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_execution::{Config, Error, Promotion, Standby, Step, Trader};
use touchline_transport::{BackOff, Idle, Idler};

/// Trade: banks' quotes in, orders out over FIX, each in the journal before it is sent.
///
/// The engine reads the buses of the banks' gateways, takes parent orders of the desk (`touchline fx send`), and sends orders to the
/// best banks. After a crash it continues from its journal: it requests the status of orders without an outcome, and sends nothing
/// twice.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Directory of the buses; overrides the configuration. Default: /dev/shm/touchline-UID
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
    /// Follow the journal of the active engine, and trade after `touchline fx promote`
    #[arg(long)]
    standby: bool,
    /// Stop after N seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Stop when standard input is closed, for a process that starts this as a child
    #[arg(long)]
    until_eof: bool,
    #[command(flatten)]
    log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim bank --config banks.toml --write fx &
  touchline gateway --config fx/lp01.toml &
  touchline fx run --config fx/run.toml &
  touchline fx send EUR/USD buy 1000000 --limit 1.1005 --wait
  touchline fx run --config fx/run.toml --standby &
  touchline fx promote

The settings, the journal and the alarms are in docs/fx.md. Each bank needs the setting
status_final.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof
  1  the run failed: another engine runs, the journal is damaged, the bus was changed
  2  bad arguments or configuration";

/// Pause of a standby that finds nothing new.
const STANDBY_NAP: Duration = Duration::from_millis(1);
/// How long the lines of the log may take to be written at the end.
const LOG_END: Duration = Duration::from_secs(2);
/// How long sessions may take to log out.
const LOGOUT: Duration = Duration::from_secs(2);

/// Trades until it is stopped.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = configuration(&arguments.config, arguments.dir.as_ref())?;
    let interrupt = Interrupt::catch()?;
    if arguments.until_eof {
        interrupt.at_end_of_input();
    }
    let mut log = Log::to_stderr(arguments.log, vec![("bus", config.run.bus.as_str().into())]);
    let (mut trader, promotion) = match arguments.standby {
        false => (Trader::open(&config).map_err(failed)?, None),
        true => match stand_by(arguments, &config, &mut log, &interrupt) {
            Ok(Some((trader, promotion))) => (trader, Some(promotion)),
            Ok(None) => {
                log.write(&events::STOPPED, []);
                log.finish();
                return Ok(());
            }
            Err(failure) => return Err(failure.logged(&mut log)),
        },
    };
    log.write(&events::FX_STARTED, [("what", started(&trader).into())]);
    let start = LogThread::start(log);
    let mut log = start.map_err(|error| Failure::run(format!("cannot start a thread: {error}")))?;
    let idle = match config.run.spin {
        true => Idle::BusySpin,
        false => Idle::BackOff(BackOff {
            sleep_max: Duration::from_micros(200),
            ..BackOff::default()
        }),
    };
    let outcome = rounds(
        arguments,
        &mut trader,
        promotion,
        &mut log,
        &interrupt,
        idle,
    );
    let outcome = outcome.and_then(|()| {
        let summary = summary(&trader);
        trader.finish().map_err(failed)?;
        log.write(&events::STOPPED, []);
        Ok(summary)
    });
    let log = log.finish(LOG_END);
    match (outcome, log) {
        (Ok(summary), _) => say(&summary),
        (Err(failure), Some(mut log)) => Err(failure.logged(&mut log)),
        (Err(failure), None) => Err(failure),
    }
}

/// Follows the active engine until it is promoted; `None`: it was stopped.
fn stand_by(
    arguments: &Arguments,
    config: &Config,
    log: &mut Log,
    interrupt: &Interrupt,
) -> Result<Option<(Trader, Promotion)>, Failure> {
    let mut standby = Standby::open(config).map_err(failed)?;
    let (start, end) = (Instant::now(), arguments.seconds.map(Duration::from_secs));
    let mut is_told = false;
    loop {
        match standby.work().map_err(failed)? {
            Step::Promoted(trader, promotion) => return Ok(Some((*trader, *promotion))),
            Step::Standby(0) => {
                if !std::mem::replace(&mut is_told, true) {
                    log.write(&events::FX_STANDBY, [("what", standby.state().into())]);
                }
                std::thread::sleep(STANDBY_NAP);
            }
            Step::Standby(_) => {}
        }
        if interrupt.is_asked() || end.is_some_and(|end| start.elapsed() >= end) {
            return Ok(None);
        }
    }
}

fn rounds(
    arguments: &Arguments,
    trader: &mut Trader,
    mut promotion: Option<Promotion>,
    log: &mut LogThread<Stderr>,
    interrupt: &Interrupt,
    idle: Idle,
) -> Result<(), Failure> {
    let mut idler = Idler::new(idle);
    let (start, end) = (Instant::now(), arguments.seconds.map(Duration::from_secs));
    let mut count = 0_u32;
    loop {
        idler.idle(round(trader, log)?);
        if let Some(text) = promotion.as_mut().and_then(|waiting| waiting.poll(trader)) {
            log.write(&events::FX_STANDBY, [("what", text.into())]);
            // Its bus is free for the next standby.
            promotion = None;
        }
        // A clock and a flag, not in each round.
        count = count.wrapping_add(1);
        let is_over = interrupt.is_asked()
            || count.is_multiple_of(64) && end.is_some_and(|end| start.elapsed() >= end);
        if is_over {
            break;
        }
    }
    trader.log_out();
    let until = Instant::now() + LOGOUT;
    while !trader.is_disconnected() && Instant::now() < until {
        idler.idle(round(trader, log)?);
    }
    Ok(())
}

fn round(trader: &mut Trader, log: &mut LogThread<Stderr>) -> Result<usize, Failure> {
    let count = trader.work().map_err(failed)?;
    // Without room the engine keeps them, and counts those that it cannot keep.
    while log.is_ready()
        && let Some(incident) = trader.next_incident()
    {
        let event = match incident.is_urgent() {
            true => &events::FX_ALARM,
            false => &events::FX_SESSION,
        };
        log.write(event, [("what", incident.to_string().into())]);
    }
    Ok(count)
}

fn started(trader: &Trader) -> String {
    let (start, (records, orders)) = (trader.start(), trader.recovered());
    let unknown = trader.engine().orders().unknown();
    let mut text = format!(
        "epoch {}, {records} records of the journal restored, {orders} orders, {unknown} of them unknown",
        start.epoch
    );
    if trader.engine().is_killed() {
        text.push_str(", the kill switch is set");
    }
    if start.bytes_set_aside > 0 {
        text.push_str(&format!(
            ", {} bytes behind a crash set aside",
            start.bytes_set_aside
        ));
    }
    text
}

/// What the run did, and its positions: cash in ticks times units, as the banks' ledgers have it.
fn summary(trader: &Trader) -> String {
    let (totals, engine) = (trader.totals(), trader.engine());
    let mut text = format!(
        "{} orders sent, {} reports, {} fills, {} commands of which {} refused, {} alarms, {} orders unknown\n",
        totals.orders,
        totals.reports,
        totals.fills,
        totals.commands,
        totals.refused,
        totals.alarms,
        engine.orders().unknown(),
    );
    for (pair, about) in engine.setup().pairs.iter().enumerate() {
        let position = engine.positions().of(pair);
        let line = serde_json::json!({
            "pair": about.config.symbol, "position": position.units, "cash": position.cash.to_string(),
        });
        text.push_str(&format!("{line}\n"));
    }
    text
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Config(error) => Failure::usage(error),
        other => Failure::run(other),
    }
}
