//! Where each byte of a message is: the schema as types, read and written in place.
//!
//! Blocks and entries have an alignment of 1, so a message may lie anywhere; from an address that
//! is a multiple of eight on, every 8-byte field but those of [`TopOfBook`], of the later changes of
//! a [`BookUpdate`] and of the later groups of a [`BookSnapshot`] is aligned all the same. Sizes and offsets are asserted by the compiler
//! and compared with `schemas/touchline.xml` by a test of `xtask`.

use core::fmt;
use zerocopy::little_endian::{I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A root block of a message.
pub trait Block: Fields {
    /// The schema's name of the message.
    const NAME: &'static str;
    /// The number of the message on the wire.
    const TEMPLATE_ID: u16;
    /// Its groups, in order.
    const GROUPS: &'static [GroupLayout];
}

/// Fields in a fixed place: a block or an entry of a group.
pub trait Fields:
    FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned + Copy + fmt::Debug + 'static
{
    /// The fields, in order.
    const FIELDS: &'static [Field];

    /// Bytes of version 0 of the schema: a writer of that version has no more.
    const BASE_BYTES: usize;
}

/// A field as the compiler has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; the schema has the same in camel case.
    pub name: &'static str,
    /// Where it begins.
    pub offset: usize,
    /// What it is.
    pub kind: Kind,
}

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number: `int8` to `uint64` of the schema, also what carries an enum, a set or a price.
    Number(&'static str),
    /// So many characters.
    Text(usize),
    /// Fields of their own, that stand here.
    Fields(&'static [Field]),
    /// Nothing yet; written as zeros, not read.
    Reserved,
}

/// A group as the compiler has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    /// The schema's name of it.
    pub name: &'static str,
    /// Bytes of one entry.
    pub block_length: usize,
    /// Bytes of one entry of version 0 of the schema.
    pub base_length: usize,
    /// Fields of one entry.
    pub fields: &'static [Field],
}

/// A message as the compiler has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLayout {
    /// The schema's name of it.
    pub name: &'static str,
    /// Its number on the wire.
    pub template_id: u16,
    /// Bytes of the root block.
    pub block_length: usize,
    /// Bytes of the root block of version 0 of the schema.
    pub base_length: usize,
    /// Fields of the root block.
    pub fields: &'static [Field],
    /// Its groups, in order.
    pub groups: &'static [GroupLayout],
}

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
];

const fn message<B: Block>() -> MessageLayout {
    MessageLayout {
        name: B::NAME,
        template_id: B::TEMPLATE_ID,
        block_length: size_of::<B>(),
        base_length: B::BASE_BYTES,
        fields: B::FIELDS,
        groups: B::GROUPS,
    }
}

const fn group<E: Fields>(name: &'static str) -> GroupLayout {
    GroupLayout {
        name,
        block_length: size_of::<E>(),
        base_length: E::BASE_BYTES,
        fields: E::FIELDS,
    }
}

/// A type that a field may have.
trait FieldType {
    const KIND: Kind;
}

macro_rules! field_types {
    ($($type:ty => $kind:expr),+ $(,)?) => {
        $(impl FieldType for $type { const KIND: Kind = $kind; })+
    };
}

field_types! {
    u8 => Kind::Number("uint8"),
    i8 => Kind::Number("int8"),
    U16 => Kind::Number("uint16"),
    U32 => Kind::Number("uint32"),
    U64 => Kind::Number("uint64"),
    I32 => Kind::Number("int32"),
    I64 => Kind::Number("int64"),
    Text<6> => Kind::Text(6),
    Text<32> => Kind::Text(32),
    Zeros<2> => Kind::Reserved,
    Zeros<3> => Kind::Reserved,
    Zeros<4> => Kind::Reserved,
    Zeros<6> => Kind::Reserved,
    Zeros<7> => Kind::Reserved,
    Head => Kind::Fields(Head::FIELDS),
    LatencyTrace => Kind::Fields(LatencyTrace::FIELDS),
}

/// Characters of a fixed place.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Text<const N: usize>(pub [u8; N]);

/// Bytes that mean nothing.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Zeros<const N: usize>([u8; N]);

impl<const N: usize> Zeros<N> {
    /// As they are written.
    pub const NEW: Zeros<N> = Zeros([0; N]);
}

