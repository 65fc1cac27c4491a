//! Commands of the desk, and the states of a booking without an order.

use crate::parents::ParentTerms;
use crate::setup::{Bank, Pair};
use touchline_types::{Id, Price, Side};

/// A command of the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Desk {
    /// Accept a parent order.
    Parent(ParentRequest),
    /// End a parent and cancel its open orders.
    Cancel {
        /// Its name.
        id: Option<Id>,
    },
    /// Set the kill switch.
    Kill {
        /// User.
        by: Option<Id>,
    },
    /// Lift the kill switch.
    Lift {
        /// User.
        by: Option<Id>,
    },
    /// Enable a bank's pair.
    Enable {
        /// Bank.
        bank: Option<Bank>,
        /// Pair.
        pair: Option<Pair>,
    },
    /// End an unknown or disputed order with the desk's information.
    Resolve {
        /// ClOrdID.
        id: Option<Id>,
        /// Filled units in total.
        cum: Option<i64>,
        /// Price of the quantity not booked yet, as text.
        price: Option<Id>,
    },
    /// Book a trade that no order explains; a booking needs two users.
    Book {
        /// Name of the booking, as given.
        id: Option<Id>,
        /// User.
        by: Option<Id>,
        /// The trade; none if invalid.
        trade: Option<DeskTrade>,
    },
    /// The process starts again from its journal.
    Restart,
    /// The host starts again: as [`Desk::Restart`], and the end of the journal may be lost with orders that were sent.
    Reboot {
        /// Orders of earlier epochs may be lost.
        epoch: u64,
    },
    /// A pair has other dates.
    Day(Day),
    /// The used credit of a bank is zero again.
    BankDay {
        /// Bank.
        bank: Bank,
        /// Trade date, `YYYYMMDD`.
        trade: u32,
    },
    /// The session ends.
    End,
}

/// Dates of a pair, as numbers `YYYYMMDD`: the core has no calendars and no time zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// Pair.
    pub pair: Pair,
    /// Trade date.
    pub trade: u32,
    /// Spot date; 0: a calendar ends before it, and the pair gets no orders.
    pub spot: u32,
}

/// A requested parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentRequest {
    /// Name of the parent, if valid.
    pub id: Option<Id>,
    /// Terms of the parent; `None` if invalid.
    pub terms: Option<ParentTerms>,
}

/// A trade that no order explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeskTrade {
    /// Name of the booking.
    pub id: Id,
    /// Pair.
    pub pair: Pair,
    /// [`Side::Bid`] bought.
    pub side: Side,
    /// Units, positive.
    pub quantity: i64,
    /// Price.
    pub price: Price,
    /// Bank, if it is of one.
    pub bank: Option<Bank>,
    /// Value date, `YYYYMMDD`.
    pub value_date: Id,
}

/// Result of a proposal or a confirmation, in the order of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookState {
    /// The user may not book.
    Person,
    /// The booking is invalid.
    BadBook,
    /// A booking of this name was booked before.
    DuplicateId,
    /// The trade is proposed: another user must confirm it.
    First,
    /// The trade differs from the proposal of this name.
    Differs,
    /// The user proposed it: another one must confirm it.
    SamePerson,
    /// The trade is booked.
    Booked,
}

impl BookState {
    /// Printed form.
    pub fn name(self) -> &'static str {
        match self {
            BookState::Person => "person",
            BookState::BadBook => "bad_book",
            BookState::DuplicateId => "duplicate_id",
            BookState::First => "first",
            BookState::Differs => "differs",
            BookState::SamePerson => "same_person",
            BookState::Booked => "booked",
        }
    }
}
