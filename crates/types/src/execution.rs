//! Execution reports: reports of venues, and states of orders without one.

use crate::{Id, OrderRoute, Price, Quantity, Side};

coded! {
    /// Reason of a report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ExecutionType {
        /// The order was written to the venue's session; no report of the venue.
        Sent = 0,
        /// Pending new: the venue has not accepted it yet (150=A).
        PendingNew = 1,
        /// Accepted (150=0).
        New = 2,
        /// Traded (150=F; also 1, 2).
        Trade = 3,
        /// Cancelled (150=4).
        Canceled = 4,
        /// Replaced (150=5).
        Replaced = 5,
        /// Pending cancel (150=6).
        PendingCancel = 6,
        /// Pending replace (150=E).
        PendingReplace = 7,
        /// Rejected (150=8).
        Rejected = 8,
        /// Expired (150=C).
        Expired = 9,
        /// Order status, the answer to a status request (150=I).
        Status = 10,
        /// Trade corrected (150=G).
        TradeCorrect = 11,
        /// Trade cancelled (150=H).
        TradeCancel = 12,
        /// Timed out without an answer; no report of the venue.
        TimedOut = 13,
        /// Session lost; no report of the venue.
        SessionLost = 14,
        /// Resolved by a person; no report of the venue.
        Resolved = 15,
    }
}

coded! {
    /// State of an order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OrderState {
        /// Written to the venue's session, not answered.
        Sent = 0,
        /// Pending new: the venue has not accepted it yet.
        PendingNew = 1,
        /// Working.
        New = 2,
        /// Working, partly filled.
        PartiallyFilled = 3,
        /// Final: filled.
        Filled = 4,
        /// Final: rejected.
        Rejected = 5,
        /// Final: cancelled.
        Canceled = 6,
        /// Final: expired.
        Expired = 7,
        /// Pending cancel.
        PendingCancel = 8,
        /// Pending replace.
        PendingReplace = 9,
        /// Unknown: any part of it may be filled.
        Unknown = 10,
        /// A report contradicts the order: a person must resolve it.
        Disputed = 11,
    }
}

impl OrderState {
    /// Whether no part of it can trade any more.
    pub const fn is_end(self) -> bool {
        matches!(
            self,
            OrderState::Filled | OrderState::Rejected | OrderState::Canceled | OrderState::Expired
        )
    }
}

coded! {
    /// Reject codes: the categories of the Investment Association, as in FIX OrdRejReason (103).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RejectCode {
        /// last look, the price check failed.
        LastLookPrice = 0,
        /// last look, too late.
        LastLookLatency = 1,
        /// B: price or liquidity gone.
        Liquidity = 2,
        /// C: credit.
        Credit = 3,
        /// D: static data, entitlement, account.
        StaticData = 4,
        /// E: everything else.
        Other = 5,
        /// F: the product is not supported.
        NotSupported = 6,
        /// The venue never received it.
        NeverArrived = 7,
    }
}

coded! {
    /// Whether a fill added or removed liquidity: FIX LastLiquidityInd (851).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Liquidity {
        /// The order rested.
        Added = 0,
        /// The order was the aggressor.
        Removed = 1,
    }
}

/// Execution report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// Destination of the order.
    pub route: OrderRoute,
    /// Reason of the report.
    pub execution_type: ExecutionType,
    /// State of the order after the report.
    pub state: OrderState,
    /// Side of the order.
    pub side: Side,
    /// Limit price of the order; NULL without one.
    pub price: Price,
    /// Quantity of the order.
    pub quantity: Quantity,
    /// Price of this fill; NULL without one.
    pub last_price: Price,
    /// Quantity of this fill; NULL without one.
    pub last_quantity: Quantity,
    /// Filled quantity.
    pub cumulative_quantity: Quantity,
    /// Open quantity.
    pub leaves_quantity: Quantity,
    /// Average price of the fills; NULL if not stated.
    pub average_price: Price,
    /// Value date as `YYYYMMDD`; 0 if not stated.
    pub value_date: u32,
    /// Reason of a reject or of an unfilled end.
    pub reject_code: Option<RejectCode>,
    /// The venue's own reject code (103); `None` without one.
    pub venue_reject_code: Option<u16>,
    /// Whether the fill took liquidity.
    pub liquidity: Option<Liquidity>,
    /// Possible duplicate or resend (43, 97).
    pub is_possible_resend: bool,
    /// The order was final before the report arrived.
    pub is_late: bool,
    /// The last answer to a status request (912).
    pub is_last_of_list: bool,
    /// Our id of the order, or of the answered request.
    pub client_order_id: Id,
    /// Our id of the order before that request; empty without one.
    pub original_client_order_id: Id,
    /// The venue's order id; empty before it is assigned.
    pub order_id: Id,
    /// The venue's id of this report.
    pub execution_id: Id,
    /// The report that this one corrects or cancels; empty without one.
    pub execution_reference_id: Id,
}

coded! {
    /// Kind of refused request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OrderRequest {
        /// A new order.
        New = 0,
        /// A cancel request.
        Cancel = 1,
        /// A replace request.
        Replace = 2,
        /// A mass cancel request.
        CancelAll = 3,
    }
}

coded! {
    /// Our risk check that refused a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RiskCheck {
        /// Another check, of a newer version.
        Other = 0,
        /// The kill switch is on.
        Kill = 1,
        /// Duplicate order id.
        DuplicateId = 2,
        /// Invalid order: an unknown instrument or value, an impossible quantity or price.
        BadOrder = 3,
        /// Repeated order within a short time.
        Duplicate = 4,
        /// Too large.
        OrderQuantity = 5,
        /// Too many orders in a second.
        Rate = 6,
        /// No mid price to compare with.
        NoMid = 7,
        /// Limit price too far from the mid.
        Collar = 8,
        /// Position limit.
        Net = 9,
        /// Limit of the sum of positions.
        Gross = 10,
        /// Credit limit at the venue.
        Credit = 11,
        /// Venue, account or instrument disabled.
        Disabled = 12,
        /// No session.
        NoSession = 13,
    }
}

/// A refused request, by us or by the venue. Its order, if any, is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRejected {
    /// Destination.
    pub route: OrderRoute,
    /// Kind of request.
    pub request: OrderRequest,
    /// Our check that refused it; `None` if the venue did.
    pub risk_check: Option<RiskCheck>,
    /// The venue's reason; `None` if we refused it.
    pub reject_code: Option<RejectCode>,
    /// The venue's own reject code (102, 103); `None` without one.
    pub venue_reject_code: Option<u16>,
    /// Our id of the request.
    pub client_order_id: Id,
    /// Our id of its order; empty for a new one.
    pub original_client_order_id: Id,
    /// The venue's id of that order; empty if unknown.
    pub order_id: Id,
    /// The venue's text, truncated; empty without one.
    pub text: Id,
}
