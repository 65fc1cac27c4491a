//! The gate before parents and orders: kill switch, hold, stopped pairs, limits of parents, rejects of the last second.

use super::kill::KillSwitch;
use crate::risk::{Book, Refused, Risk};
use crate::setup::Setup;
use crate::window::LastSecond;
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::setup::Pair;
use touchline_types::Id;

/// Names of kills that no person asked for begin with it.
const AUTO: &str = "auto:";

/// Whether a parent is accepted, and whether an order may leave.
///
/// Invariant: no order passes while the kill switch is set.
#[derive(Debug, Clone)]
pub struct Gate {
    kill: KillSwitch,
    /// The router makes no orders.
    is_held: bool,
    /// Pairs without a spot date, or whose spot date has passed.
    stopped: Vec<bool>,
    /// Orders without a fill.
    rejects: LastSecond,
    limits: Risk,
}

impl Gate {
    /// An open gate.
    pub fn new(setup: &Setup) -> Gate {
        Gate {
            kill: KillSwitch::default(),
            is_held: false,
            stopped: setup.pairs.iter().map(|pair| pair.spot_date == 0).collect(),
            rejects: LastSecond::default(),
            limits: Risk::default(),
        }
    }

    /// Reserves memory for this many further orders.
    pub fn reserve(&mut self, setup: &Setup, orders: usize) {
        self.rejects
            .reserve(setup.risk.kill_rejects_per_s.min(orders));
    }

    /// Whether the router may make orders.
    pub fn is_open(&self) -> bool {
        !self.kill.is_killed() && !self.is_held
    }

    /// Whether the kill switch is set.
    pub fn is_killed(&self) -> bool {
        self.kill.is_killed()
    }

    /// The user who requested first to lift the kill switch, which a second user must confirm.
    pub fn first_lifter(&self) -> Option<Id> {
        self.kill.first_lifter()
    }

    /// Whether the router is held.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Holds the router, or releases it.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Whether a pair gets no orders.
    pub fn is_stopped(&self, pair: Pair) -> bool {
        self.stopped[pair]
    }

    /// Stops a pair, or lets it go on.
    pub fn set_stopped(&mut self, pair: Pair, is_stopped: bool) {
        self.stopped[pair] = is_stopped;
    }

    /// Lets an order of an accepted parent pass. A hold does not stop it: a restart adds the orders of the journal while held.
    pub fn pass(&self) {
        assert!(
            !self.kill.is_killed(),
            "no order is sent while the kill switch is set"
        );
    }

    /// Sets the kill switch. False if the switch is set already and the new kill is automatic.
    pub fn kill(&mut self, by: Option<Id>) -> bool {
        let is_by_itself = by.is_some_and(|by| by.as_str().starts_with(AUTO));
        if self.kill.is_killed() && is_by_itself {
            return false;
        }
        self.kill.kill();
        true
    }

    /// Handles a request to lift the kill switch.
    pub fn lift(&mut self, setup: &Setup, by: &Id) {
        self.kill.lift(by, &setup.risk.kill_lifters);
    }

    /// Restores a request to lift the kill switch, which an earlier run handled.
    pub fn restore_lift(&mut self, setup: &Setup, by: Option<Id>, is_killed: bool) {
        let lifters = &setup.risk.kill_lifters;
        self.kill.restore_lift(by, is_killed, lifters);
    }

    /// Counts an order without a fill. True if there are too many.
    pub fn count_reject(&mut self, setup: &Setup, now_ns: u64) -> bool {
        self.rejects.add(now_ns);
        self.rejects.count(now_ns) >= setup.risk.kill_rejects_per_s
    }

    /// Checks a parent; `terms` is `None` if they are invalid.
    pub fn judge(
        &mut self,
        book: &Book<'_>,
        id: Option<&Id>,
        terms: Option<&ParentTerms>,
        now_ns: u64,
    ) -> Result<(), Refused> {
        let is_killed = self.kill.is_killed();
        self.limits.judge(book, is_killed, id, terms, now_ns)
    }

    /// Records an accepted parent.
    pub fn note_accepted(&mut self, setup: &Setup, terms: &ParentTerms, now_ns: u64) {
        self.limits.note_accepted(setup, terms, now_ns);
    }
}
