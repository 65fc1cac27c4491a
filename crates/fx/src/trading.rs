//! Trading: parents of the desk, orders for them at the banks, and the effects of the banks' reports.
//!
//! ```text
//!   desk ──► Gate ──► Parents ──► Router ──► Orders ──► order sent
//!             ▲        ▲   what is open      │  ▲
//!             │        │                     ▼  │
//!             │        └─────── fill, end ── report ◄── Sessions ◄── bank
//!             │                   │    │
//!             └── kill ◄──────────┘    ├──► Positions
//!                                      └──► Conduct ──► Router: which banks may have orders, and their penalties
//! ```
//!
//! | part | state | invariant |
//! |---|---|---|
//! | `Gate` | kill switch, hold, stopped pairs, limits | no order passes while killed |
//! | `Parents` | open, sent and filled quantity of each | never more than the parent's quantity is sent and filled |
//! | `Router` | memory of a plan | the orders of a plan have its quantity |
//! | `Orders` | states, fills, questions to banks | the fills of an order are its filled quantity |
//! | `Sessions` | sessions, requests, rates | a session that is down waits for no answer |
//! | `Positions` | positions, bookings of the desk | a position is the sum of its fills and bookings |
//! | `Conduct` | cool-downs, penalties, scorecard | no more orders end than were sent |
//!
//! A part changes no other part, and reads of others only its arguments. [`Trading`] does the work that needs several
//! parts: it reads prices, passes values between the parts, and writes events.

mod adopt;
mod conduct;
mod cooldown;
mod days;
mod desk;
mod fills;
mod gate;
mod inquiry;
mod kill;
mod outcome;
mod penalty;
mod reports;
#[expect(clippy::disallowed_macros, reason = "errors of a start")]
mod restore;
mod route;
mod router;
mod seen;
mod sessions;
mod step;
mod timers;
mod unknown;

use crate::desk_trades::DeskTrades;
use crate::input::Session;
use crate::orders::{Executions, Orders};
use crate::parents::Parents;
use crate::positions::Positions;
use crate::pricing::Pricing;
use crate::quotes::NEVER;
use crate::setup::{Setup, Slot};
use conduct::Conduct;
use gate::Gate;
use router::Router;
use sessions::Sessions;
use std::sync::Arc;
use touchline_fx_events::desk::Day;
use touchline_fx_events::event::Event;
use touchline_fx_events::scorecard::Score;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_types::Id;
use touchline_wire::fix::Message;

pub use inquiry::COMMAND_AGE_MAX_NS;
pub use restore::RestoreError;
pub(crate) use step::Step;

/// Trading on the prices of all banks.
#[derive(Debug, Clone)]
pub struct Trading {
    /// Setup of pricing, except for the prefix of further identifiers.
    setup: Arc<Setup>,
    gate: Gate,
    parents: Parents,
    router: Router,
    orders: Orders,
    sessions: Sessions,
    /// Orders that the journal may lack.
    lost: adopt::Lost,
    /// Whether each bank drops open orders with a lost connection, by the rules of the run that is restored or live.
    drops: Vec<bool>,
    /// The state is restored from records: what a rule has ended and each kill stand in them, and no rule ends anything else.
    is_restoring: bool,
    positions: Positions,
    /// Trade dates of each bank's days, `YYYYMMDD`, in the order in which they began.
    bank_days: Vec<Vec<u32>>,
    /// All days of each pair so far.
    days: Vec<Vec<Day>>,
    conduct: Conduct,
    /// No timer is due before this time.
    wake_ns: u64,
    /// Whether the next step looks at parents of all pairs, not only of pairs whose prices moved.
    looks_at_all: bool,
}

impl Trading {
    /// Makes the state without parents; all sessions are down.
    pub fn new(setup: Arc<Setup>) -> Trading {
        Trading {
            gate: Gate::new(&setup),
            parents: Parents::new(&setup),
            router: Router::new(&setup),
            orders: Orders::new(&setup),
            sessions: Sessions::new(&setup),
            lost: adopt::Lost::new(setup.labels.prefix),
            drops: setup.drops(),
            is_restoring: false,
            positions: Positions::new(&setup),
            bank_days: vec![Vec::new(); setup.banks.len()],
            days: vec![Vec::new(); setup.pairs.len()],
            conduct: Conduct::new(&setup),
            wake_ns: NEVER,
            looks_at_all: true,
            setup,
        }
    }

    /// Reserves memory for this many further orders.
    pub(crate) fn reserve(&mut self, orders: usize) {
        self.gate.reserve(&self.setup, orders);
        self.router.reserve();
        self.orders.reserve(orders);
        self.sessions.reserve(&self.setup, orders);
        self.conduct.reserve(orders);
    }

    /// The configuration.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// All orders.
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Executions.
    pub fn executions(&self) -> &Executions {
        self.orders.executions()
    }

    /// All parents.
    pub fn parents(&self) -> &Parents {
        &self.parents
    }

    /// Positions.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// Trades that the desk booked without an order.
    pub fn desk_trades(&self) -> &DeskTrades {
        self.positions.desk_trades()
    }

    /// Orders of a slot so far, scored; without hold times.
    pub fn score_so_far(&self, slot: Slot) -> &Score {
        self.conduct.score_so_far(slot)
    }

    /// Whether the order session of a bank is up.
    pub fn is_order_session_up(&self, bank: Bank) -> bool {
        self.sessions.is_up(bank)
    }

