//! Codes of the schema without an enum of ours; enums have [`from_code`](crate::Validity::from_code).

/// Stands for "none" wherever an enum may be absent.
pub const NULL: u8 = u8::MAX;

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
