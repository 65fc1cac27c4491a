//! Quotes of providers: templates 50 and 51.

use super::fields::{Block, Field, FieldType, Fields, GroupLayout, Text, Zeros, group};
use super::{Head, LatencyTrace};
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

fields! {
    /// Instrument, provider and value date of the quotes.
    QuoteStream: 36 {
        /// The venue's identifier of the instrument.
        0 security_id: I64,
        /// Provider of the quote.
        8 provider: Text<16>,
        /// Value date as `YYYYMMDD`; 0 where the instrument has but one.
        24 value_date: U32,
        /// StreamFlags of the schema.
        28 stream_flags: u8,
        /// Not used.
        29 reserved: Zeros<7>,
    }
}

block! {
    /// Changes of a provider's quotes of an instrument by one message.
    QuoteUpdate = 50, ["changes": QuoteChange], 116 {
        /// Number, times, instrument, validity of the provider's quotes, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// Instrument, provider and value date of the quotes.
        80 stream: QuoteStream,
    }
}

block! {
    /// All quotes of a provider in an instrument.
    QuoteSnapshot = 51, ["quotes": Quote], 116 {
        /// Number, times, instrument, validity of the provider's quotes, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// Instrument, provider and value date of the quotes.
        80 stream: QuoteStream,
    }
}

fields! {
    /// A quote of a [`QuoteSnapshot`].
    Quote: 120 {
        /// Price in 1e-9.
        0 price: I64,
        /// Amount that is good at the price.
        8 quantity: I64,
        /// Smallest amount; `i64::MAX` if not stated.
        16 quantity_min: I64,
        /// Expiry, nanoseconds since the Unix epoch; 0 if not stated.
        24 expiry_ns: U64,
        /// Number of the setting among all of the provider.
        32 priority: U64,
        /// Place among the quotes of the provider in the instrument.
        40 entry: U32,
        /// Tier of the ladder from 0; `u16::MAX` where there is none.
        44 tier: U16,
        /// Side of the schema.
        46 side: u8,
        /// QuoteFlags of the schema.
        47 quote_flags: u8,
        /// Receive time of the message that set it, nanoseconds since the Unix epoch; 0 if not stated.
        48 set_ns: U64,
        /// The provider's id of the quote.
        56 quote_id: Text<64>,
    }
}

fields! {
    /// A step of a [`QuoteUpdate`].
    QuoteChange: 120 {
        /// Price in 1e-9.
        0 price: I64,
        /// Amount that is good at the price.
        8 quantity: I64,
        /// Smallest amount; `i64::MAX` if not stated.
        16 quantity_min: I64,
        /// Expiry, nanoseconds since the Unix epoch; 0 if not stated.
        24 expiry_ns: U64,
        /// Number of the setting among all of the provider.
        32 priority: U64,
        /// Place among the quotes of the provider in the instrument.
        40 entry: U32,
        /// Tier of the ladder from 0; `u16::MAX` where there is none.
        44 tier: U16,
        /// Side of the schema.
        46 side: u8,
        /// QuoteFlags of the schema.
        47 quote_flags: u8,
        /// QuoteAction of the schema.
        48 action: u8,
        /// Not used.
        49 reserved: Zeros<7>,
        /// The provider's id of the quote.
        56 quote_id: Text<64>,
    }
}
