//! A trading engine or its standby, from the counters of its process.

use super::sample::Sample;
use super::{Count, Model};
use crate::counted::Freshness;
use std::time::Duration;
use touchline_client::monitor::{Build, CountersView, Monitor, ProcessView};

/// A trading engine, or a standby.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    /// State.
    pub state: EngineState,
    /// Its process; 0 if it has ended.
    pub pid: u32,
    /// Build of the process, if it states that.
    pub build: Option<Build>,
    /// Age of the counters; `None` without counters.
    pub age: Option<Duration>,
    /// Banks, those without an order session first.
    pub banks: Vec<EngineBank>,
    /// Parents that are not done.
    pub parents_open: u64,
    /// Orders without a final state, unknown ones included.
    pub orders_open: u64,
    /// Orders whose outcome is unknown.
    pub orders_unknown: u64,
    /// Alarms.
    pub alarms: Count,
    /// Position behind the last record of the journal, bytes.
    pub journal_bytes: u64,
    /// Bytes of the journal that are not on the disk.
    pub journal_lag_bytes: u64,
    /// Rejects by code, with the meaning; earlier runs of the journal included.
    pub rejects: Vec<(&'static str, &'static str, u64)>,
    /// Fields of a standby; `None` for an engine.
    pub standby: Option<Standby>,
}

/// State of an engine, by what stops it from sending orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineState {
    /// No process, and it ended in order.
    #[default]
    Ended,
    /// No process, and its counters were left: it was killed, or its host.
    Died,
    /// A process that does not write its counters.
    Stalled,
    /// The journal cannot be written.
    JournalFailed,
    /// The kill switch is set.
    Killed,
    /// The engine asks the banks for the orders that they have.
    Asking,
    /// The engine still reads quotes of its start, or it logs out.
    Held,
    /// No order session is logged on.
    NoSession,
    /// Orders are sent.
    Trading,
    /// A standby, which sends nothing.
    Standby,
}

/// A bank of an engine; counts include earlier runs of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineBank {
    /// Name.
    pub name: String,
    /// Whether its order session is logged on; `None` if that is not known any more.
    pub is_up: Option<bool>,
    /// Orders sent.
    pub orders: u64,
    /// Fills.
    pub fills: u64,
    /// Orders that ended without a fill.
    pub rejects: u64,
    /// Times that the outcome of an order became unknown.
    pub unknown: u64,
}

/// Position of a standby, and the engine that it follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standby {
    /// Bus of the engine.
    pub engine: String,
    /// State of the engine.
    pub engine_state: EngineState,
    /// Epoch of the journal.
    pub epoch: u64,
    /// Records applied.
    pub records: u64,
    /// Orders of the journal.
    pub orders: u64,
    /// Position behind the last applied record, bytes.
    pub position: u64,
    /// Bytes between that and the engine's position; `None` without counters of the engine.
    pub lag_bytes: Option<u64>,
    /// The source of a copied journal; `None`: the journal is not a copy.
    pub source: Option<CopySource>,
}

/// Source of a copied journal, as its standby knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopySource {
    /// Bytes that it had as of its last status, and that were not applied.
    pub missing_bytes: u64,
    /// Time since that status, nanoseconds; 0: it was never heard.
    pub age_ns: u64,
}

/// Rates of an engine, and the counters whose sum they are.
pub const RATES: [(&str, &[&str]); 6] = [
    ("orders sent", &["fx_orders_sent"]),
    ("cancels sent", &["fx_cancels_sent"]),
    ("reports of banks", &["fx_reports"]),
    ("fills", &["fx_fills"]),
    ("commands", &["fx_commands"]),
    ("quotes of banks", &["bank_updates"]),
];

/// Counters of what an operator must know of, their labels, and whether an increase is a fault.
pub const EVENTS: [(&str, &str, bool); 8] = [
    ("fx_kills", "kill switch set", true),
    ("fx_alarms", "alarms", true),
    ("fx_outcomes_unknown", "unknown, all runs", true),
    ("fx_sessions_lost", "sessions lost", true),
    ("fx_rounds_late", "rounds late", true),
    ("fx_orders_unsent", "orders not sent", true),
    ("fx_commands_refused", "commands refused", true),
    ("fx_incidents_dropped", "log lines dropped", true),
];

