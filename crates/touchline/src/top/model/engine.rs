//! A trading engine or its standby, from the counters of its process.

use super::sample::{Count, Sample};
use crate::counted::Freshness;
use std::time::Duration;
use touchline_client::monitor::Build;

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

/// State of an engine, by what stops it from sending orders: if several do, it is the first of them here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineState {
    /// No process, and it ended in order.
    #[default]
    Ended,
    /// No process, and its counters were left: it failed or was killed.
    Died,
    /// A process that does not write its counters.
    Stalled,
    /// A process whose counters cannot be read.
    Unreadable,
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
    /// All order sessions are closed by their hours.
    Closed,
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
    /// Start of its next session while it is closed by its hours, nanoseconds since 1970.
    pub closed_until_ns: Option<u64>,
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

impl Engine {
    /// An engine with these counters, or a standby.
    pub fn of(sample: &Sample, freshness: Freshness) -> Engine {
        let orders_unknown = match is_standby(sample) {
            true => sample.counter("fx_standby_orders_unknown"),
            false => sample.counter("fx_orders_unknown"),
        };
        Engine {
            state: state(sample, freshness),
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

    /// Start of the first session of a bank that is closed by its hours, nanoseconds since 1970.
    pub fn closed_until_ns(&self) -> Option<u64> {
        self.banks
            .iter()
            .filter_map(|bank| bank.closed_until_ns)
            .min()
    }

    /// Order sessions that are logged on, and all but those that are closed by their hours.
    pub fn sessions(&self) -> (usize, usize) {
        let up = self.banks.iter().filter(|bank| bank.is_up == Some(true));
        let open = self
            .banks
            .iter()
            .filter(|bank| bank.closed_until_ns.is_none());
        (up.count(), open.count())
    }
}

impl EngineState {
    /// Label.
    pub const fn name(self) -> &'static str {
        match self {
            EngineState::Ended => "ended",
            EngineState::Died => "died",
            EngineState::Stalled => "stalled",
            EngineState::Unreadable => "counters unreadable",
            EngineState::JournalFailed => "journal failed",
            EngineState::Killed => "kill switch set",
            EngineState::Asking => "asks banks",
            EngineState::Held => "held",
            EngineState::NoSession => "no session",
            EngineState::Closed => "closed",
            EngineState::Trading => "trading",
            EngineState::Standby => "standby",
        }
    }

    /// Whether its values are current.
    pub const fn is_current(self) -> bool {
        !matches!(
            self,
            EngineState::Ended | EngineState::Died | EngineState::Stalled | EngineState::Unreadable
        )
    }
}

/// Whether these are the counters of a standby. The name of the bus does not say so: that of an engine may end likewise.
pub(super) fn is_standby(sample: &Sample) -> bool {
    sample.has("fx_standby_position")
}

/// The first reason for which no order is sent.
fn state(sample: &Sample, freshness: Freshness) -> EngineState {
    let is_set = |counter| sample.counter(counter) > 0;
    match freshness {
        Freshness::Gone(_) => EngineState::Died,
        Freshness::Late(_) => EngineState::Stalled,
        _ if is_standby(sample) => EngineState::Standby,
        _ if is_set("fx_journal_failed") => EngineState::JournalFailed,
        _ if is_set("fx_killed") => EngineState::Killed,
        _ if is_set("fx_asking") => EngineState::Asking,
        _ if is_set("fx_held") => EngineState::Held,
        _ if !is_set("fx_sessions") => match banks(sample, true) {
            banks if banks.iter().any(|bank| bank.closed_until_ns.is_none()) => {
                EngineState::NoSession
            }
            banks if banks.is_empty() => EngineState::NoSession,
            _ => EngineState::Closed,
        },
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
            closed_until_ns: Some(of("closed_until"))
                .filter(|until_ns| is_current && *until_ns > 0),
            orders: of("orders"),
            fills: of("fills"),
            rejects: of("rejects"),
            unknown: of("outcomes_unknown"),
        }
    };
    let mut banks: Vec<EngineBank> = names.map(bank).collect();
    // By name, and those first that somebody must look at.
    banks.sort_by_key(|bank| bank.is_up == Some(true) || bank.closed_until_ns.is_some());
    banks
}