    /// Whether a bank has listed its orders since the journal may lack some.
    pub fn has_said_all(&self, bank: Bank) -> bool {
        !self.sessions.inquiry(bank).is_open()
    }

    /// Whether all orders wait because a bank's list of its orders is missing.
    pub fn is_asking(&self) -> bool {
        self.sessions.is_asking()
    }

    /// Whether orders to this bank wait until the desk has asked the bank and enables a pair of it: the desk was called
    /// because the bank did not answer.
    pub fn waits_for_desk(&self, bank: Bank) -> bool {
        self.sessions.inquiry(bank).waits_for_desk()
    }

    /// The user who requested first to lift the kill switch, which a second user must confirm.
    pub fn first_lifter(&self) -> Option<Id> {
        self.gate.first_lifter()
    }

    /// Whether a person may lift the kill switch.
    pub fn may_lift(&self, person: &str) -> bool {
        let lifters = &self.setup.risk.kill_lifters;
        lifters.iter().any(|lifter| lifter == person)
    }

    /// Whether the kill switch is set.
    pub fn is_killed(&self) -> bool {
        self.gate.is_killed()
    }

    /// Whether the router is held.
    pub fn is_held(&self) -> bool {
        self.gate.is_held()
    }

    /// Whether a pair gets no orders.
    pub fn is_stopped(&self, pair: Pair) -> bool {
        self.gate.is_stopped(pair)
    }

    /// Trade date of a bank's day, `YYYYMMDD`; 0: it has none.
    pub fn bank_day(&self, bank: Bank) -> u32 {
        self.bank_days(bank).last().copied().unwrap_or_default()
    }

    /// Trade dates of the bank's days so far, in the order in which they began: a clock that is set back begins an earlier one later.
    pub fn bank_days(&self, bank: Bank) -> &[u32] {
        &self.bank_days[bank]
    }

    /// Score of a bank and a pair so far.
    pub(crate) fn score(&self, bank: Bank, pair: Pair, pricing: &mut Pricing) -> Score {
        let slot = self.setup.slot(bank, pair);
        let mut score = self.conduct.score(&self.setup, slot);
        pricing.score(bank, pair).add_to(&mut score);
        score.up_ns = pricing.up_ns(bank);
        score
    }

    /// Holds the router, or releases it.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.gate.hold(is_held);
        self.look_at_all();
    }

    /// Restores a state from records from now on, or has restored it.
    pub(crate) fn set_restoring(&mut self, is_restoring: bool) {
        self.is_restoring = is_restoring;
    }

    /// A run begins: its banks drop orders, or keep them, as configured now.
    pub(crate) fn begin_drops(&mut self) {
        self.drops = self.setup.drops();
    }

    /// A run is restored, in which this bank dropped open orders with a lost connection, or did not.
    pub(crate) fn set_drops(&mut self, bank: Bank, drops: bool) {
        self.drops[bank] = drops;
    }

    /// Makes no order of a pair any more.
    pub(crate) fn stop(&mut self, pair: Pair) {
        self.gate.set_stopped(pair, true);
        self.look_at_all();
    }

    /// Makes further identifiers with another prefix.
    pub(crate) fn set_prefix(&mut self, prefix: Id) {
        self.lost.note_prefix(prefix);
        Arc::make_mut(&mut self.setup).labels.prefix = prefix;
    }

    /// Ends the session: positions and scorecard.
    pub(crate) fn finish(&mut self, step: &mut Step<'_>) {
        for pair in 0..self.setup.pairs.len() {
            self.position_line(pair, step);
        }
        for bank in 0..self.setup.banks.len() {
            let mut pairs: Vec<_> = self.setup.banks[bank].pairs.clone();
            pairs.sort_unstable();
            for pair in pairs {
                let score = Box::new(self.score(bank, pair, step.pricing));
                step.push(Event::Score { bank, pair, score });
            }
        }
    }

    /// Handles an input of a bank's order session.
    pub(crate) fn order_session(&mut self, bank: Bank, session: &Session<'_>, step: &mut Step<'_>) {
        self.look_at_all();
        match session {
            Session::Up => self.order_session_up(bank, step),
            Session::Down => self.order_session_down(bank, step),
            Session::Settled => self.order_session_settled(bank, step),
            Session::Doubted => self.order_session_doubted(bank, step),
            Session::Closing => self.order_session_closing(bank, step),
            // mutant: fx: orders are planned for a bank whose hours are over
            Session::Closed => {
                self.sessions.set_closing(bank);
            }
            Session::Message(bytes) => {
                let is_up = self.sessions.is_up(bank);
                if let Some(message) = step.pricing.whole_message(is_up, bytes, sound) {
                    self.report(bank, &message, step);
                }
            }
            // Quotes belong to pricing sessions.
            Session::Missed
            | Session::Quotes(_)
            | Session::QuotedAt(..)
            | Session::TakenUp(..)
            | Session::Withdrawn(_)
            | Session::Heard => {}
        }
    }
}

/// A message of which each field is valid.
fn sound(message: Message<'_>) -> Option<Message<'_>> {
    let is_sound = message.fields().all(|field| field.is_ok());
    is_sound.then_some(message)
}

/// The number of an order or a parent, as records have it.
fn number(at: usize) -> u32 {
    u32::try_from(at).expect("memory ends before the numbers do")
}
