//! Engine of the core: inputs and times in, events out. One state, one thread, no clock.
//!
//! ```text
//! handle(at, input):  all timers up to `at`, instant by instant ─► the input ─► the step
//! instant:            mark-outs ─► orders' answers and questions ─► parents' deadlines ─► the step
//! step:               composites (pricing) ─► router ─► published composites (pricing)
//! ```
//!
//! Timers run before an input of the same time. Additional wake-ups change nothing.

mod adopt;
mod desk;
mod fills;
mod inquiry;
mod outcome;
mod reports;
mod restore;
mod route;
mod timers;
mod unknown;

use crate::composite::Composites;
use crate::cooldown::Cooldowns;
use crate::desk_trades::DeskTrades;
use crate::event::{Batch, Event};
use crate::input::{Input, ParentRequest, Session};
use crate::kill::KillSwitch;
use crate::orders::{Executions, Orders};
use crate::parents::Parents;
use crate::penalty::Penalties;
use crate::plan::{Offer, Planner};
use crate::positions::Positions;
use crate::pricing::Pricing;
use crate::quotes::{Counters, NEVER};
use crate::risk::{Refusal, Risk};
use crate::scorecard::{Score, Scorecard};
use crate::setup::{Bank, Pair, Setup, Slot};
use crate::stages::Stage;
use crate::window::LastSecond;
use std::sync::Arc;
use touchline_types::Id;

pub use inquiry::COMMAND_AGE_MAX_NS;
pub use restore::RestoreError;

/// Offers of one side of a pair for which [`Engine::reserve`] takes memory.
const OFFERS_ROOM: usize = 4_096;

/// State of the core.
#[derive(Debug, Clone)]
pub struct Engine {
    /// That of pricing, but for the prefix of further identifiers.
    setup: Arc<Setup>,
    pricing: Pricing,
    /// No timer of trading is due before this time.
    wake_ns: u64,

    parents: Parents,
    planner: Planner,
    offers: Vec<Offer>,
    routing: route::Routing,
    orders: Orders,
    executions: Executions,
    order_sessions: Vec<OrderSession>,
    numbers: Numbers,
    /// The router makes no orders.
    is_held: bool,
    /// Pairs whose spot date has passed.
    stopped: Vec<bool>,
    lost: adopt::Lost,

    cooldowns: Cooldowns,
    penalties: Penalties,
    positions: Positions,
    desk_trades: DeskTrades,
    risk: Risk,
    kill: KillSwitch,
    rejects: LastSecond,
    scorecard: Scorecard,
}

/// State of a bank's order session.
#[derive(Debug, Clone, Default)]
struct OrderSession {
    is_up: bool,
    /// The first and the last unanswered mass status request: an answer to any of them is one.
    mass_status: Option<(u64, u64)>,
    inquiry: inquiry::Inquiry,
    /// Orders of the last second.
    rate: LastSecond,
}

/// Numbers of requests in the run.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    status: u64,
    mass_status: u64,
}

impl Engine {
    /// Initial state.
    pub fn new(setup: Setup) -> Engine {
        let setup = Arc::new(setup);
        Engine {
            pricing: Pricing::new(Arc::clone(&setup)),
            wake_ns: NEVER,
            parents: Parents::new(&setup),
            planner: Planner::new(setup.banks.len()),
            offers: Vec::new(),
            routing: route::Routing::new(&setup),
            orders: Orders::new(&setup),
            executions: Executions::default(),
            order_sessions: vec![OrderSession::default(); setup.banks.len()],
            numbers: Numbers::default(),
            is_held: false,
            stopped: vec![false; setup.pairs.len()],
            lost: adopt::Lost::new(setup.labels.prefix),
            cooldowns: Cooldowns::new(&setup),
            penalties: Penalties::new(&setup),
            positions: Positions::new(&setup),
            desk_trades: DeskTrades::default(),
            risk: Risk::default(),
            kill: KillSwitch::default(),
            rejects: LastSecond::default(),
            scorecard: Scorecard::new(&setup),
            setup,
        }
    }

    /// Takes memory for this many further orders, so that they need none on the path.
    pub fn reserve(&mut self, orders: usize) {
        self.orders.reserve(orders);
        self.executions.reserve(orders);
        self.scorecard.reserve(orders);
        self.planner.reserve();
        self.offers.reserve(OFFERS_ROOM);
        for (session, bank) in self.order_sessions.iter_mut().zip(&self.setup.banks) {
            let rate = bank.config.max_orders_per_s.min(orders);
            session.rate.reserve(rate);
        }
        self.rejects
            .reserve(self.setup.risk.kill_rejects_per_s.min(orders));
    }

    /// The configuration.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Quotes and composites.
    pub fn pricing(&self) -> &Pricing {
        &self.pricing
    }

    /// Time of the last instant or input.
    pub fn now_ns(&self) -> Option<u64> {
        self.pricing.now_ns()
    }

    /// Counters of the banks' messages.
    pub fn counters(&self) -> &Counters {
        self.pricing.counters()
    }

