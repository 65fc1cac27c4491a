//! Simple Binary Encoding 1.0 (FIX Trading Community), the part that is needed at run time.
//!
//! A message is a header, a root block, and groups of entries. Writers of a newer schema may make blocks longer
//! and add groups at the end; readers of an older one skip what they do not know:
//!
//! ```text
//! | header | root block ... extension | dimension | entry ... ext | entry ... ext | dimension | ...
//!            ^ fixed     ^ later        ^ block length, count
//! ```
//!
//! [`Block`] and [`Group`] hold these rules; generated views are thin names above them. A [`Message`] is read through the
//! table of its [`Template`] in place of a view.

mod block;
pub(crate) mod calendar;
mod decimal;
mod group;
mod header;
mod malformed;
pub(crate) mod template;
mod text;
pub(crate) mod value;

pub use block::Block;
pub use calendar::UtcTime;
pub use decimal::Decimal;
pub use group::{Dimension, Entries, Entry, Group, GroupSize, GroupSize8Byte, GroupSizeEncoding};
pub use header::MessageHeader;
pub use malformed::Malformed;
pub use template::{Field, Fields, GroupTable, Message, TableGroup, Template};
pub use text::Text;
pub use value::{Value, Visitor};

/// Imports of a generated file; not meant for hand-written code.
pub(crate) mod codec {
    pub(crate) use super::block::{Block, end, present};
    pub(crate) use super::group::*;
    pub(crate) use super::value::Value;
    pub(crate) use super::{Decimal, Malformed, Text};
    pub(crate) use zerocopy::little_endian::{I16, I32, I64, U16, U32, U64};
    pub(crate) use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};
}
