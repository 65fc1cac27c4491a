//! Orders of this firm: requests to a venue, and reports.

use crate::{Code, ExecutionReport, Id, Instrument, OrderRejected, Price, Quantity, Side};

/// Message of a publication of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderMessage {
    /// A new order.
    New(NewOrder),
    /// The request to cancel an order.
    Cancel(CancelOrder),
    /// The request to change the terms of an order.
    Replace(ReplaceOrder),
    /// The request to cancel every order that fits.
    CancelAll(CancelAll),
    /// Execution report: state of an order.
    Report(ExecutionReport),
    /// A request was refused.
    Rejected(OrderRejected),
    /// Limits in force.
    Limits(Limits),
}

coded! {
    /// Kind of an order's price.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OrderType {
        /// At any price.
        Market = 0,
        /// At this price or better.
        Limit = 1,
        /// Against a quote, by its id, at its price.
        PreviouslyQuoted = 2,
        /// At any price once the stop price traded.
        Stop = 3,
        /// At this price or better once the stop price traded.
        StopLimit = 4,
    }
}

coded! {
    /// Lifetime of an order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum TimeInForce {
        /// To the end of the trading day.
        Day = 0,
        /// The quantity that does not trade at once is cancelled.
        ImmediateOrCancel = 1,
        /// All of it at once, or nothing.
        FillOrKill = 2,
        /// Until it is cancelled.
        GoodTillCancel = 3,
        /// Until `expiry_ns`.
        GoodTillDate = 4,
    }
}

/// Fields of every request and report of an order: account, venue, instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRoute {
    /// The publisher's index of the instrument; `None` from a publisher without a table of instruments.
    pub instrument: Option<Instrument>,
    /// The venue's identifier of the instrument; `None` where the message is of no single one.
    pub security_id: Option<i64>,
    /// The bank or exchange; with the security id it names the instrument.
    pub venue: Code,
    /// The account; empty where the session has but one.
    pub account: Code,
}

/// Terms of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderTerms {
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Kind of price.
    pub order_type: OrderType,
    /// Lifetime.
    pub time_in_force: TimeInForce,
    /// It must not trade at once.
    pub is_post_only: bool,
    /// It may only make a position smaller.
    pub is_reduce_only: bool,
    /// Limit; NULL for a market order.
    pub price: Price,
    /// Stop price; NULL without one.
    pub stop_price: Price,
    /// Quantity.
    pub quantity: Quantity,
    /// Smallest accepted fill; NULL for any.
    pub quantity_min: Quantity,
    /// Displayed quantity; NULL for all.
    pub quantity_shown: Quantity,
    /// End of [`TimeInForce::GoodTillDate`], nanoseconds since the Unix epoch; 0 without one.
    pub expiry_ns: u64,
    /// Value date as `YYYYMMDD`; 0 where the instrument has but one.
    pub value_date: u32,
    /// Currency of the quantity; empty if the instrument defines it.
    pub currency: Code,
}

/// A new order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Venue, account and instrument.
    pub route: OrderRoute,
    /// Terms of the order.
    pub terms: OrderTerms,
    /// Our id of it (ClOrdID), never used twice.
    pub client_order_id: Id,
    /// The order of the desk that it is a part of; empty without one.
    pub parent_order_id: Id,
    /// The quote that it hits; empty without one.
    pub quote_id: Id,
    /// Creation time, nanoseconds since the Unix epoch.
    pub created_ns: u64,
}

/// The request to cancel an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelOrder {
    /// Venue, account and instrument.
    pub route: OrderRoute,
    /// Its side.
    pub side: Side,
    /// Its quantity.
    pub quantity: Quantity,
    /// Our id of this request.
    pub client_order_id: Id,
    /// Our id of the order.
    pub original_client_order_id: Id,
    /// The venue's id of the order; empty where it is not known.
    pub order_id: Id,
    /// Time of the request, nanoseconds since the Unix epoch.
    pub created_ns: u64,
}

/// The request to change the terms of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaceOrder {
    /// Venue, account and instrument.
    pub route: OrderRoute,
    /// All of the new terms.
    pub terms: OrderTerms,
    /// Our id of this request, and of the order from then on.
    pub client_order_id: Id,
    /// Our id of the order.
    pub original_client_order_id: Id,
    /// The venue's id of the order; empty where it is not known.
    pub order_id: Id,
    /// Time of the request, nanoseconds since the Unix epoch.
    pub created_ns: u64,
}

/// The request to cancel every order that fits: an empty or absent field fits all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelAll {
    /// Instrument, venue and account.
    pub route: OrderRoute,
    /// Side.
    pub side: Option<Side>,
    /// The kill switch: no order leaves after it, until it is lifted.
    pub is_kill: bool,
    /// Our id of this request.
    pub client_order_id: Id,
    /// Sender of the request: a person, or a rule.
    pub requested_by: Code,
    /// Time of the request, nanoseconds since the Unix epoch.
    pub created_ns: u64,
}

/// Limits in force, and their use. A value that is not limited or not known is the null of its type.
///
/// Amounts are counts of 1e-4 of the currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Scope: a venue, an account, an instrument; an empty or absent field means all.
    pub route: OrderRoute,
    /// Largest quantity of one order.
    pub order_quantity_max: Quantity,
    /// Largest position, long or short.
    pub position_max: Quantity,
    /// Position.
    pub position: Quantity,
    /// Position if every order that buys fills.
    pub worst_long: Quantity,
    /// Position if every order that sells fills; negative when short.
    pub worst_short: Quantity,
    /// Largest sum of possible positions.
    pub gross_max: Option<i64>,
    /// That sum.
    pub gross: Option<i64>,
    /// Credit.
    pub credit_max: Option<i64>,
    /// Used credit.
    pub credit_used: Option<i64>,
    /// Largest distance of a limit price from the mid, on the losing side.
    pub price_collar: Price,
    /// Orders in any second; `None` where not limited.
    pub orders_per_second_max: Option<u32>,
    /// The kill switch is on.
    pub is_killed: bool,
    /// No order goes there until a person enables it.
    pub is_disabled: bool,
    /// Currency of the amounts.
    pub currency: Code,
}
