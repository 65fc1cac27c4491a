//! Layout of a block: fields at fixed offsets, with the macros that declare them.

use super::quotes::QuoteStream;
use super::{Head, LatencyTrace};
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

/// A field as the compiler lays it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; the schema has the same in camel case.
    pub name: &'static str,
    /// Its offset.
    pub offset: usize,
    /// Its kind.
    pub kind: Kind,
}

/// Kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number: `int8` to `uint64` of the schema, also for an enum, a set or a price.
    Number(&'static str),
    /// Text of this many bytes.
    Text(usize),
    /// A composite with these fields.
    Fields(&'static [Field]),
    /// Reserved bytes; written as zeros, not read.
    Reserved,
}

/// A group as the compiler lays it out.
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

/// A message as the compiler lays it out.
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
pub(super) const fn message<B: Block>() -> MessageLayout {
    MessageLayout {
        name: B::NAME,
        template_id: B::TEMPLATE_ID,
        block_length: size_of::<B>(),
        base_length: B::BASE_BYTES,
        fields: B::FIELDS,
        groups: B::GROUPS,
    }
}

pub(super) const fn group<E: Fields>(name: &'static str) -> GroupLayout {
    GroupLayout {
        name,
        block_length: size_of::<E>(),
        base_length: E::BASE_BYTES,
        fields: E::FIELDS,
    }
}

/// A type that a field may have.
pub(super) trait FieldType {
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
    Text<16> => Kind::Text(16),
    Text<32> => Kind::Text(32),
    Text<64> => Kind::Text(64),
    Zeros<2> => Kind::Reserved,
    Zeros<3> => Kind::Reserved,
    Zeros<4> => Kind::Reserved,
    Zeros<6> => Kind::Reserved,
    Zeros<7> => Kind::Reserved,
    Zeros<8> => Kind::Reserved,
    Zeros<11> => Kind::Reserved,
    Head => Kind::Fields(Head::FIELDS),
    LatencyTrace => Kind::Fields(LatencyTrace::FIELDS),
    QuoteStream => Kind::Fields(QuoteStream::FIELDS),
}

/// Characters of a fixed place.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Text<const N: usize>(pub [u8; N]);

/// Bytes without a meaning.
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

/// A root block: its fields, and name, template and groups of the message.
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
