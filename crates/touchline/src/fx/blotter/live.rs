//! State of an engine, as `touchline top` has it: whether orders leave, and which order sessions are up.

use crate::format;
use crate::paint::Paint;
use crate::top::model::{Engine, EngineBank, EngineState, engine_of};
use std::collections::BTreeMap;
use touchline_client::monitor::Monitor;
use touchline_transport::bus::Root;

/// State of an engine; by default there is none.
#[derive(Debug, Clone, Default)]
pub struct Live {
    engine: Engine,
    is_running: bool,
}

impl Live {
    /// State of the engine that publishes on this bus.
    pub fn read(root: &Root, bus: &str) -> Live {
        Live::of(engine_of(&Monitor::new(Some(root.path())), bus))
    }

    pub(super) fn of(engine: Engine) -> Live {
        Live {
            engine,
            is_running: true,
        }
    }

    /// The first reason for which no order is sent.
    pub fn state(&self, killed_by: Option<&str>, paint: Paint) -> String {
        // The journal has a kill before the counters, and for a user who does not see them.
        let state = match killed_by {
            Some(_) if self.engine.state == EngineState::Ended => EngineState::Killed,
            Some(_) => self.engine.state.min(EngineState::Killed),
            None => self.engine.state,
        };
        match state {
            _ if !self.is_running => paint.yellow("no engine"),
            EngineState::Ended => paint.red("NO COUNTERS"),
            EngineState::Died => paint.red("DIED"),
            EngineState::Stalled => paint.red("STALLED"),
            EngineState::Unreadable => paint.red("COUNTERS UNREADABLE"),
            EngineState::JournalFailed => paint.red("JOURNAL FAILED"),
            EngineState::Killed => match killed_by {
                Some(by) => paint.red(format!("KILLED by {by}")),
                None => paint.red("KILLED"),
            },
            EngineState::Asking => paint.yellow("asks banks for orders"),
            EngineState::Held => paint.yellow("held: reads all quotes"),
            EngineState::NoSession => paint.red("NO ORDER SESSION"),
            EngineState::Closed => {
                let until_ns = self.engine.closed_until_ns().unwrap_or(u64::MAX);
                paint.yellow(format!("closed until {}", format::until(until_ns)))
            }
            EngineState::Trading => paint.green("trading"),
            EngineState::Standby => paint.yellow("standby"),
        }
    }

    /// Names of the banks that have an order session.
    pub fn banks(&self) -> impl Iterator<Item = &str> {
        self.engine.banks.iter().map(|bank| bank.name.as_str())
    }

    /// The order session of a bank; none if it has none.
    pub fn session(&self, bank: &str) -> Option<&EngineBank> {
        self.engine.banks.iter().find(|other| other.name == bank)
    }

    /// Lines of the order sessions that are closed by their hours, those that open first before the others.
    pub fn closed(&self) -> Vec<String> {
        let mut closed: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for bank in &self.engine.banks {
            if let Some(until_ns) = bank.closed_until_ns {
                closed.entry(until_ns).or_default().push(&bank.name);
            }
        }
        let line = |(until_ns, mut banks): (u64, Vec<&str>)| {
            banks.sort_unstable();
            let until = format::until(until_ns);
            format!("closed until {until}: {}", banks.join(" "))
        };
        closed.into_iter().map(line).collect()
    }

    /// The line of the order sessions that are down; none if all are up, closed or not known.
    pub fn down(&self) -> Option<String> {
        let banks = self.engine.banks.iter();
        let down = banks.filter(|bank| bank.is_up == Some(false) && bank.closed_until_ns.is_none());
        let mut down: Vec<&str> = down.map(|bank| bank.name.as_str()).collect();
        down.sort_unstable();
        (!down.is_empty()).then(|| {
            format!(
                "{} of {} order sessions down: {}",
                down.len(),
                self.engine.banks.len(),
                down.join(" ")
            )
        })
    }
}
