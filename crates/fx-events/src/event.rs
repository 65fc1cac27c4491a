//! Events of the core, in order of occurrence. Printed, published, journaled and sent data are made from them.

use crate::composite::Top;
use crate::desk::{BookState, Day};
use crate::orders::{FillKind, OrderState, RejectCode, Terms};
use crate::parents::{EndReason, ParentTerms, WaitReason};
use crate::plan::PlanKind;
use crate::positions::{Position, WorstCase};
use crate::risk::Refusal;
use crate::scorecard::Score;
use crate::seen::{Seen, SeenLists};
use crate::setup::{Bank, Pair};
use crate::stages::Stopwatch;
use std::ops::Range;
use touchline_types::{Id, Price, Side};

pub use crate::alarm::{Alarm, RunAlarm};

/// Events of one call, with their lists of variable length.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Time and event, in order.
    pub events: Vec<(u64, Event)>,
    /// Legs of plans.
    pub legs: Vec<PlanLeg>,
    /// Average prices of composites, hundredths of a tick, by the side that is taken.
    pub averages: Vec<[Option<i64>; 2]>,
    /// What plans saw.
    pub seen: SeenLists,
    /// Parts of positions by value date, `YYYYMMDD`.
    pub dates: Vec<(u32, Position)>,
    /// Those of the position that a reader meets next.
    pub(crate) next_dates: Option<Range<usize>>,
    /// Stopwatch of the path, with the clock of the owner.
    pub stages: Stopwatch,
}

impl Batch {
    /// Removes all events and keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.legs.clear();
        self.averages.clear();
        self.seen.clear();
        self.dates.clear();
        self.next_dates = None;
    }

    /// Whether the event has a composite of a pair.
    pub fn of_pair(&self, pair: Pair) -> bool {
        let is_it =
            |event: &Event| matches!(event, Event::Composite { pair: other, .. } if *other == pair);
        self.events.iter().any(|(_, event)| is_it(event))
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A published composite.
    Composite {
        /// Pair.
        pair: Pair,
        /// Best bid and ask.
        tops: [Option<Top>; 2],
        /// Range in [`Batch::averages`], one entry for each configured size.
        averages: Range<usize>,
    },
    /// A parent was accepted.
    Accepted {
        /// Number among all parents, from 0.
        number: u32,
        /// Terms of the parent.
        terms: ParentTerms,
    },
    /// A parent was refused.
    Refused {
        /// Name of the parent, as given.
        parent: Option<Id>,
        /// Reason.
        reason: Refusal,
    },
    /// A parent waits and sends nothing.
    Waits {
        /// The parent.
        parent: Numbered,
        /// Reason.
        reason: WaitReason,
    },
    /// A plan whose orders follow.
    Plan {
        /// The parent.
        parent: Numbered,
        /// Pair.
        pair: Pair,
        /// Open quantity, units.
        open: i64,
        /// Kind of plan.
        kind: PlanKind,
        /// Units.
        quantity: i64,
        /// Average price, hundredths of a tick.
        average: i64,
        /// Twice the mid of the traded composite, ticks.
        mid2: i64,
        /// Twice the reference by which prices were judged, ticks.
        reference2: i64,
        /// Range in [`Batch::legs`].
        legs: Range<usize>,
    },
    /// A parent has ended.
    Ended(ParentEnd),
    /// An ended parent has no open orders.
    Settled(ParentEnd),
    /// A bank's pair cools down.
    Cooldown {
        /// Bank.
        bank: Bank,
        /// Pair.
        pair: Pair,
        /// Reason; none for an order without an outcome.
        code: Option<RejectCode>,
        /// End of the cool-down.
        until_ns: u64,
    },
    /// A bank's pair is disabled until the desk enables it.
    Disabled {
        /// Bank.
        bank: Bank,
        /// Pair.
        pair: Pair,
        /// Reason.
        code: RejectCode,
    },
    /// The desk enabled a bank's pair.
    Enabled {
        /// Bank.
        bank: Bank,
        /// Pair.
        pair: Pair,
    },
    /// The kill switch was set.
    Kill {
        /// User; none if not stated.
        by: Option<Id>,
    },
    /// A user requested to lift the kill switch.
    Lift {
        /// User; none if not stated.
        by: Option<Id>,
        /// Whether the kill switch is still set.
        is_killed: bool,
    },
    /// A bank's prices of a pair left the market, or are near it again.
    OffMarket {
        /// Bank.
        bank: Bank,
        /// Pair.
        pair: Pair,
        /// Whether the bank is off the market.
        is_off: bool,
    },
    /// A pair has other dates: its day begins.
    Day(Day),
    /// The used credit of a bank is zero again.
    BankDay {
        /// Bank.
        bank: Bank,
        /// Trade date, `YYYYMMDD`.
        trade: u32,
    },
    /// A user proposed or confirmed a booking without an order.
    Book {
        /// Name of the booking, as given.
        id: Option<Id>,
        /// User; none if not stated.
        by: Option<Id>,
        /// State of the booking.
        state: BookState,
    },
    /// An alarm for the desk.
    Alarm {
        /// Kind.
        what: Alarm,
        /// Bank of the alarm; none if the desk named an order that does not exist.
        bank: Option<Bank>,
        /// The order of the alarm, as named.
        order: Option<Id>,
    },
    /// An order that the journal lost was taken over, with a parent of its own. Its alarm is logged, this is not.
    Adopted(Box<Adopted>),
    /// An event of an order.
    Order(OrderLine),
    /// A fill, or a reversed one.
    Fill(FillLine),
    /// Position of a pair.
    Position {
        /// Pair.
        pair: Pair,
        /// Position.
        position: Position,
        /// Worst case.
        worst: WorstCase,
        /// Twice the mid.
        mid2: Option<i64>,
        /// Range in [`Batch::dates`]; none of a pair whose dates do not change.
        dates: Option<Range<usize>>,
    },
    /// What the plan before it saw. For the journal; it has no line.
    Seen(Seen),
    /// The market when a parent arrived or an order ended. A report measures by it; it has no line.
    Benchmark(Benchmark),
    /// Scorecard of a bank and a pair.
    Score {
        /// Bank.
        bank: Bank,
        /// Pair.
        pair: Pair,
        /// Score.
        score: Box<Score>,
    },
}

