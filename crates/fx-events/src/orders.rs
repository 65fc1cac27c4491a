//! Orders: terms, states, fills and reject codes.

mod code;

pub use code::RejectCode;

use crate::setup::{Bank, Pair};
use touchline_types::{Id, Side};

/// State of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderState {
    /// Handed to the session.
    Sent,
    /// The bank has it (39=A).
    PendingNew,
    /// The bank works it (39=0).
    New,
    /// Some of it is filled (39=1).
    Partial,
    /// A cancel was requested (own F, or 39=6).
    PendingCancel,
    /// The outcome is unknown: it counts as filled.
    Unknown,
    /// A report of it was refused: the desk decides.
    Disputed,
    /// Completely filled.
    Filled,
    /// Rejected by the bank.
    Rejected,
    /// Canceled.
    Canceled,
    /// Expired.
    Expired,
}

use OrderState::{
    Canceled, Disputed, Expired, Filled, New, Partial, PendingNew, Rejected, Sent, Unknown,
};

impl OrderState {
    /// Whether the state is final.
    pub fn is_end(self) -> bool {
        matches!(self, Filled | Rejected | Canceled | Expired)
    }

    /// Whether the bank has answered nothing, or works the order.
    pub fn is_open(self) -> bool {
        matches!(self, Sent | PendingNew | New | Partial)
    }

    /// Whether the state is unknown or disputed.
    pub fn is_doubtful(self) -> bool {
        matches!(self, Unknown | Disputed)
    }
}

/// Terms of an order; they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// ClOrdID.
    pub id: Id,
    /// Parent.
    pub parent: usize,
    /// Bank.
    pub bank: Bank,
    /// Pair.
    pub pair: Pair,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Worst price, ticks.
    pub price: i64,
    /// Quote id; without one it is a limit order.
    pub quote_id: Option<Id>,
    /// Fill or kill; otherwise immediate or cancel.
    pub is_fok: bool,
    /// Value date (64), `YYYYMMDD`.
    pub value_date: u32,
    /// Time at which it was sent.
    pub sent_ns: u64,
    /// Twice the mid when it was sent.
    pub mid2_sent: Option<i64>,
}

impl Terms {
    /// Terms of no order, to write memory with.
    pub const SAMPLE: Terms = Terms {
        id: Id::EMPTY,
        parent: 0,
        bank: 0,
        pair: 0,
        side: Side::Bid,
        quantity: 1,
        price: 1,
        quote_id: None,
        is_fok: false,
        value_date: 19_700_101,
        sent_ns: 0,
        mid2_sent: None,
    };
}

/// Source of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillKind {
    /// Named by a trade report.
    Fill,
    /// Derived from CumQty.
    Status,
    /// Stated by the desk.
    Manual,
    /// A part of a derived or stated fill, whose trade report arrived later.
    Named,
    /// Reversed.
    Bust,
    /// Booked again after a correction.
    Correct,
    /// Booked by two persons without an order.
    Book,
}
