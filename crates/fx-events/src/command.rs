//! Commands as a client of the desk sends them: pairs and banks by name, since a client knows no numbers of a run.

use crate::parents::Lifetime;
use crate::plan::Style;
use touchline_types::{Id, Side};

/// A command of the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Accept a parent order.
    Parent(Order),
    /// End a parent and cancel its open orders.
    Cancel {
        /// Name of the parent.
        id: Id,
    },
    /// Set the kill switch.
    Kill,
    /// Lift the kill switch.
    Lift,
    /// Enable a bank's pair.
    Enable {
        /// Name of the bank.
        bank: Id,
        /// Symbol of the pair.
        pair: Id,
    },
    /// End an unknown or disputed order with the state that the bank reports.
    Resolve {
        /// ClOrdID.
        order: Id,
        /// Filled units in total.
        cum: i64,
        /// Price of the quantity that is not booked yet, a decimal.
        price: Option<Id>,
    },
    /// Book a trade that no order explains; a booking needs two users.
    Book(Booking),
    /// Make the standby the active engine.
    Promote,
    /// State of the standby.
    Standby,
}

/// Request for a parent order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Name of the parent.
    pub id: Id,
    /// Symbol of the pair.
    pub pair: Id,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Base units.
    pub quantity: i64,
    /// Worst price, a decimal.
    pub limit: Option<Id>,
    /// Lifetime.
    pub lifetime: Lifetime,
    /// Lifetime of an order with a deadline, milliseconds.
    pub deadline_ms: u64,
    /// Urgency, 0 to 2.
    pub urgency: u8,
    /// Style of plans.
    pub style: Style,
    /// Whether plans may fill a part.
    pub partial: bool,
}

impl Order {
    /// An order without a limit, that lives for a minute, of middle urgency, filled as is best.
    pub const fn new(id: Id, pair: Id, side: Side, quantity: i64) -> Order {
        Order {
            id,
            pair,
            side,
            quantity,
            limit: None,
            lifetime: Lifetime::Deadline,
            deadline_ms: 60_000,
            urgency: 1,
            style: Style::Best,
            partial: true,
        }
    }
}

/// Request to book a trade that no order explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// Name of the booking.
    pub id: Id,
    /// Symbol of the pair.
    pub pair: Id,
    /// [`Side::Bid`] bought.
    pub side: Side,
    /// Base units.
    pub quantity: i64,
    /// Price, a decimal.
    pub price: Id,
    /// Name of the bank, if the trade is with one.
    pub bank: Option<Id>,
    /// Value date, `YYYYMMDD`.
    pub value_date: Id,
}
