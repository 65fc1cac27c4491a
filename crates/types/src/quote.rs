//! Quotes of providers: prices with the names, sizes and lifetimes that an order needs to hit them.

use crate::{Code, Id, Instrument, Price, Quantity, Side, Validity};

/// One side of a quote: a level, a band or an entry of a provider's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Handle of the quote among those of its provider in its instrument, assigned by the publisher and valid until the
    /// quote is removed.
    pub entry: u32,
    /// Side of the quote: we can sell to bids.
    pub side: Side,
    /// Price.
    pub price: Price,
    /// Amount at this price.
    pub quantity: Quantity,
    /// Minimum amount of an order; NULL if not stated.
    pub quantity_min: Quantity,
    /// Expiry, nanoseconds since the Unix epoch; 0 if not stated.
    pub expiry_ns: u64,
    /// Number of the last change of the quote, counted over all quotes of its provider: the lower of two is older.
    pub priority: u64,
    /// Receive time of the message that set the quote, nanoseconds since the Unix epoch; 0 if not stated. In snapshots only:
    /// in an update it is the time of the message.
    pub set_ns: u64,
    /// Tier of the provider's ladder, from 0; `None` if not stated.
    pub tier: Option<u16>,
    /// Whether the quote is indicative: it cannot be traded.
    pub is_indicative: bool,
    /// Whether the quote is a band: good for one order of at most its amount, and never added to another quote.
    pub is_full_amount: bool,
    /// The provider's quote id, which an order returns; empty if absent.
    pub quote_id: Id,
}

impl Quote {
    /// Placeholder for no quote.
    pub const NULL: Quote = Quote {
        entry: 0,
        side: Side::Bid,
        price: Price::NULL,
        quantity: Quantity::NULL,
        quantity_min: Quantity::NULL,
        expiry_ns: 0,
        priority: 0,
        set_ns: 0,
        tier: None,
        is_indicative: false,
        is_full_amount: false,
        quote_id: Id::EMPTY,
    };
}

coded! {
    /// Kind of a quote change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum QuoteAction {
        /// A new or changed quote with these values.
        Set = 0,
        /// The quote is removed; its values have no meaning.
        Remove = 1,
        /// Every quote of the provider in the instrument is removed; the values have no meaning.
        Clear = 2,
    }
}

/// One step in the quotes of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteChange {
    /// Kind of the change.
    pub action: QuoteAction,
    /// The quote, with its new values.
    pub quote: Quote,
}

impl QuoteChange {
    /// Removes every quote of the provider in the instrument.
    pub const NULL: QuoteChange = QuoteChange {
        action: QuoteAction::Clear,
        quote: Quote::NULL,
    };
}

/// Instrument, provider and value date of the quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteStream {
    /// The instrument.
    pub instrument: Instrument,
    /// The venue's identifier of the instrument.
    pub security_id: i64,
    /// Provider of the quote: a bank, or a maker on a platform.
    pub provider: Code,
    /// Value date as `YYYYMMDD`; 0 if the provider does not state it.
    pub value_date: u32,
    /// Validity of the provider's quotes.
    pub validity: Validity,
    /// Whether no quote message of the provider caused the update: an update by a withdrawal, which does not make older quotes
    /// fresh; a snapshot of before the first quote message.
    pub is_unquoted: bool,
}

/// Changes of a provider's quotes of an instrument by one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteUpdate<'a> {
    /// Instrument, provider and value date of the quotes.
    pub stream: QuoteStream,
    /// The steps, in order.
    pub changes: &'a [QuoteChange],
}

/// All quotes of a provider in an instrument: replaces the reader's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteSnapshot<'a> {
    /// Instrument, provider and value date of the quotes.
    pub stream: QuoteStream,
    /// The quotes, oldest first.
    pub quotes: &'a [Quote],
}
