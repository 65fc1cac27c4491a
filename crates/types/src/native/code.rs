//! The numbers of the schema's enums, and what they mean here. The other way is `as u8`.

use crate::{
    ExecutionType, LevelAction, Liquidity, OptionRight, OrderAction, OrderRequest, OrderState,
    OrderType, Phase, QuoteAction, RejectCode, RiskCheck, SecurityType, Side, StatisticKind,
    TimeInForce, UpdateAction, Validity,
};

/// Stands for "none" wherever an enum may be absent.
pub const NULL: u8 = u8::MAX;

/// Validity of the schema.
#[inline(always)]
pub const fn validity(code: u8) -> Option<Validity> {
    Some(match code {
        0 => Validity::Live,
        1 => Validity::Gapped,
        2 => Validity::Recovering,
        3 => Validity::Natural,
        4 => Validity::Stale,
        5 => Validity::Closed,
        _ => return None,
    })
}

/// Side of the schema.
#[inline(always)]
pub const fn side(code: u8) -> Option<Side> {
    Some(match code {
        0 => Side::Bid,
        1 => Side::Ask,
        _ => return None,
    })
}

/// LevelAction of the schema.
#[inline(always)]
pub const fn level_action(code: u8) -> Option<LevelAction> {
    Some(match code {
        0 => LevelAction::Insert,
        1 => LevelAction::Replace,
        2 => LevelAction::Remove,
        3 => LevelAction::Clear,
        _ => return None,
    })
}

/// OrderAction of the schema.
#[inline(always)]
pub const fn order_action(code: u8) -> Option<OrderAction> {
    Some(match code {
        0 => OrderAction::New,
        1 => OrderAction::Update,
        2 => OrderAction::Delete,
        _ => return None,
    })
}

/// UpdateAction of the schema.
#[inline(always)]
pub const fn update_action(code: u8) -> Option<UpdateAction> {
    Some(match code {
        0 => UpdateAction::New,
        1 => UpdateAction::Change,
        2 => UpdateAction::Delete,
        3 => UpdateAction::DeleteThru,
        4 => UpdateAction::DeleteFrom,
        5 => UpdateAction::Overlay,
        _ => return None,
    })
}

/// Phase of the schema.
#[inline(always)]
pub const fn phase(code: u8) -> Option<Phase> {
    Some(match code {
        0 => Phase::Begun,
        1 => Phase::Ended,
        _ => return None,
    })
}

/// StatisticKind of the schema. Venues invent figures, and newer writers will name them: what is
/// not known here is another figure, not a fault.
#[inline(always)]
pub const fn statistic_kind(code: u8) -> StatisticKind {
    match code {
        0 => StatisticKind::Open,
        1 => StatisticKind::High,
        2 => StatisticKind::Low,
        3 => StatisticKind::Vwap,
        4 => StatisticKind::HighestBid,
        5 => StatisticKind::LowestAsk,
        6 => StatisticKind::Settlement,
        7 => StatisticKind::ClearedVolume,
        8 => StatisticKind::OpenInterest,
        9 => StatisticKind::Fixing,
        10 => StatisticKind::Volume,
        11 => StatisticKind::HighLimit,
        12 => StatisticKind::LowLimit,
        13 => StatisticKind::PriceBand,
        _ => StatisticKind::Other,
    }
}

