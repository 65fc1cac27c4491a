//! What comes in: the banks' sessions, and the desk.

use crate::parents::ParentTerms;
use crate::setup::{Bank, Pair};
use touchline_types::Id;

/// One input.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Of a bank's pricing session.
    Pricing(Bank, Session<'a>),
    /// Of a bank's order session.
    Orders(Bank, Session<'a>),
    /// Of the desk.
    Desk(Desk),
}

/// What a session says.
#[derive(Debug, Clone, Copy)]
pub enum Session<'a> {
    /// Logged on, with everything of the session layer done.
    Up,
    /// Lost.
    Down,
    /// A whole FIX message, as it was received.
    Message(&'a [u8]),
}

/// A command of the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Desk {
    /// Work an order.
    Parent(ParentRequest),
    /// End a parent, and cancel what is out.
    Cancel {
        /// Its name.
        id: Option<Id>,
    },
    /// Send nothing more.
    Kill {
        /// Who says so.
        by: Option<Id>,
    },
    /// Send again.
    Lift {
        /// Who says so.
        by: Option<Id>,
    },
    /// Let a bank's pair deal again.
    Enable {
        /// Whom.
        bank: Option<Bank>,
        /// Which pair.
        pair: Option<Pair>,
    },
    /// End an order that is unknown or disputed, by word of mouth.
    Resolve {
        /// ClOrdID.
        id: Option<Id>,
        /// Units that are filled in all.
        cum: Option<i64>,
        /// Price of what was not booked yet, as text.
        price: Option<Id>,
    },
    /// The process starts again from its journal.
    Restart,
    /// The session ends.
    End,
}

/// A parent as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentRequest {
    /// Its name as it was given, as far as it is one.
    pub id: Option<Id>,
    /// What it says; none if it is no order.
    pub terms: Option<ParentTerms>,
}
