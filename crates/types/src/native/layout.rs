//! Layout of every message: the schema as types, read and written in place.
//!
//! Blocks and entries have an alignment of 1, so a message may lie anywhere; from an address that
//! is a multiple of eight on, every 8-byte field but those of [`TopOfBook`], of the later changes of
//! a [`BookUpdate`] and of the later groups of a [`BookSnapshot`] is aligned all the same. Sizes and offsets are asserted by the compiler
//! and compared with `schemas/touchline.xml` by a test of `xtask`.
#[macro_use]
mod fields;
mod quotes;

pub use fields::{Block, Field, Fields, GroupLayout, Kind, MessageLayout, Text, Zeros};
pub use quotes::{Quote, QuoteChange, QuoteSnapshot, QuoteStream, QuoteUpdate};

use fields::{FieldType, group, message};
use zerocopy::little_endian::{I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Every message of the schema.
pub const MESSAGES: &[MessageLayout] = &[
    message::<Heartbeat>(),
    message::<Gap>(),
    message::<Reset>(),
    message::<Download>(),
    message::<ChannelState>(),
    message::<InstrumentDefinition>(),
    message::<InstrumentState>(),
    message::<TradingStatus>(),
    message::<BookSnapshot>(),
    message::<BookUpdate>(),
    message::<TopOfBook>(),
    message::<OrdersSnapshot>(),
    message::<OrderUpdate>(),
    message::<Trade>(),
    message::<Statistics>(),
    message::<QuoteUpdate>(),
    message::<QuoteSnapshot>(),
];
fields! {
    /// Before every message.
    Header: 8 {
        /// Bytes of the root block.
        0 block_length: U16,
        /// Which message it is.
        2 template_id: U16,
        /// [`SCHEMA_ID`](super::SCHEMA_ID).
        4 schema_id: U16,
        /// Version of the schema that the writer used.
        6 version: U16,
    }
}

fields! {
    /// Before the entries of each group.
    Dimension: 4 {
        /// Bytes of one entry.
        0 block_length: U16,
        /// Number of entries.
        2 num_in_group: U16,
    }
}

fields! {
    /// Common header of every message.
    Head: 30 {
        /// Number of the message in its publication, without gaps, from 1.
        0 sequence: U64,
        /// Start of the event by the venue's clock, nanoseconds since the Unix epoch; 0 if unknown.
        8 exchange_ns: U64,
        /// Receive time of the packet, nanoseconds since the Unix epoch.
        16 receive_ns: U64,
        /// Our index of the instrument; `u32::MAX` where the message is of none.
        24 instrument: U32,
        /// Validity of the message's book after the message; 255 if it concerns no book.
        28 validity: u8,
        /// [`Flags`](super::Flags).
        29 flags: u8,
    }
}

fields! {
    /// The latency trace, in every message but [`TopOfBook`]. Marks are ticks of the host's
    /// clock, 0 where they are off.
    LatencyTrace: 50 {
        /// Not used.
        0 reserved: Zeros<2>,
        /// The venue's packet.
        2 packet_sequence: U64,
        /// Sending time of the venue, nanoseconds since the Unix epoch.
        10 sending_ns: U64,
        /// The receive call returned the packet.
        18 polled: U64,
        /// The packet was decoded into events.
        26 decoded: U64,
        /// The books had taken the event.
        34 applied: U64,
        /// The update was handed to the publisher.
        42 published: U64,
    }
}

block! {
    /// The publication lives, and has nothing else to say.
    Heartbeat = 1, [], 80 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
    }
}

block! {
    /// Packets of the venue are lost.
    Gap = 2, [], 97 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// First lost packet.
        80 first_lost: U64,
        /// Last lost packet.
        88 last_lost: U64,
        /// Validity of order books after the gap.
        96 orders_validity: u8,
    }
}

block! {
    /// Every book is empty and live.
    Reset = 3, [], 80 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
    }
}

block! {
    /// The venue's download, of definitions and whole books, has started or ended.
    Download = 4, [], 81 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// Phase of the schema.
        80 phase: u8,
    }
}

block! {
    /// Validity of the whole channel: readers show of each book the worse of its own and this.
    ChannelState = 5, [], 90 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// The venue's number of the last packet that the books hold; 0 where it numbers none.
        80 channel_sequence: U64,
        /// Of the price books: Validity of the schema.
        88 price_validity: u8,
        /// Of the order books: Validity of the schema.
        89 orders_validity: u8,
    }
}