/// Counters of rejects, their codes and what they mean.
const REJECTS: [(&str, &str, &str); 8] = [
    ("fx_rejects_last_look_price", "A-1", "last look, price"),
    ("fx_rejects_last_look_latency", "A-2", "last look, too slow"),
    ("fx_rejects_gone", "B", "price or liquidity gone"),
    ("fx_rejects_credit", "C", "credit"),
    ("fx_rejects_static_data", "D", "static data, account"),
    ("fx_rejects_other", "E", "other"),
    ("fx_rejects_unsupported", "F", "product not supported"),
    ("fx_rejects_never_arrived", "N", "not known to the bank"),
];

/// Prefix of the counter of one alarm.
const ALARM: &str = "fx_alarm:";

/// End of the name of a standby's bus.
const STANDBY: &str = "-standby";

impl Model {
    /// Takes a sample of an engine and computes the picture.
    pub(super) fn look_at_engine(&mut self) -> Result<(), String> {
        let processes = self.monitor.processes();
        let processes = processes.map_err(|error| error.to_string())?;
        let process = processes.into_iter().find(|other| other.name == self.bus);
        let (is_alive, pid) = running(process.as_ref());
        let holder = process
            .as_ref()
            .and_then(|process| process.process.as_ref());
        let build = holder.and_then(|holder| holder.build.as_deref().cloned());
        let found = process.map_or(Ok(None), |process| process.counters_file);
        self.follow_counters(found.map_err(|error| error.to_string())?);
        let sample = self.counters_file.as_ref().map(Sample::take);
        let seconds = sample
            .as_ref()
            .map_or(0.0, |sample| self.since_last(sample));
        let age = self.counters_file.as_ref().and_then(CountersView::age);
        let mut engine = match &sample {
            Some(sample) => Engine::of(sample, Freshness::of(age, is_alive), self.is_standby()),
            None => Engine::default(),
        };
        (engine.pid, engine.build, engine.age) = (pid, build, age);
        if let Some(sample) = &sample {
            engine.alarms = self.count(sample, ("fx_alarms", "alarms", true));
            engine.standby = self.standby(sample);
        }
        self.picture = super::Picture {
            bus: self.bus.clone(),
            uptime_ns: sample
                .as_ref()
                .map_or(0, |sample| since(sample.start_unix_ns)),
            is_since_reset: self.base.is_some(),
            rates: self.rates(sample.as_ref(), seconds, &RATES),
            lines: self.events(sample.as_ref()),
            latencies: self.latencies(sample.as_ref()),
            engine: Some(engine),
            ..super::Picture::default()
        };
        self.last = sample;
        Ok(())
    }

    /// Counts of events, behind that of all alarms each alarm that occurred; one that is rare is left out while it is 0.
    fn events(&self, sample: Option<&Sample>) -> Vec<Count> {
        let mut lines = self.lines(sample, &EVENTS);
        lines.retain(|line| line.total > 0 || line.name != EVENTS[EVENTS.len() - 1].1);
        let all = lines.iter().position(|line| line.name == EVENTS[1].1);
        if let (Some(sample), Some(all)) = (sample, all) {
            let alarms = sample.names().filter_map(|counter| {
                let name = counter.strip_prefix(ALARM)?;
                Some(self.count(sample, (counter, name, true)))
            });
            let occurred: Vec<Count> = alarms.filter(|alarm| alarm.total > 0).collect();
            lines.splice(all + 1..all + 1, occurred);
        }
        lines
    }

    fn is_standby(&self) -> bool {
        self.bus.ends_with(STANDBY)
    }

    /// Position of the standby, if this is one; the engine counts in a file of its own.
    fn standby(&self, sample: &Sample) -> Option<Standby> {
        let engine = self.bus.strip_suffix(STANDBY)?;
        let (state, written) = engine_of(&self.monitor, engine);
        let position = sample.counter("fx_standby_position");
        Some(Standby {
            engine: engine.to_owned(),
            engine_state: state,
            epoch: sample.counter("fx_standby_epoch"),
            records: sample.counter("fx_standby_records"),
            orders: sample.counter("fx_standby_orders"),
            position,
            // The two files were written at different moments.
            lag_bytes: written.map(|written| written.saturating_sub(position)),
            source: (sample.counter("fx_standby_copied") > 0).then(|| CopySource {
                missing_bytes: sample.counter("fx_standby_missing"),
                age_ns: sample.counter("fx_standby_source_age_ns"),
            }),
        })
    }
}