impl Event {
    /// Whether the event is published and may be in no journal although the journal works: an event caused by prices
    /// alone, and an alarm of the run.
    pub fn is_beside_journal(&self) -> bool {
        let is_of_run = matches!(
            self,
            Event::Alarm {
                what: Alarm::Run(_),
                ..
            }
        );
        is_of_run || self.is_of_prices()
    }

    /// Whether prices alone cause the event: a composite, the reason why a parent waits, a bank off the market. A start
    /// needs none of them.
    pub fn is_of_prices(&self) -> bool {
        matches!(
            self,
            Event::Composite { .. } | Event::Waits { .. } | Event::OffMarket { .. }
        )
    }
}

/// An order that was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    /// Number among all orders, from 0.
    pub number: u32,
    /// Terms of the order, as a report of its bank describes them.
    pub terms: Terms,
    /// Number of the parent that stands for it.
    pub parent: u32,
    /// Terms of that parent.
    pub parent_terms: ParentTerms,
    /// Name of the parent that the order was made for.
    pub of: Id,
}

/// Answer to a command. Not an event of the core; it follows those of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Client.
    pub client: &'a str,
    /// Number of the request.
    pub request: u64,
    /// Word.
    pub answer: &'a str,
    /// Why it was refused, for programs.
    pub reason: Option<&'a str>,
    /// Why it was refused, for people.
    pub cause: Option<&'a str>,
}

/// A parent or an order: its number, which a record has, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    /// Number among all of its kind, from 0.
    pub number: u32,
    /// Name of the parent, or ClOrdID.
    pub id: Id,
}

/// The market of a pair at the arrival of a parent, or at the end of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Benchmark {
    /// What arrived or ended.
    pub of: BenchmarkOf,
    /// Pair.
    pub pair: Pair,
    /// Twice the mid of the traded composite, ticks; none without two sides.
    pub mid2: Option<i64>,
    /// Average price of the parent's whole quantity, hundredths of a tick; none if it was not available, and of an order.
    pub average: Option<i64>,
}

/// What a mark is about, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchmarkOf {
    /// A parent that arrived.
    Parent(u32),
    /// An order that ended.
    Order(u32),
}

/// An order of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanLeg {
    /// The order.
    pub order: Numbered,
    /// Bank.
    pub bank: Bank,
    /// Units.
    pub quantity: i64,
    /// Worst price, ticks.
    pub price: i64,
    /// Quote id of the order.
    pub quote_id: Option<Id>,
    /// The bank's weighted penalty, tenths of a tick.
    pub penalty: i64,
}

/// State of a parent at its end or settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentEnd {
    /// The parent.
    pub parent: Numbered,
    /// Pair.
    pub pair: Pair,
    /// End reason; none for a settlement.
    pub reason: Option<EndReason>,
    /// Units filled, net of busts.
    pub filled: i64,
    /// Average price of them, hundredths of a tick.
    pub average: Option<i64>,
    /// Units that may still be filled.
    pub out: i64,
}

