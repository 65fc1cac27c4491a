//! State of an engine from its counters: whether orders leave, and which order sessions are up.

use crate::counted::Freshness;
use crate::format;
use crate::paint::Paint;
use std::collections::BTreeMap;
use touchline_transport::bus::Root;
use touchline_transport::shm::ProcessView;

/// State of an engine; by default there is none.
#[derive(Debug, Clone, Default)]
pub struct Live {
    is_running: bool,
    /// Why nothing else is known: the counters are not there, cannot be read or are not written.
    unknown: Option<&'static str>,
    is_journal_failed: bool,
    is_asking: bool,
    is_held: bool,
    /// Whether the order session of each bank is logged on.
    pub sessions: BTreeMap<String, bool>,
    /// Start of the next session of each bank whose order session is closed by its hours, nanoseconds since 1970.
    closed: BTreeMap<String, u64>,
}

impl Live {
    /// State of the engine that publishes on this bus.
    pub fn read(root: &Root, bus: &str) -> Live {
        let processes = ProcessView::all(root).unwrap_or_default();
        let process = processes.into_iter().find(|process| process.name == bus);
        let freshness = process.as_ref().map(Freshness::of_process);
        let view = process.map_or(Ok(None), |process| process.counters_file);
        let unknown = match (&view, freshness) {
            (Err(_), _) => "COUNTERS UNREADABLE",
            (Ok(None), _) => "NO COUNTERS",
            (_, Some(Freshness::Late(_))) => "STALLED",
            (Ok(Some(view)), _) => {
                let counters = view.counters();
                return Live::of(counters.map(|(about, value)| (about.name.clone(), value)));
            }
        };
        Live {
            is_running: true,
            unknown: Some(unknown),
            ..Live::default()
        }
    }

    pub(super) fn of(counters: impl Iterator<Item = (String, u64)>) -> Live {
        let mut live = Live {
            is_running: true,
            ..Live::default()
        };
        for (name, value) in counters {
            match name.as_str() {
                "fx_journal_failed" => live.is_journal_failed = value > 0,
                "fx_asking" => live.is_asking = value > 0,
                "fx_held" => live.is_held = value > 0,
                name => {
                    if let Some(bank) = name.strip_prefix("fx_bank_session:") {
                        live.sessions.insert(bank.to_owned(), value > 0);
                    }
                    let closed = name.strip_prefix("fx_bank_closed_until:");
                    if let Some(bank) = closed.filter(|_| value > 0) {
                        live.closed.insert(bank.to_owned(), value);
                    }
                }
            }
        }
        live
    }

    /// The first reason for which no order is sent, in the words of `touchline top`.
    pub fn state(&self, killed_by: Option<&str>, paint: Paint) -> String {
        if !self.is_running {
            return paint.yellow("no engine").to_string();
        }
        if let Some(why) = &self.unknown {
            return paint.red(why);
        }
        if let Some(by) = killed_by {
            return paint.red(format!("KILLED by {by}")).to_string();
        }
        let has_session = self.sessions.values().any(|is_up| *is_up);
        match (
            self.is_journal_failed,
            has_session,
            self.is_asking,
            self.is_held,
        ) {
            (true, ..) => paint.red("JOURNAL FAILED").to_string(),
            (_, false, ..) if self.sessions.keys().all(|bank| self.is_closed(bank)) => {
                match self.closed.values().min() {
                    Some(until) => paint
                        .yellow(format!("closed until {}", format::until(*until)))
                        .to_string(),
                    // The counters name no session.
                    None => paint.green("trading").to_string(),
                }
            }
            (_, false, ..) => paint.red("NO ORDER SESSION").to_string(),
            (_, _, true, _) => paint.yellow("asks banks for orders").to_string(),
            (_, _, _, true) => paint.yellow("held: reads all quotes").to_string(),
            _ => paint.green("trading").to_string(),
        }
    }

    /// Whether the order session of a bank is closed by its hours.
    pub fn is_closed(&self, bank: &str) -> bool {
        self.closed.contains_key(bank)
    }

    /// Lines of the order sessions that are closed by their hours, those that open first before the others.
    pub fn closed(&self) -> Vec<String> {
        let mut banks: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for (bank, until_ns) in &self.closed {
            banks.entry(*until_ns).or_default().push(bank);
        }
        let lines = banks.into_iter();
        let line = |(until_ns, banks): (u64, Vec<&str>)| {
            format!(
                "closed until {}: {}",
                format::until(until_ns),
                banks.join(" ")
            )
        };
        lines.map(line).collect()
    }

    /// The line of the order sessions that are down; none if all are up or closed.
    pub fn down(&self) -> Option<String> {
        let sessions = self.sessions.iter();
        let down = sessions.filter(|(bank, is_up)| !**is_up && !self.is_closed(bank));
        let down: Vec<&str> = down.map(|(bank, _)| bank.as_str()).collect();
        (!down.is_empty()).then(|| {
            format!(
                "{} of {} order sessions down: {}",
                down.len(),
                self.sessions.len(),
                down.join(" ")
            )
        })
    }
}