    /// Score of a bank and a pair so far.
    pub fn score(&mut self, bank: Bank, pair: Pair) -> Score {
        let slot = self.setup.slot(bank, pair);
        let mut score = self.scorecard.of(slot);
        self.pricing.score(bank, pair).add_to(&mut score);
        score.up_ns = self.pricing.up_ns(bank);
        score.penalty = self.penalties.of(&self.setup, slot);
        score
    }

    /// Orders of a slot so far, scored; without hold times.
    pub fn score_so_far(&self, slot: Slot) -> &Score {
        self.scorecard.so_far(slot)
    }

    /// Whether the order session of a bank is up.
    pub fn is_order_session_up(&self, bank: Bank) -> bool {
        self.order_sessions[bank].is_up
    }

    /// All orders.
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Executions.
    pub fn executions(&self) -> &Executions {
        &self.executions
    }

    /// All parents.
    pub fn parents(&self) -> &Parents {
        &self.parents
    }

    /// Trades that the desk booked without an order.
    pub fn desk_trades(&self) -> &DeskTrades {
        &self.desk_trades
    }

    /// Positions.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// The composites as of the last step.
    pub fn composites(&self) -> &Composites {
        self.pricing.composites()
    }

    /// The user who has asked to lift the kill switch, and waits for a second one.
    pub fn first_lifter(&self) -> Option<Id> {
        self.kill.first_lifter()
    }

    /// Whether the kill switch is set.
    pub fn is_killed(&self) -> bool {
        self.kill.is_killed()
    }

    /// Runs all timers up to the input's time, then handles the input. Times must not decrease.
    pub fn handle(&mut self, at_ns: u64, input: &Input<'_>, out: &mut Batch) {
        self.advance_to(at_ns, out);
        if !matches!(input, Input::Pricing(..)) {
            self.routing.look_at_all();
        }
        match input {
            Input::Pricing(bank, session) => self.pricing.input(*bank, session),
            Input::Orders(bank, session) => self.order_session(*bank, session, out),
            Input::Desk(command) => self.desk(command, out),
        }
        self.close(out);
    }

    /// [`Engine::handle`] of a requested parent. Returns its number in [`Engine::parents`].
    ///
    /// # Errors
    /// The parent is refused; the event of the refusal is in `out`.
    pub fn accept(
        &mut self,
        at_ns: u64,
        request: &ParentRequest,
        out: &mut Batch,
    ) -> Result<usize, Refusal> {
        self.advance_to(at_ns, out);
        self.routing.look_at_all();
        let accepted = self.parent(request, out);
        self.close(out);
        accepted
    }

    /// The value and the limit of the last refusal of a parent, if a limit was the reason.
    pub fn refused_bound(&self) -> Option<&str> {
        self.risk.bound()
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Batch) {
        self.handle_timeout(at_ns, out);
        self.pricing.set_now(at_ns);
    }

    fn close(&mut self, out: &mut Batch) {
        out.stages.lap(Stage::Quotes);
        self.step(out);
        debug_assert!(self.wake_ns <= self.earliest_ns(), "nothing-is-due-before");
    }

    /// Earliest time of a timer; [`NEVER`] if there is none. A wake-up without a due timer does no harm.
    pub fn next_timeout_ns(&self) -> u64 {
        self.wake_ns.min(self.pricing.next_timeout_ns())
    }

    /// Ends the session: positions and scorecard.
    pub fn finish(&mut self, out: &mut Batch) {
        let now_ns = self.now();
        for pair in 0..self.setup.pairs.len() {
            self.position_line(pair, out);
        }
        for bank in 0..self.setup.banks.len() {
            let mut pairs: Vec<_> = self.setup.banks[bank].pairs.clone();
            pairs.sort_unstable();
            for pair in pairs {
                let score = Box::new(self.score(bank, pair));
                out.events
                    .push((now_ns, Event::Score { bank, pair, score }));
            }
        }
    }

    /// Updates composites, runs the router, publishes composites.
    fn step(&mut self, out: &mut Batch) {
        self.pricing.refresh(out);
        out.stages.lap(Stage::Composite);
        self.route(out);
        self.pricing.publish_changes(out);
        out.stages.lap(Stage::Orders);
    }

    fn now(&self) -> u64 {
        self.pricing.now()
    }

    fn push(&self, event: Event, out: &mut Batch) {
        out.events.push((self.now(), event));
    }

    /// Lowers the time of the next wake-up.
    fn wake_at(&mut self, due_ns: u64) {
        self.wake_ns = self.wake_ns.min(due_ns);
    }

    fn order_session(&mut self, bank: Bank, session: &Session<'_>, out: &mut Batch) {
        match session {
            Session::Up => self.order_session_up(bank, out),
            Session::Down => self.order_session_down(bank, out),
            Session::Message(bytes) => {
                let is_up = self.order_sessions[bank].is_up;
                if let Some(message) = self.pricing.whole_message(is_up, bytes) {
                    self.report(bank, &message, out);
                }
            }
            // Quotes belong to pricing sessions.
            Session::Quotes(_) | Session::TakenUp(..) | Session::Withdrawn(_) | Session::Heard => {}
        }
    }
}
