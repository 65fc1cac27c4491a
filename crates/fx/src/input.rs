//! Inputs: the banks' sessions and the desk.

use crate::desk_trades::DeskTrade;
use crate::parents::ParentTerms;
use crate::quotes::BusQuotes;
use crate::setup::{Bank, Pair};
use touchline_types::Id;

/// An input.
#[expect(
    clippy::large_enum_variant,
    reason = "inputs are passed by reference, and a box would be an allocation on the path"
)]
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// From a bank's pricing session.
    Pricing(Bank, Session<'a>),
    /// From a bank's order session.
    Orders(Bank, Session<'a>),
    /// From the desk.
    Desk(Desk),
}

/// Input from a session.
#[derive(Debug, Clone, Copy)]
pub enum Session<'a> {
    /// Logged on; the session layer is synchronized.
    Up,
    /// Lost.
    Down,
    /// A complete FIX message as received.
    Message(&'a [u8]),
    /// Quotes of a pair from a bus; from pricing sessions only.
    Quotes(BusQuotes<'a>),
    /// From a recording: a snapshot at which a reader of a bus took a pair up, and the time of the pair's last quote message.
    TakenUp(u64, &'a [u8]),
    /// From a recording: quotes that the bank withdrew singly, as a message that is no quote message.
    Withdrawn(&'a [u8]),
    /// Activity without quotes, such as a Heartbeat.
    Heard,
}

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
    /// Book what no order explains; two users must.
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
    /// The session ends.
    End,
}

/// A requested parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentRequest {
    /// Its name, if valid.
    pub id: Option<Id>,
    /// Its terms; none if invalid.
    pub terms: Option<ParentTerms>,
}