/// State of the engine of this bus, and the position of its journal.
fn engine_of(monitor: &Monitor, bus: &str) -> (EngineState, Option<u64>) {
    let processes = monitor.processes().unwrap_or_default();
    let process = processes.into_iter().find(|process| process.name == bus);
    let (is_alive, _) = running(process.as_ref());
    match process.map(|process| process.counters_file) {
        Some(Ok(Some(counters_file))) => {
            let sample = Sample::take(&counters_file);
            let freshness = Freshness::of(counters_file.age(), is_alive);
            let engine = Engine::of(&sample, freshness, false);
            (engine.state, Some(engine.journal_bytes))
        }
        _ => (EngineState::Ended, None),
    }
}

/// Whether a process lives, and its id.
fn running(process: Option<&ProcessView>) -> (bool, u32) {
    let holder = process.and_then(|process| process.process.as_ref());
    (holder.is_some(), holder.map_or(0, |holder| holder.pid))
}

/// Time since then, nanoseconds.
fn since(unix_ns: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| (now.as_nanos() as u64).saturating_sub(unix_ns))
}

impl Engine {
    /// An engine with these counters, or a standby.
    pub(super) fn of(sample: &Sample, freshness: Freshness, is_standby: bool) -> Engine {
        let orders_unknown = match is_standby {
            true => sample.counter("fx_standby_orders_unknown"),
            false => sample.counter("fx_orders_unknown"),
        };
        Engine {
            state: state(sample, freshness, is_standby),
            banks: banks(sample, freshness.is_fresh()),
            parents_open: sample.counter("fx_parents_open"),
            orders_open: sample.counter("fx_orders_open"),
            orders_unknown,
            journal_bytes: sample.counter("fx_journal_position"),
            journal_lag_bytes: sample.counter("fx_journal_behind"),
            rejects: REJECTS
                .map(|(counter, code, meaning)| (code, meaning, sample.counter(counter)))
                .to_vec(),
            ..Engine::default()
        }
    }

    /// Order sessions that are logged on, and all.
    pub fn sessions(&self) -> (usize, usize) {
        let up = self.banks.iter().filter(|bank| bank.is_up == Some(true));
        (up.count(), self.banks.len())
    }
}

impl EngineState {
    /// Label.
    pub const fn name(self) -> &'static str {
        match self {
            EngineState::Ended => "ended",
            EngineState::Died => "died",
            EngineState::Stalled => "stalled",
            EngineState::JournalFailed => "journal failed",
            EngineState::Killed => "kill switch set",
            EngineState::Asking => "asks banks",
            EngineState::Held => "held",
            EngineState::NoSession => "no session",
            EngineState::Trading => "trading",
            EngineState::Standby => "standby",
        }
    }

    /// Whether its values are current.
    pub const fn is_current(self) -> bool {
        !matches!(
            self,
            EngineState::Ended | EngineState::Died | EngineState::Stalled
        )
    }
}

/// The first reason for which no order is sent.
fn state(sample: &Sample, freshness: Freshness, is_standby: bool) -> EngineState {
    let is_set = |counter| sample.counter(counter) > 0;
    match freshness {
        Freshness::Gone(_) => EngineState::Died,
        Freshness::Late(_) => EngineState::Stalled,
        _ if is_standby => EngineState::Standby,
        _ if is_set("fx_journal_failed") => EngineState::JournalFailed,
        _ if is_set("fx_killed") => EngineState::Killed,
        _ if is_set("fx_asking") => EngineState::Asking,
        _ if is_set("fx_held") => EngineState::Held,
        _ if !is_set("fx_sessions") => EngineState::NoSession,
        _ => EngineState::Trading,
    }
}

fn banks(sample: &Sample, is_current: bool) -> Vec<EngineBank> {
    let names = sample
        .names()
        .filter_map(|name| name.strip_prefix("fx_bank_session:"));
    let bank = |name: &str| {
        let of = |what: &str| sample.counter(&format!("fx_bank_{what}:{name}"));
        EngineBank {
            name: name.to_owned(),
            is_up: is_current.then(|| of("session") > 0),
            orders: of("orders"),
            fills: of("fills"),
            rejects: of("rejects"),
            unknown: of("outcomes_unknown"),
        }
    };
    let mut banks: Vec<EngineBank> = names.map(bank).collect();
    // By name, and those first that somebody must look at.
    banks.sort_by_key(|bank| bank.is_up == Some(true));
    banks
}
