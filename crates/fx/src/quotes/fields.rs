//! Fields of quote messages, as received.

use touchline_types::Id;
use touchline_wire::fix::Message;

/// Tags of quote messages.
pub mod tag {
    /// MinQty.
    pub const MIN_QTY: u32 = 110;
    /// QuoteID.
    pub const QUOTE_ID: u32 = 117;
    /// ExpireTime.
    pub const EXPIRE_TIME: u32 = 126;
    /// QuoteReqID.
    pub const QUOTE_REQ_ID: u32 = 131;
    /// BidPx.
    pub const BID_PX: u32 = 132;
    /// OfferPx.
    pub const OFFER_PX: u32 = 133;
    /// BidSize.
    pub const BID_SIZE: u32 = 134;
    /// OfferSize.
    pub const OFFER_SIZE: u32 = 135;
    /// BidSpotRate.
    pub const BID_SPOT_RATE: u32 = 188;
    /// OfferSpotRate.
    pub const OFFER_SPOT_RATE: u32 = 190;
    /// MDReqID.
    pub const MD_REQ_ID: u32 = 262;
    /// NoMDEntries.
    pub const NO_MD_ENTRIES: u32 = 268;
    /// MDEntryType.
    pub const MD_ENTRY_TYPE: u32 = 269;
    /// MDEntryPx.
    pub const MD_ENTRY_PX: u32 = 270;
    /// MDEntrySize.
    pub const MD_ENTRY_SIZE: u32 = 271;
    /// QuoteCondition.
    pub const QUOTE_CONDITION: u32 = 276;
    /// MDEntryID.
    pub const MD_ENTRY_ID: u32 = 278;
    /// MDUpdateAction.
    pub const MD_UPDATE_ACTION: u32 = 279;
    /// QuoteStatus.
    pub const QUOTE_STATUS: u32 = 297;
    /// QuoteCancelType.
    pub const QUOTE_CANCEL_TYPE: u32 = 298;
    /// QuoteEntryID.
    pub const QUOTE_ENTRY_ID: u32 = 299;
    /// QuoteSetID.
    pub const QUOTE_SET_ID: u32 = 302;
    /// QuoteType.
    pub const QUOTE_TYPE: u32 = 537;
    /// Symbol.
    pub const SYMBOL: u32 = 55;
    /// ValidUntilTime.
    pub const VALID_UNTIL: u32 = 62;
    /// SettlType.
    pub const SETTL_TYPE: u32 = 63;
    /// SettlDate.
    pub const SETTL_DATE: u32 = 64;
    /// MDQuoteType.
    pub const MD_QUOTE_TYPE: u32 = 1070;
}

/// Value as received, if the field is present.
pub type Raw<'a> = Option<&'a [u8]>;

/// The value of the first field with this tag.
pub fn first<'a>(message: &Message<'a>, tag: u32) -> Raw<'a> {
    all(message, tag).next()
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

/// Whether SettlType (63) and SettlDate (64), if present, are the pair's spot date.
pub fn is_spot(settle_type: Raw<'_>, settle_date: Raw<'_>, spot_date: &str) -> bool {
    settle_type.is_none_or(|text| matches!(text, b"0" | b"1"))
        && settle_date.is_none_or(|text| text == spot_date.as_bytes())
}