block! {
    /// An instrument, defined or redefined.
    InstrumentDefinition = 10, ["legs": Leg], 344 from 196 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// The venue's identifier.
        80 venue_id: I64,
        /// The smallest price step in 1e-9; `i64::MAX` if not stated.
        88 tick: I64,
        /// The venue's symbol, up to the first zero byte.
        96 symbol: Text<32>,
        /// The product group.
        128 group: Text<32>,
        /// The product.
        160 asset: Text<32>,
        /// Levels a side of the direct book; 255 means 255 or more.
        192 direct_depth: u8,
        /// Levels a side of the implied book.
        193 implied_depth: u8,
        /// The power of ten of one unit of quantity.
        194 quantity_exponent: i8,
        /// 1 if a definition was seen, 0 if only the identifier is known.
        195 defined: u8,
        /// Levels a side of the direct book, all of them; `u16::MAX` for every level there is.
        196 direct_levels: U16,
        /// Denominator of the fraction that prices are quoted in; 0 where they are decimals or nothing is stated.
        198 main_fraction: u8,
        /// Denominator of the sub-fraction; 0 if absent.
        199 sub_fraction: u8,
        /// Display factor, above the line; 0 if not stated.
        200 display_numerator: I64,
        /// Display factor, below the line; 0 if not stated.
        208 display_denominator: I64,
        /// Contract size or multiplier, in 1e-9; `i64::MAX` if not stated.
        216 multiplier: I64,
        /// Quantities are whole multiples of it; `i64::MAX` if not stated.
        224 lot: I64,
        /// Smallest quantity of an order; `i64::MAX` if not stated.
        232 quantity_min: I64,
        /// Largest quantity of an order; `i64::MAX` if not stated.
        240 quantity_max: I64,
        /// Strike in 1e-9; `i64::MAX` where there is none.
        248 strike: I64,
        /// No price above it, in 1e-9; `i64::MAX` if not stated.
        256 high_limit: I64,
        /// No price below it, in 1e-9; `i64::MAX` if not stated.
        264 low_limit: I64,
        /// The venue's identifier of the underlying; `i64::MAX` where there is none.
        272 underlying: I64,
        /// End of trading, nanoseconds since the Unix epoch; 0 if not stated.
        280 expiry_ns: U64,
        /// Maturity as `YYYYMMDD`, with day 00 for a month; 0 if absent.
        288 maturity: U32,
        /// SecurityType of the schema; 255 if not stated.
        292 security_type: u8,
        /// OptionRight of the schema; 255 if absent.
        293 option_right: u8,
        /// The venue's code of the trading status; 255 if not stated.
        294 status_code: u8,
        /// Number of legs at the venue, of which the group may have fewer; 255 for that number or more.
        295 leg_count: u8,
        /// The venue.
        296 venue_name: Text<16>,
        /// Currency of prices.
        312 currency: Text<16>,
        /// Currency of settlement.
        328 settlement_currency: Text<16>,
    }
}

block! {
    /// A validity alone.
    InstrumentState = 11, [], 80 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
    }
}

block! {
    /// Trading state of an instrument, or of a group where the head names no instrument.
    TradingStatus = 12, [], 89 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// The group that it is about, as the venue wrote it.
        80 product_group: Text<6>,
        /// The venue's code of the state; 255 where null.
        86 status_code: u8,
        /// The venue's code of the reason.
        87 reason_code: u8,
        /// The venue's code of an additional event.
        88 event_code: u8,
    }
}

block! {
    /// A whole price book, best levels first.
    BookSnapshot = 20, ["bids": Level, "asks": Level, "impliedBids": Level, "impliedAsks": Level], 84 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// Not used.
        80 reserved: Zeros<4>,
    }
}

block! {
    /// Changes of a price book, and the best direct levels after them.
    BookUpdate = 21, ["changes": LevelChange], 132 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// The venue's identifier of the instrument.
        80 venue_id: I64,
        /// Best bid in 1e-9; `i64::MAX` where there is none.
        88 bid_price: I64,
        /// Its quantity; `i64::MAX` where there is none.
        96 bid_quantity: I64,
        /// Best ask in 1e-9; `i64::MAX` where there is none.
        104 ask_price: I64,
        /// Its quantity; `i64::MAX` where there is none.
        112 ask_quantity: I64,
        /// Number of orders at the bid; -1 if not stated.
        120 bid_orders: I32,
        /// Number of orders at the ask; -1 if not stated.
        124 ask_orders: I32,
        /// Whether there is a bid: LevelState of the schema.
        128 bid_state: u8,
        /// Whether there is an ask: LevelState of the schema.
        129 ask_state: u8,
        /// Not used.
        130 reserved: Zeros<2>,
    }
}

