//! What became of orders: reports of venues, and what is known of an order without one.

use crate::{Id, OrderRoute, Price, Quantity, Side};

coded! {
    /// Why there is a report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ExecutionType {
        /// The order was written to the venue's session; no report of the venue.
        Sent = 0,
        /// The venue has it, and has not accepted it yet (150=A).
        PendingNew = 1,
        /// It was accepted (150=0).
        New = 2,
        /// It traded (150=F; also 1, 2).
        Trade = 3,
        /// It was cancelled (150=4).
        Canceled = 4,
        /// It has other terms (150=5).
        Replaced = 5,
        /// A request to cancel it is with the venue (150=6).
        PendingCancel = 6,
        /// A request to replace it is with the venue (150=E).
        PendingReplace = 7,
        /// It was rejected (150=8).
        Rejected = 8,
        /// It expired (150=C).
        Expired = 9,
        /// The answer to a question (150=I).
        Status = 10,
        /// A trade was corrected (150=G).
        TradeCorrect = 11,
        /// A trade was reversed (150=H).
        TradeCancel = 12,
        /// No answer came in time; no report of the venue.
        TimedOut = 13,
        /// Its session was lost; no report of the venue.
        SessionLost = 14,
        /// A person said what became of it; no report of the venue.
        Resolved = 15,
    }
}

coded! {
    /// Where an order is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OrderState {
        /// Written to the venue's session, not answered.
        Sent = 0,
        /// The venue has it, and has not accepted it yet.
        PendingNew = 1,
        /// It works.
        New = 2,
        /// It works, and a part is filled.
        PartiallyFilled = 3,
        /// It ended: all of it is filled.
        Filled = 4,
        /// It ended: rejected.
        Rejected = 5,
        /// It ended: cancelled.
        Canceled = 6,
        /// It ended: expired.
        Expired = 7,
        /// A request to cancel it is out.
        PendingCancel = 8,
        /// A request to replace it is out.
        PendingReplace = 9,
        /// What became of it is not known: all of it may be filled.
        Unknown = 10,
        /// A report contradicts what was ordered: a person decides.
        Disputed = 11,
    }
}

impl OrderState {
    /// Whether nothing of it can trade any more.
    pub const fn is_end(self) -> bool {
        matches!(
            self,
            OrderState::Filled | OrderState::Rejected | OrderState::Canceled | OrderState::Expired
        )
    }
}

coded! {
    /// Why a venue refused an order: the categories of the Investment Association, as FIX OrdRejReason (103) has them.
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
        /// The venue never had it.
        NeverArrived = 7,
    }
}

coded! {
    /// Whether a fill added or removed liquidity: FIX LastLiquidityInd (851).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Liquidity {
        /// The order rested.
        Added = 0,
        /// The order hit another.
        Removed = 1,
    }
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// Where the order is.
    pub route: OrderRoute,
    /// Why there is a report.
    pub execution_type: ExecutionType,
    /// Where the order is after it.
    pub state: OrderState,
    /// Side of the order.
    pub side: Side,
    /// Limit of the order; NULL without one.
    pub price: Price,
    /// Quantity of the order.
    pub quantity: Quantity,
    /// Price of this fill; NULL without one.
    pub last_price: Price,
    /// Quantity of this fill; NULL without one.
    pub last_quantity: Quantity,
    /// What is filled.
    pub cumulative_quantity: Quantity,
    /// What may still be filled.
    pub leaves_quantity: Quantity,
    /// Average price of what is filled; NULL where not stated.
    pub average_price: Price,
    /// Value date as `YYYYMMDD`; 0 where not stated.
    pub value_date: u32,
    /// Why it was refused, or ended unfilled.
    pub reject_code: Option<RejectCode>,
    /// The venue's own number of that reason (103); `None` without one.
    pub venue_reject_code: Option<u16>,
    /// Whether the fill took liquidity.
    pub liquidity: Option<Liquidity>,
    /// It may have come before (43, 97).
    pub is_possible_resend: bool,
    /// The order had ended when it came.
    pub is_late: bool,
    /// The last of the answers to one question (912).
    pub is_last_of_list: bool,
    /// Our id of the order, or of the request that this answers.
    pub client_order_id: Id,
    /// Our id of the order before that request; empty without one.
    pub original_client_order_id: Id,
    /// The venue's id of the order; empty where there is none yet.
    pub order_id: Id,
    /// The venue's id of this report.
    pub execution_id: Id,
    /// The report that this one corrects or reverses; empty without one.
    pub execution_reference_id: Id,
}

coded! {
    /// What was refused.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OrderRequest {
        /// A new order.
        New = 0,
        /// The request to cancel one.
        Cancel = 1,
        /// The request to replace one.
        Replace = 2,
        /// The request to cancel all.
        CancelAll = 3,
    }
}

coded! {
    /// The check of ours that refused a request before it left.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RiskCheck {
        /// Another one, that a newer writer names.
        Other = 0,
        /// The kill switch is on.
        Kill = 1,
        /// An order had this id.
        DuplicateId = 2,
        /// The order makes no sense: an unknown instrument or word, a quantity or a price that cannot be.
        BadOrder = 3,
        /// The same order came a moment ago.
        Duplicate = 4,
        /// It is too large.
        OrderQuantity = 5,
        /// Too many came in a second.
        Rate = 6,
        /// There is no mid price to compare it with.
        NoMid = 7,
        /// Its limit is too far from the mid.
        Collar = 8,
        /// The position could become too large.
        Net = 9,
        /// The sum of positions could become too large.
        Gross = 10,
        /// The venue's credit does not suffice.
        Credit = 11,
        /// The venue, the account or the instrument is disabled.
        Disabled = 12,
        /// There is no session to send it on.
        NoSession = 13,
    }
}

/// A request was refused, by us or by the venue. The order that it was about, if any, is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRejected {
    /// Where it was to go.
    pub route: OrderRoute,
    /// What was refused.
    pub request: OrderRequest,
    /// The check of ours that refused it; `None` where the venue did.
    pub risk_check: Option<RiskCheck>,
    /// Why the venue refused it; `None` where we did.
    pub reject_code: Option<RejectCode>,
    /// The venue's own number of that reason (102, 103); `None` without one.
    pub venue_reject_code: Option<u16>,
    /// Our id of the request.
    pub client_order_id: Id,
    /// Our id of the order that it was about; empty for a new one.
    pub original_client_order_id: Id,
    /// The venue's id of that order; empty where it is not known.
    pub order_id: Id,
    /// What the venue says in words, as far as it fits; empty without.
    pub text: Id,
}
