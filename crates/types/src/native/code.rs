//! Codes of the schema without a Rust enum; enums have [`from_code`](crate::Validity::from_code).

/// Null value of an enum.
pub const NULL: u8 = u8::MAX;

/// Code of an optional value; `None` for an undefined code.
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

/// Bit of StreamFlags of the schema: for no quote message of the provider.
pub const UNQUOTED: u8 = 1 << 0;

/// LevelState of the schema: no level.
pub const LEVEL_ABSENT: u8 = 0;
/// LevelState of the schema: known level.
pub const LEVEL_KNOWN: u8 = 1;
/// LevelState of the schema: a level whose content was never sent.
pub const LEVEL_UNKNOWN: u8 = 2;

/// Bit of LevelFlags of the schema: implied book.
pub const IMPLIED: u8 = 1 << 0;
/// Bit of LevelFlags of the schema: the level's content was never sent.
pub const UNKNOWN: u8 = 1 << 1;
