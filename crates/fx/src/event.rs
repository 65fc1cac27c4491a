//! What the core says: values in the order in which things happen. Everything that is printed, published, journaled or sent
//! follows from them.

use crate::composite::Top;
use crate::orders::{FillKind, OrderState, RejectCode, Terms};
use crate::parents::{EndReason, WaitReason};
use crate::plan::PlanKind;
use crate::positions::{Position, WorstCase};
use crate::risk::Refusal;
use crate::scorecard::Score;
use crate::setup::{Bank, Pair};
use std::ops::Range;
use touchline_types::{Id, Side};

/// Events of one call, with the lists that are of no fixed length.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// When and what, in order.
    pub events: Vec<(u64, Event)>,
    /// Legs of plans.
    pub legs: Vec<PlanLeg>,
    /// Average prices of composites, hundredths of a tick, by the side that is taken.
    pub averages: Vec<[Option<i64>; 2]>,
}

impl Batch {
    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.legs.clear();
        self.averages.clear();
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A composite as it is published.
    Composite {
        /// Of which pair.
        pair: Pair,
        /// Best bid and ask.
        tops: [Option<Top>; 2],
        /// In [`Batch::averages`], one for each configured size.
        averages: Range<usize>,
    },
    /// A parent is accepted.
    Accepted {
        /// Its name.
        parent: Id,
    },
    /// A parent is refused.
    Refused {
        /// Its name as it was given.
        parent: Option<Id>,
        /// Why.
        reason: Refusal,
    },
    /// A parent sends nothing.
    Waits {
        /// Its name.
        parent: Id,
        /// Why.
        reason: WaitReason,
    },
    /// Orders are about to be sent.
    Plan {
        /// The parent's name.
        parent: Id,
        /// What it was for.
        pair: Pair,
        /// Units that were open.
        open: i64,
        /// What it is made of.
        kind: PlanKind,
        /// Units.
        quantity: i64,
        /// Average price, hundredths of a tick.
        average: i64,
        /// Twice the mid.
        mid2: i64,
        /// In [`Batch::legs`].
        legs: Range<usize>,
    },
    /// A parent works no more.
    Ended(ParentEnd),
    /// Nothing of an ended parent is out any more.
    Settled(ParentEnd),
    /// A bank's pair is left alone.
    Cooldown {
        /// Whom.
        bank: Bank,
        /// Which pair.
        pair: Pair,
        /// Why; none for an order without an outcome.
        code: Option<RejectCode>,
        /// Until when.
        until_ns: u64,
    },
    /// A bank's pair is left alone until the desk enables it.
    Disabled {
        /// Whom.
        bank: Bank,
        /// Which pair.
        pair: Pair,
        /// Why.
        code: RejectCode,
    },
    /// The desk lets a bank's pair deal again.
    Enabled {
        /// Whom.
        bank: Bank,
        /// Which pair.
        pair: Pair,
    },
    /// The kill switch is thrown.
    Kill {
        /// By whom; none if it was not said.
        by: Option<Id>,
    },
    /// Somebody asked to lift the kill.
    Lift {
        /// Who; none if it was not said.
        by: Option<Id>,
        /// Whether it still holds.
        is_killed: bool,
    },
    /// Somebody must look.
    Alarm {
        /// At what.
        what: Alarm,
        /// The order that it is about, as it was named.
        order: Option<Id>,
    },
    /// Something about an order.
    Order(OrderLine),
    /// A fill, or one that is taken back.
    Fill(FillLine),
    /// What is held of a pair.
    Position {
        /// Which.
        pair: Pair,
        /// What is held.
        position: Position,
        /// What it may come to.
        worst: WorstCase,
        /// Twice the mid.
        mid2: Option<i64>,
    },
    /// How a bank did in a pair.
    Score {
        /// Who.
        bank: Bank,
        /// Which pair.
        pair: Pair,
        /// How.
        score: Box<Score>,
    },
}

/// An order of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanLeg {
    /// ClOrdID.
    pub order: Id,
    /// Who gets it.
    pub bank: Bank,
    /// Units.
    pub quantity: i64,
    /// Worst price, ticks.
    pub price: i64,
    /// The quote that it names.
    pub quote_id: Option<Id>,
    /// The bank's weighted penalty, tenths of a tick.
    pub penalty: i64,
}

/// How a parent ended, or stood when it was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentEnd {
    /// Its name.
    pub parent: Id,
    /// What it traded.
    pub pair: Pair,
    /// Why it ended; none where it is settled.
    pub reason: Option<EndReason>,
    /// Units filled, net of busts.
    pub filled: i64,
    /// Average price of them, hundredths of a tick.
    pub average: Option<i64>,
    /// Units that may still be filled.
    pub out: i64,
}

/// Why somebody must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// A bank does not say what became of an order.
    Manual,
    /// A trade was refused, with DKReason.
    DontKnow(char),
    /// A fill of an order that had ended.
    FillAfterEnd,
    /// A trade was reversed.
    Bust,
    /// A trade was corrected.
    Correct,
    /// A trade that is not known was reversed or corrected.
    UnknownExec,
}

/// A line about an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderLine {
    /// ClOrdID, or as a report names it.
    pub id: Option<Id>,
    /// Whose session.
    pub bank: Bank,
    /// What happened.
    pub what: OrderEvent,
    /// How it stands afterwards; none of what is no order of ours.
    pub status: Option<OrderStatus>,
    /// Why nothing was filled, where this ended it.
    pub code: Option<RejectCode>,
    /// What is sent.
    pub message: Option<Message>,
}

/// How an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderStatus {
    /// Its state.
    pub state: OrderState,
    /// Units filled.
    pub cum: i64,
    /// Units that may still be filled.
    pub leaves: i64,
}

/// What happened to an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderEvent {
    /// It is to be in the journal before what follows.
    Journal,
    /// A message goes out.
    Sent,
    /// A message came in, or the desk's word.
    Report,
    /// No answer in time.
    Timeout,
    /// The session is lost.
    Down,
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
        terms: Terms,
        /// When.
        at_ns: u64,
    },
    /// H: what became of an order?
    Status {
        /// Its number, of the run.
        request: u64,
        /// The order.
        terms: Terms,
    },
    /// AF: what became of all orders?
    MassStatus {
        /// Its number, of the run.
        request: u64,
    },
    /// Q: no such trade.
    DontKnow(Box<DontKnow>),
}

/// A trade that is refused, in the words of its report.
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
    /// Side (54).
    pub side: Option<Id>,
    /// Symbol (55).
    pub symbol: Option<Id>,
}

/// A line of the fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillLine {
    /// ClOrdID.
    pub order: Id,
    /// The parent's name.
    pub parent: Id,
    /// Who dealt.
    pub bank: Bank,
    /// Its name.
    pub exec_id: Id,
    /// Where it is known from.
    pub kind: FillKind,
    /// What was traded.
    pub pair: Pair,
    /// [`Side::Bid`] bought.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Ticks.
    pub price: i64,
    /// How much better than the order, ticks.
    pub improve: i64,
    /// Since the order was sent.
    pub hold_ns: u64,
    /// Whether the order had ended.
    pub is_late: bool,
}