/// Codes of an enum of ours, by its own numbers.
macro_rules! codes {
    ($(#[$about:meta])* $visible:vis $name:ident: $type:ident [$($variant:ident),+ $(,)?]) => {
        $(#[$about])*
        $visible const fn $name(code: u8) -> Option<$type> {
            $(if code == $type::$variant as u8 {
                return Some($type::$variant);
            })+
            None
        }
    };
}

codes! {
    /// OptionRight of the schema.
    pub option_right: OptionRight [Put, Call]
}

codes! {
    /// QuoteAction of the schema.
    pub quote_action: QuoteAction [Set, Remove, Clear]
}

codes! {
    /// OrderType of the schema.
    pub order_type: OrderType [Market, Limit, PreviouslyQuoted, Stop, StopLimit]
}

codes! {
    /// TimeInForce of the schema.
    pub time_in_force: TimeInForce [Day, ImmediateOrCancel, FillOrKill, GoodTillCancel, GoodTillDate]
}

codes! {
    /// ExecutionType of the schema.
    pub execution_type: ExecutionType [
        Sent, PendingNew, New, Trade, Canceled, Replaced, PendingCancel, PendingReplace, Rejected,
        Expired, Status, TradeCorrect, TradeCancel, TimedOut, SessionLost, Resolved,
    ]
}

codes! {
    /// OrderState of the schema.
    pub order_state: OrderState [
        Sent, PendingNew, New, PartiallyFilled, Filled, Rejected, Canceled, Expired, PendingCancel,
        PendingReplace, Unknown, Disputed,
    ]
}

codes! {
    /// Liquidity of the schema.
    pub liquidity: Liquidity [Added, Removed]
}

codes! {
    /// OrderRequest of the schema.
    pub order_request: OrderRequest [New, Cancel, Replace, CancelAll]
}

codes! {
    known_security_type: SecurityType [
        Other, Future, Option, FutureSpread, OptionSpread, Spot, Forward, Stock, Bond, Repo, Index,
    ]
}

codes! {
    known_reject_code: RejectCode [
        LastLookPrice, LastLookLatency, Liquidity, Credit, StaticData, Other, NotSupported,
        NeverArrived,
    ]
}

codes! {
    known_risk_check: RiskCheck [
        Other, Kill, DuplicateId, BadOrder, Duplicate, OrderQuantity, Rate, NoMid, Collar, Net,
        Gross, Credit, Disabled, NoSession,
    ]
}

/// SecurityType of the schema. One that is not known here is another one, not a fault.
pub fn security_type(code: u8) -> SecurityType {
    known_security_type(code).unwrap_or(SecurityType::Other)
}

/// RejectCode of the schema. One that is not known here is another one, not a fault.
pub fn reject_code(code: u8) -> RejectCode {
    known_reject_code(code).unwrap_or(RejectCode::Other)
}

/// RiskCheck of the schema. One that is not known here is another one, not a fault.
pub fn risk_check(code: u8) -> RiskCheck {
    known_risk_check(code).unwrap_or(RiskCheck::Other)
}

/// A code that may be absent; `None` where it stands for nothing.
pub(super) fn optional<T>(code: u8, of: fn(u8) -> Option<T>) -> Option<Option<T>> {
    match code {
        NULL => Some(None),
        code => of(code).map(Some),
    }
}

/// Bit of QuoteFlags of the schema: for information only.
pub const INDICATIVE: u8 = 1 << 0;
/// Bit of QuoteFlags of the schema: one ticket of at most the amount.
pub const FULL_AMOUNT: u8 = 1 << 1;

/// Bit of OrderFlags of the schema: it must not trade at once.
pub const POST_ONLY: u8 = 1 << 0;
/// Bit of OrderFlags of the schema: it may only make a position smaller.
pub const REDUCE_ONLY: u8 = 1 << 1;

/// Bit of ReportFlags of the schema: it may have come before.
pub const POSSIBLE_RESEND: u8 = 1 << 0;
/// Bit of ReportFlags of the schema: the order had ended.
pub const LATE: u8 = 1 << 1;
/// Bit of ReportFlags of the schema: the last of the answers to one question.
pub const LAST_OF_LIST: u8 = 1 << 2;

/// Bit of LimitFlags of the schema: the kill switch is on.
pub const KILLED: u8 = 1 << 0;
/// Bit of LimitFlags of the schema: no order goes there.
pub const DISABLED: u8 = 1 << 1;

/// LevelState of the schema: there is no level.
pub const LEVEL_ABSENT: u8 = 0;
/// LevelState of the schema: there is one.
pub const LEVEL_KNOWN: u8 = 1;
/// LevelState of the schema: there is one that was never stated.
pub const LEVEL_UNKNOWN: u8 = 2;

/// Bit of LevelFlags of the schema: of the implied book.
pub const IMPLIED: u8 = 1 << 0;
/// Bit of LevelFlags of the schema: the level was never stated.
pub const UNKNOWN: u8 = 1 << 1;