block! {
    /// The best prices alone, of the direct and the implied book together: 72 bytes with the header.
    TopOfBook = 22, [], 64 from 62 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Best bid in 1e-9; `i64::MAX` where there is none.
        30 bid_price: I64,
        /// Its quantity; `i64::MAX` where there is none.
        38 bid_quantity: I64,
        /// Best ask in 1e-9; `i64::MAX` where there is none.
        46 ask_price: I64,
        /// Its quantity; `i64::MAX` where there is none.
        54 ask_quantity: I64,
        /// Book of the best bid: TouchSource of the schema; 255 where there is none.
        62 bid_book: u8,
        /// Book of the best ask, likewise.
        63 ask_book: u8,
    }
}

block! {
    /// A whole order book.
    OrdersSnapshot = 30, ["orders": Order], 84 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// Not used.
        80 reserved: Zeros<4>,
    }
}

block! {
    /// Changes of an order book.
    OrderUpdate = 31, ["changes": OrderChange], 84 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// Not used.
        80 reserved: Zeros<4>,
    }
}

block! {
    /// A trade, or the correction or bust of one.
    Trade = 40, [], 110 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// Trade price in 1e-9.
        80 price: I64,
        /// Traded quantity.
        88 quantity: I64,
        /// The venue's trade id; 0 if absent.
        96 trade_id: U64,
        /// Orders that took part; -1 if not stated.
        104 orders: I32,
        /// The side that took liquidity: Side of the schema, 255 where the venue names none.
        108 aggressor: u8,
        /// New, a correction or a bust: UpdateAction of the schema.
        109 action: u8,
    }
}

block! {
    /// A figure of a session or a day.
    Statistics = 41, [], 98 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and timestamps.
        30 trace: LatencyTrace,
        /// The price in 1e-9; `i64::MAX` for figures that have none.
        80 price: I64,
        /// The quantity; `i64::MAX` for figures that have none.
        88 quantity: I64,
        /// Which figure: StatisticKind of the schema.
        96 kind: u8,
        /// Set, or taken back: UpdateAction of the schema.
        97 action: u8,
    }
}

fields! {
    /// A leg of an [`InstrumentDefinition`].
    Leg: 16 {
        /// The venue's identifier of the leg's instrument.
        0 leg_id: I64,
        /// Contracts of the leg in one of the combination.
        8 ratio: I32,
        /// Side of the leg for a buyer of the combination: Side of the schema.
        12 side: u8,
        /// Not used.
        13 reserved: Zeros<3>,
    }
}

fields! {
    /// A level of a [`BookSnapshot`].
    Level: 24 {
        /// Price in 1e-9; `i64::MAX` in an unknown level.
        0 price: I64,
        /// Quantity; `i64::MAX` where the venue states none.
        8 quantity: I64,
        /// Number of orders; -1 where the venue states none.
        16 orders: I32,
        /// LevelFlags of the schema.
        20 level_flags: u8,
        /// Not used.
        21 reserved: Zeros<3>,
    }
}

fields! {
    /// A step of a [`BookUpdate`].
    LevelChange: 26 from 24 {
        /// Price in 1e-9; `i64::MAX` in an unknown level.
        0 price: I64,
        /// Quantity; `i64::MAX` where the venue states none.
        8 quantity: I64,
        /// Number of orders; -1 where the venue states none.
        16 orders: I32,
        /// LevelFlags of the schema.
        20 level_flags: u8,
        /// Side of the schema.
        21 side: u8,
        /// LevelAction of the schema.
        22 action: u8,
        /// Place in the list from 0, the best; 255 means this place or a worse one.
        23 index: u8,
        /// Place in the list from 0, the best, of any list.
        24 deep_index: U16,
    }
}

fields! {
    /// An order of an [`OrdersSnapshot`].
    Order: 40 {
        /// The venue's order id.
        0 order_id: U64,
        /// Rank within its price, lowest first.
        8 priority: U64,
        /// Price in 1e-9.
        16 price: I64,
        /// Visible quantity.
        24 quantity: I64,
        /// Side of the schema.
        32 side: u8,
        /// Not used.
        33 reserved: Zeros<7>,
    }
}

fields! {
    /// A step of an [`OrderUpdate`].
    OrderChange: 40 {
        /// The venue's order id.
        0 order_id: U64,
        /// Rank within its price, lowest first.
        8 priority: U64,
        /// Price in 1e-9.
        16 price: I64,
        /// Visible quantity.
        24 quantity: I64,
        /// Side of the schema.
        32 side: u8,
        /// OrderAction of the schema.
        33 action: u8,
        /// Not used.
        34 reserved: Zeros<6>,
    }
}

const _: () = assert!(size_of::<Header>() + size_of::<TopOfBook>() == 72);
