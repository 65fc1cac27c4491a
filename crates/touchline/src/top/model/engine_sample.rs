//! A sample of a trading engine, or of its standby: what `top` reads of its process, and the picture of it.

use super::engine::{CopySource, Engine, EngineState, Standby, is_standby};
use super::sample::{Count, Sample};
use super::{Model, Picture};
use crate::counted::Freshness;
use touchline_client::monitor::{CountersView, Monitor, ProcessView};

/// Rates of an engine, and the counters whose sum they are.
const RATES: [(&str, &[&str]); 6] = [
    ("orders sent", &["fx_orders_sent"]),
    ("cancels sent", &["fx_cancels_sent"]),
    ("reports of banks", &["fx_reports"]),
    ("fills", &["fx_fills"]),
    ("commands", &["fx_commands"]),
    ("quotes of banks", &["bank_updates"]),
];

/// Counters of what an operator must know of, their labels, and whether an increase is a fault.
const EVENTS: [(&str, &str, bool); 8] = [
    ("fx_kills", "kill switch set", true),
    ("fx_alarms", "alarms", true),
    ("fx_outcomes_unknown", "unknown, all runs", true),
    ("fx_sessions_lost", "sessions lost", true),
    ("fx_rounds_late", "rounds late", true),
    ("fx_orders_unsent", "orders not sent", true),
    ("fx_commands_refused", "commands refused", true),
    ("fx_incidents_dropped", "log lines dropped", true),
];

/// Prefix of the counter of one alarm.
const ALARM: &str = "fx_alarm:";

/// End of the name of a standby's bus, behind that of its engine.
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
            Some(sample) => Engine::of(sample, Freshness::of(age, is_alive)),
            None => Engine::default(),
        };
        (engine.pid, engine.build, engine.age) = (pid, build, age);
        if let Some(sample) = &sample {
            engine.alarms = self.count(sample, ("fx_alarms", "alarms", true));
            engine.standby = self.standby(sample);
        }
        self.picture = Picture {
            bus: self.bus.clone(),
            uptime_ns: sample
                .as_ref()
                .map_or(0, |sample| since(sample.start_unix_ns)),
            is_since_reset: self.base.is_some(),
            rates: self.rates(sample.as_ref(), seconds, &RATES),
            lines: self.events(sample.as_ref()),
            latencies: self.latencies(sample.as_ref()),
            engine: Some(engine),
            ..Picture::default()
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

    /// Position of the standby, if this is one; the engine counts in a file of its own.
    fn standby(&self, sample: &Sample) -> Option<Standby> {
        let bus = self.bus.strip_suffix(STANDBY);
        let bus = bus.filter(|_| is_standby(sample))?;
        let engine = engine_of(&self.monitor, bus);
        // 0: it has no counters.
        let written = Some(engine.journal_bytes).filter(|bytes| *bytes > 0);
        let position = sample.counter("fx_standby_position");
        Some(Standby {
            engine: bus.to_owned(),
            engine_state: engine.state,
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

/// The engine of this bus, from its counters if there are any.
pub fn engine_of(monitor: &Monitor, bus: &str) -> Engine {
    let processes = monitor.processes().unwrap_or_default();
    let process = processes.into_iter().find(|process| process.name == bus);
    let (is_alive, _) = running(process.as_ref());
    let state = match process.map(|process| process.counters_file) {
        Some(Ok(Some(counters_file))) => {
            let sample = Sample::take(&counters_file);
            return Engine::of(&sample, Freshness::of(counters_file.age(), is_alive));
        }
        _ if is_alive => EngineState::Unreadable,
        Some(Err(_)) => EngineState::Died,
        _ => EngineState::Ended,
    };
    Engine {
        state,
        ..Engine::default()
    }
}

/// Whether a process lives, and its id.
pub(super) fn running(process: Option<&ProcessView>) -> (bool, u32) {
    let holder = process.and_then(|process| process.process.as_ref());
    (holder.is_some(), holder.map_or(0, |holder| holder.pid))
}

/// Time since then, nanoseconds.
pub(super) fn since(unix_ns: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| (now.as_nanos() as u64).saturating_sub(unix_ns))
}
