//! Fields of quote messages, as received.

use touchline_types::Id;
use touchline_wire::fix::{Message, NO_DATE, without_zeros};

/// Value as received, if the field is present.
pub type Raw<'a> = Option<&'a [u8]>;

/// The value of the first field with this tag.
pub fn first<'a>(message: &Message<'a>, tag: u32) -> Raw<'a> {
    all(message, tag).next()
}

/// The value of the first field with this tag, of FIX's type int: zeros before it mean nothing.
pub fn int<'a>(message: &Message<'a>, tag: u32) -> Raw<'a> {
    first(message, tag).map(without_zeros)
}

/// The values of all fields with this tag.
pub fn all<'a>(message: &Message<'a>, tag: u32) -> impl Iterator<Item = &'a [u8]> {
    let fields = message.fields().filter_map(Result::ok);
    fields
        .filter(move |field| field.tag == tag)
        .map(|field| field.value)
}

/// An optional identifier. `None` if it is present and too long.
pub fn id(raw: Raw<'_>) -> Option<Id> {
    raw.map_or(Some(Id::EMPTY), Id::new)
}

/// Whether SettlType (63) and SettlDate (64), if present, are the pair's spot date; nothing is if it has none.
pub fn is_spot(settle_type: Raw<'_>, settle_date: Raw<'_>, spot_date: &str) -> bool {
    settle_type.is_none_or(|text| matches!(text, b"0" | b"1"))
        && (!has_date(settle_date) || settle_date == Some(spot_date.as_bytes()))
        && !spot_date.is_empty()
}

/// Whether SettlDate (64) states a date: zeros are none, as in a report.
pub fn has_date(settle_date: Raw<'_>) -> bool {
    settle_date.is_some_and(|text| text != NO_DATE)
}
