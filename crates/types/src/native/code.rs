//! The numbers of the schema's enums, and what they mean here. The other way is `as u8`.

use crate::{LevelAction, OrderAction, Phase, Side, StatisticKind, UpdateAction, Validity};

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
