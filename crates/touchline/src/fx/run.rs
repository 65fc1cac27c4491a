//! `touchline fx run`: the trading engine.

use super::follow::{configuration, note};
use crate::interrupt::{Ending, Interrupt};
use crate::log::events::{self, Event};
use crate::log::{Field, Log, LogArguments, LogThread};
use crate::output::{Failure, ended, log_thread};
use clap::Args;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_fx_events::ticks;
use touchline_fx_live::execution::{
    Config, Copied, Error, Incident, Promotion, Standby, Step, Trader,
};
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
    #[command(flatten)]
    ending: Ending,
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

The settings, the journal and the alarms are in docs/fx. Each bank needs the setting
status_final.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof
  1  the run failed: another engine runs, the journal is damaged, the bus was changed
  2  bad arguments or configuration";

/// Pause of a standby that finds nothing new.
const STANDBY_NAP: Duration = Duration::from_millis(1);
/// How long sessions may take to log out.
const LOGOUT: Duration = Duration::from_secs(2);

/// Trades until it is stopped.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = configuration(&arguments.config, arguments.dir.as_ref())?;
    let interrupt = arguments.ending.catch()?;
    let context = vec![("bus", config.run.bus.as_str().into())];
    let mut log = log_thread(Log::to_stderr(arguments.log, context))?;
    let outcome = trade(arguments, &config, &interrupt, &mut log);
    ended(outcome, log)
}

/// Trades, and returns the summary; it is empty for a standby that was not promoted.
fn trade(
    arguments: &Arguments,
    config: &Config,
    interrupt: &Interrupt,
    log: &mut LogThread,
) -> Result<String, Failure> {
    let (mut trader, promotion) = match arguments.standby {
        false => (Trader::open(config).map_err(failed)?, None),
        true => match stand_by(arguments, config, log, interrupt)? {
            Some((trader, promotion)) => (trader, Some(promotion)),
            None => {
                log.write(&events::STOPPED, []);
                return Ok(String::new());
            }
        },
    };
    note(config, &arguments.config);
    log.write(&events::FX_STARTED, [("what", started(&trader).into())]);
    for what in config.old_words() {
        log.write(&events::FX_SETTING, [("what", what.into())]);
    }
    if let Some(copied) = Copied::of_start(trader.start()) {
        log_copied(&copied, log);
    }
    let idle = match config.run.spin {
        true => Idle::BusySpin,
        false => Idle::BackOff(BackOff {
            sleep_max: Duration::from_micros(200),
            ..BackOff::default()
        }),
    };
    let outcome = rounds(arguments, &mut trader, promotion, log, interrupt, idle);
    // Those of a round that failed.
    log_incidents(&mut trader, log);
    outcome?;
    let summary = summary(&trader);
    trader.finish().map_err(failed)?;
    log.write(&events::STOPPED, []);
    Ok(summary)
}

/// Follows the active engine until it is promoted; `None`: it was stopped.
fn stand_by(
    arguments: &Arguments,
    config: &Config,
    log: &mut LogThread,
    interrupt: &Interrupt,
) -> Result<Option<(Trader, Promotion)>, Failure> {
    let mut standby = Standby::open(config).map_err(failed)?;
    let (start, end) = (Instant::now(), arguments.ending.after());
    let mut is_told = false;
    loop {
        match standby.work().map_err(failed)? {
            Step::Promoted(trader, promotion) => {
                standby.finish();
                return Ok(Some((*trader, *promotion)));
            }
            Step::Standby(0) => {
                if !std::mem::replace(&mut is_told, true) {
                    log.write(&events::FX_STANDBY, [("what", standby.state().into())]);
                    if let Some(copied) = standby.copied() {
                        log.write(&events::FX_STANDBY, [("what", copied.to_string().into())]);
                    }
                }
                std::thread::sleep(STANDBY_NAP);
            }
            Step::Standby(_) => {}
        }
        if interrupt.is_asked() || end.is_some_and(|end| start.elapsed() >= end) {
            standby.finish();
            return Ok(None);
        }
    }
}