/// Event of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderLine {
    /// ClOrdID, or the name in a report.
    pub id: Option<Id>,
    /// The order's number; none if it does not exist.
    pub number: Option<u32>,
    /// Bank of the session.
    pub bank: Bank,
    /// Kind.
    pub what: OrderEvent,
    /// State after the event; none if the order does not exist.
    pub status: Option<OrderStatus>,
    /// Reject code, if this event ended the order without a fill.
    pub code: Option<RejectCode>,
    /// Message to send.
    pub message: Option<Message>,
}

impl OrderLine {
    /// The state in which the event ended the order without a fill, by a report or by a rule of its bank.
    pub fn unfilled_end(&self) -> Option<OrderState> {
        let state = self.status.map(|of| of.state);
        state.filter(|state| state.is_end() && *state != OrderState::Filled)
    }
}

/// State of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderStatus {
    /// State of the order.
    pub state: OrderState,
    /// Units filled.
    pub cum: i64,
    /// Units that may still be filled.
    pub leaves: i64,
}

/// Kind of an order event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderEvent {
    /// Journal entry, before the next event.
    Journal,
    /// A message is sent.
    Sent,
    /// A message was received, or the desk resolved the order.
    Report,
    /// Answer timeout.
    Timeout,
    /// The session was lost.
    Down,
}

/// A change of a bank's order session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange {
    /// It was lost, or has ended.
    Down,
    /// It is logged on.
    Up,
    /// Everything that the bank sent without a connection has come, of a bank that drops orders with a connection.
    Settled,
    /// Messages of such a bank are missing and will not come: its orders are asked for.
    Doubted,
    /// Its end is near: the bank forgets its numbers there, so its orders are asked for before.
    Closing,
    /// Its hours are over, and our Logout leaves: it gets no order, and its reports may still come.
    Closed,
}

impl SessionChange {
    /// Changes, by the number that an entry has.
    pub const ALL: [SessionChange; 6] = [
        SessionChange::Down,
        SessionChange::Up,
        SessionChange::Settled,
        SessionChange::Doubted,
        SessionChange::Closing,
        SessionChange::Closed,
    ];

    /// Name of the change.
    pub fn name(self) -> &'static str {
        match self {
            SessionChange::Down => "down",
            SessionChange::Up => "up",
            SessionChange::Settled => "settled",
            SessionChange::Doubted => "doubted",
            SessionChange::Closing => "closing",
            SessionChange::Closed => "closed",
        }
    }
}

/// A message to a bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// D: a new order.
    Order(Terms),
    /// F: cancel an order.
    Cancel {
        /// ClOrdID of the request.
        id: Id,
        /// The order.
        order: Asked,
        /// Time.
        at_ns: u64,
    },
    /// H: status request for an order.
    Status {
        /// Number of the request in the run.
        request: u64,
        /// The order.
        order: Asked,
    },
    /// AF: status request for all orders.
    MassStatus {
        /// Number of the request in the run.
        request: u64,
    },
    /// Q: no such trade.
    DontKnow(Box<DontKnow>),
}

/// Terms of an order that a cancel or a status request repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// ClOrdID.
    pub id: Id,
    /// Pair.
    pub pair: Pair,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
}

impl From<&Terms> for Asked {
    fn from(terms: &Terms) -> Asked {
        Asked {
            id: terms.id,
            pair: terms.pair,
            side: terms.side,
            quantity: terms.quantity,
        }
    }
}

/// A refused trade, with the fields of its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DontKnow {
    /// DKReason (127).
    pub reason: char,
    /// ExecID (17).
    pub exec_id: Option<Id>,
    /// LastPx (31).
    pub last_px: Option<Id>,
    /// LastQty (32).
    pub last_qty: Option<Id>,
    /// OrderID (37).
    pub order_id: Option<Id>,
    /// OrderQty (38).
    pub order_qty: Option<Id>,
    /// Side (54).
    pub side: Option<Id>,
    /// Symbol (55).
    pub symbol: Option<Id>,
}

/// Event of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillLine {
    /// The order; none of a booking by the desk.
    pub order: Option<Numbered>,
    /// The parent's name; none of a booking by the desk.
    pub parent: Option<Id>,
    /// Bank; none of a booking by the desk that names none.
    pub bank: Option<Bank>,
    /// ExecID.
    pub exec_id: Id,
    /// Source of the fill.
    pub kind: FillKind,
    /// Pair.
    pub pair: Pair,
    /// [`Side::Bid`] bought.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Price.
    pub price: Price,
    /// Price improvement over the order, whole ticks, rounded down; none without an order.
    pub improve: Option<i64>,
    /// Time since the order was sent; none without an order.
    pub hold_ns: Option<u64>,
    /// Whether the order had already ended.
    pub is_late: bool,
    /// SettlDate (64) as reported.
    pub settl_date: Option<Id>,
    /// Currency (15) as reported.
    pub currency: Option<Id>,
    /// ExecID of the fill that a late original was part of.
    pub part_of: Option<Id>,
}