/// A struct whose fields lie where the numbers before them say. `from` says how many bytes of it
/// version 0 of the schema has.
macro_rules! fields {
    ($(#[$about:meta])* $name:ident: $size:literal { $($body:tt)+ }) => {
        fields! { $(#[$about])* $name: $size from $size { $($body)+ } }
    };
    ($(#[$about:meta])* $name:ident: $size:literal from $base:literal {
        $($(#[$doc:meta])* $offset:literal $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
        #[repr(C)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type),+
        }

        const _: () = {
            assert!(size_of::<$name>() == $size);
            $(assert!(core::mem::offset_of!($name, $field) == $offset);)+
        };

        impl Fields for $name {
            const FIELDS: &'static [Field] = &[$(Field {
                name: stringify!($field),
                offset: $offset,
                kind: <$type as FieldType>::KIND,
            }),+];
            const BASE_BYTES: usize = $base;
        }
    };
}

/// A root block: the fields, and what the schema says of the message as a whole.
macro_rules! block {
    ($(#[$about:meta])* $name:ident = $id:literal, [$($group:literal: $entry:ty),*], $size:literal $(from $base:literal)? { $($body:tt)+ }) => {
        fields! { $(#[$about])* $name: $size $(from $base)? { $($body)+ } }

        impl Block for $name {
            const NAME: &'static str = stringify!($name);
            const TEMPLATE_ID: u16 = $id;
            const GROUPS: &'static [GroupLayout] = &[$(group::<$entry>($group)),*];
        }
    };
}

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
        /// How many entries follow.
        2 num_in_group: U16,
    }
}

fields! {
    /// What every message begins with.
    Head: 30 {
        /// Number of the message in its publication, without gaps, from 1.
        0 sequence: U64,
        /// When the venue says that the event began, nanoseconds since the Unix epoch; 0 if unknown.
        8 exchange_ns: U64,
        /// When the packet was received, nanoseconds since the Unix epoch.
        16 receive_ns: U64,
        /// Our index of the instrument; `u32::MAX` where the message is of none.
        24 instrument: U32,
        /// How far the book of the message may be trusted after it; 255 where it says nothing on one.
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
        /// When the venue sent it, nanoseconds since the Unix epoch.
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
        /// Packet and marks.
        30 trace: LatencyTrace,
    }
}

block! {
    /// Packets of the venue are lost.
    Gap = 2, [], 97 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and marks.
        30 trace: LatencyTrace,
        /// First lost packet.
        80 first_lost: U64,
        /// Last lost packet.
        88 last_lost: U64,
        /// What order books are from here on.
        96 orders_validity: u8,
    }
}

block! {
    /// Every book is empty and live.
    Reset = 3, [], 80 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and marks.
        30 trace: LatencyTrace,
    }
}

block! {
    /// The venue's download, of definitions and whole books, has begun or ended.
    Download = 4, [], 81 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and marks.
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
        /// Packet and marks.
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
    /// An instrument, defined or defined anew.
    InstrumentDefinition = 10, [], 198 from 196 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and marks.
        30 trace: LatencyTrace,
        /// The venue's identifier.
        80 venue_id: I64,
        /// The smallest price step in 1e-9; `i64::MAX` where not stated.
        88 tick: I64,
        /// The venue's symbol, up to the first zero byte.
        96 symbol: Text<32>,
        /// The product group.
        128 group: Text<32>,
        /// The product.
        160 asset: Text<32>,
        /// Levels a side of the direct book; 255 stands for as many or more.
        192 direct_depth: u8,
        /// Levels a side of the implied book.
        193 implied_depth: u8,
        /// The power of ten of one unit of quantity.
        194 quantity_exponent: i8,
        /// 1 if a definition was seen, 0 if only the identifier is known.
        195 defined: u8,
        /// Levels a side of the direct book, all of them; `u16::MAX` for every level there is.
        196 direct_levels: U16,
    }
}

block! {
    /// A validity alone.
    InstrumentState = 11, [], 80 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and marks.
        30 trace: LatencyTrace,
    }
}

block! {
    /// Trading state of an instrument, or of a group where the head names no instrument.
    TradingStatus = 12, [], 89 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and marks.
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
        /// Packet and marks.
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
        /// Packet and marks.
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
        /// Number of orders at the bid; -1 where not stated.
        120 bid_orders: I32,
        /// Number of orders at the ask; -1 where not stated.
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
    /// The best direct levels alone: 70 bytes with the header.
    TopOfBook = 22, [], 62 {
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
    }
}

block! {
    /// A whole order book.
    OrdersSnapshot = 30, ["orders": Order], 84 {
        /// Number, times, instrument, validity, flags.
        0 head: Head,
        /// Packet and marks.
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
        /// Packet and marks.
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
        /// Packet and marks.
        30 trace: LatencyTrace,
        /// Trade price in 1e-9.
        80 price: I64,
        /// Traded quantity.
        88 quantity: I64,
        /// The venue's trade id; 0 where there is none.
        96 trade_id: U64,
        /// Orders that took part; -1 where not stated.
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
        /// Packet and marks.
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
        /// Place in the list from 0, the best; 255 stands for that place or a worse one.
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

const _: () = assert!(size_of::<Header>() + size_of::<TopOfBook>() == 70);