fn rounds(
    arguments: &Arguments,
    trader: &mut Trader,
    mut promotion: Option<Promotion>,
    log: &mut LogThread,
    interrupt: &Interrupt,
    idle: Idle,
) -> Result<(), Failure> {
    let mut idler = Idler::new(idle);
    let (start, end) = (Instant::now(), arguments.ending.after());
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

fn round(trader: &mut Trader, log: &mut LogThread) -> Result<usize, Failure> {
    let count = trader.work().map_err(failed)?;
    log_incidents(trader, log);
    Ok(count)
}

/// Without room in the log the engine keeps them, and counts those that it cannot keep.
fn log_incidents(trader: &mut Trader, log: &mut LogThread) {
    while log.is_ready()
        && let Some(incident) = trader.next_incident()
    {
        let (event, fields) = line(&incident);
        log.write(event, fields);
    }
}

/// Event and fields of an incident's line.
fn line(incident: &Incident) -> (&'static Event, Vec<Field>) {
    let mut fields = vec![("reason", incident.reason().into())];
    let texts = [
        ("bank", incident.bank()),
        ("order", incident.order()),
        ("by", incident.by()),
    ];
    for (name, text) in texts {
        fields.extend(text.map(|text| (name, text.into())));
    }
    fields.extend(incident.retry_ms().map(|ms| ("retry_ms", ms.into())));
    fields.push(("text", incident.to_string().into()));
    let event = match incident.is_urgent() {
        true => &events::FX_ALARM,
        false => &events::FX_SESSION,
    };
    (event, fields)
}

/// A copied journal that the engine continues.
fn log_copied(copied: &Copied, log: &mut LogThread) {
    let event = match copied.is_complete() {
        true => &events::FX_COPY,
        false => &events::FX_COPY_INCOMPLETE,
    };
    log.write(event, [("what", copied.to_string().into())]);
}

fn started(trader: &Trader) -> String {
    let (start, (records, orders)) = (trader.start(), trader.recovered());
    let unknown = trader.engine().trading().orders().unknown();
    let mut text = format!(
        "epoch {}, {records} records of the journal restored, {orders} orders, {unknown} of them unknown",
        start.epoch
    );
    if records == 0 {
        let prefix = trader.engine().setup().labels.prefix;
        text.push_str(&format!(
            ", a new journal: its orders are named {prefix}-; a bank that knows such names from another journal may take an order for \
             that one: then stop, and give another prefix"
        ));
    }
    if trader.engine().trading().is_killed() {
        text.push_str(", the kill switch is set");
    }
    let changes = ["added", "no longer configured"];
    for (banks, change) in trader.banks_changed().iter().zip(changes) {
        if !banks.is_empty() {
            let names = banks.join(", ");
            text.push_str(&format!(", banks {change} since the last run: {names}"));
        }
    }
    if start.bytes_set_aside > 0 {
        text.push_str(&format!(
            ", {} bytes behind a crash set aside",
            start.bytes_set_aside
        ));
    }
    text
}

/// Totals of the run, and its positions: base units, and cash in term currency.
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
        engine.trading().orders().unknown(),
    );
    for (pair, about) in engine.setup().pairs.iter().enumerate() {
        let position = engine.trading().positions().of(pair);
        let cash = ticks::text(position.cash, ticks::PRICE_DECIMALS);
        let line = serde_json::json!({
            "pair": about.config.symbol, "position": position.units, "cash": cash,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use touchline_fx_events::event::{Alarm, RunAlarm};
    use touchline_fx_live::compose::KindRefused;
    use touchline_types::Id;

    fn bank() -> String {
        "LP02".to_owned()
    }

    fn alarm(what: Alarm, order: Option<&str>) -> Incident {
        Incident::Alarm {
            what,
            bank: bank(),
            order: order.map(|id| Id::lossy(id.as_bytes())),
        }
    }

    /// One of each kind, and of each case that has other fields.
    fn incidents() -> Vec<Incident> {
        let text = || "why".to_owned();
        let (before, now) = (None, [7; 16]);
        let session = |is_restarted| Incident::SessionUp {
            bank: bank(),
            is_restarted,
        };
        let lost = |retry_ms| Incident::SessionDown {
            bank: bank(),
            why: text(),
            numbers: None,
            retry_ms,
        };
        let rejected = |is_ours| Incident::Rejected {
            bank: bank(),
            is_ours,
            text: text(),
        };
        let gap = |is_reconnect| Incident::Gap {
            bank: bank(),
            first: 4,
            last: 5,
            is_reconnect,
        };
        let count = 1;
        vec![
            session(false),
            lost(None),
            gap(true),
            session(true),
            lost(Some(50)),
            Incident::NotConnected {
                bank: bank(),
                why: "10.1.2.3:7001: connection refused; attempt 3".to_owned(),
                retry_ms: 400,
            },
            gap(false),
            Incident::Garbled {
                bank: bank(),
                count,
            },
            Incident::TooLong {
                bank: bank(),
                text: text(),
            },
            Incident::Skipped {
                bank: bank(),
                first: 4,
                last: 5,
            },
            Incident::Flood { bank: bank() },
            Incident::Foreign {
                bank: bank(),
                count,
            },
            Incident::Repeated {
                bank: bank(),
                message: text(),
                count,
            },
            rejected(false),
            rejected(true),
            alarm(Alarm::Manual, Some("Te4-P17-1")),
            alarm(Alarm::DontKnow('C'), Some("Te4-P17-2")),
            alarm(Alarm::NoMassStatus, None),
            Incident::Killed {
                by: Some(Id::lossy(b"chief")),
            },
            Incident::JournalFailed { why: text() },
            Incident::JournalAlarm { errno: 28 },
            Incident::Rebooted {
                before,
                now,
                is_tail_lost: true,
            },
            Incident::Refused {
                client: "desk".to_owned(),
                reason: "bad_order".to_owned(),
            },
            Incident::Missed {
                client: "desk".to_owned(),
                count,
            },
            Incident::RingRefused {
                client: "desk".to_owned(),
                why: text(),
            },
            Incident::Paused { ms: 9 },
            Incident::ClockStepped { ms: -20_000 },
            Incident::DatePassed {
                pair: "EUR/USD".to_owned(),
                spot_date: "20260107".to_owned(),
            },
            Incident::CalendarEnds {
                pair: "EUR/USD".to_owned(),
                trade_date: 20_301_231,
            },
            Incident::Quotes(KindRefused {
                bank: bank(),
                is_full: true,
            }),
        ]
    }

    /// A program selects a line by its fields, and a person reads its text.
    #[test]
    fn the_line_of_an_incident_has_fields_to_select_it_by() {
        let mut log = Log::in_memory();
        for incident in incidents() {
            let (event, fields) = line(&incident);
            log.write(event, fields);
        }
        let lines = log.lines();
        let heads = lines.iter().map(|line| line.split(" text=").next());
        assert_eq!(
            heads.flatten().collect::<Vec<_>>(),
            [
                "INFO fx_session reason=session_up bank=LP02",
                "INFO fx_session reason=logout bank=LP02",
                "INFO fx_session reason=sequence_gap bank=LP02",
                "WARN fx_alarm reason=session_reset bank=LP02",
                "WARN fx_alarm reason=session_lost bank=LP02 retry_ms=50",
                "WARN fx_alarm reason=not_connected bank=LP02 retry_ms=400",
                "WARN fx_alarm reason=sequence_gap bank=LP02",
                "WARN fx_alarm reason=garbled bank=LP02",
                "WARN fx_alarm reason=message_too_long bank=LP02",
                "WARN fx_alarm reason=reports_skipped bank=LP02",
                "WARN fx_alarm reason=report_flood bank=LP02",
                "WARN fx_alarm reason=foreign_reports bank=LP02",
                "WARN fx_alarm reason=report_repeated bank=LP02",
                "WARN fx_alarm reason=rejected bank=LP02",
                "WARN fx_alarm reason=malformed bank=LP02",
                "WARN fx_alarm reason=manual bank=LP02 order=Te4-P17-1",
                "WARN fx_alarm reason=dk_C bank=LP02 order=Te4-P17-2",
                "WARN fx_alarm reason=no_mass_status bank=LP02",
                "WARN fx_alarm reason=kill by=chief",
                "WARN fx_alarm reason=journal_failed",
                "WARN fx_alarm reason=journal_segment",
                "WARN fx_alarm reason=journal_end_lost",
                "WARN fx_alarm reason=refused by=desk",
                "INFO fx_session reason=commands_missed",
                "WARN fx_alarm reason=ring_refused by=desk",
                "WARN fx_alarm reason=paused",
                "WARN fx_alarm reason=clock_step",
                "WARN fx_alarm reason=value_date_passed",
                "WARN fx_alarm reason=calendar_ends",
                "WARN fx_alarm reason=quotes_refused bank=LP02",
            ]
        );
        // The examples of docs/fx/operate.md, and each reason of its table.
        let guide = include_str!("../../../../docs/fx/operate.md").replace("bus=fx-run ", "");
        for line in [lines[5], lines[15]] {
            assert!(guide.contains(line), "{line}");
        }
        // An incident for each alarm of a run; the table of docs/fx/operate.md has each alarm, and nothing else.
        let urgent = incidents().into_iter().filter(Incident::is_urgent);
        let logged: BTreeSet<String> = urgent.map(|incident| incident.reason()).collect();
        let of_run = RunAlarm::ALL.iter().map(|what| what.name().to_owned());
        let of_log = Incident::OF_LOG.map(str::to_owned);
        let beside: BTreeSet<String> = of_run.chain(of_log).collect();
        let of_core = Alarm::OF_CORE.map(|what| what.to_string());
        // Of those of the core, the incidents above have some, and one letter of a refused trade.
        let missing: Vec<&String> = beside.difference(&logged).collect();
        assert!(missing.is_empty(), "no incident: {missing:?}");
        let known: BTreeSet<String> = beside.into_iter().chain(of_core).collect();
        let (_, table) = guide.split_once("\n## Alarms\n").expect("the section");
        let (table, _) = table.split_once("\n## ").expect("its end");
        let cells = table.lines().filter_map(|line| line.strip_prefix("| `"));
        let cells = cells.filter_map(|row| row.split(" |").next());
        let documented: BTreeSet<String> = cells
            .flat_map(|cell| cell.split('`').step_by(2))
            .filter(|word| !["", "reason", "dk_E", "dk_Z"].contains(word))
            .map(str::to_owned)
            .collect();
        assert_eq!(documented, known);
    }
}
