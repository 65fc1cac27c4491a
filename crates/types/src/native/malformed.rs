//! Reasons why bytes are not a message.

use core::fmt;

/// Reason of a refused message, no part of which was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than a header.
    HeaderCut,
    /// The header names another schema.
    SchemaUnknown,
    /// The root block ends behind the message.
    BlockPastEnd,
    /// The root block is shorter than in any version.
    BlockTooShort,
    /// The message ends inside the header of a group.
    DimensionCut,
    /// The entries of a group are shorter than in any version.
    EntryTooShort,
    /// The entries of a group end behind the message.
    GroupPastEnd,
    /// Bytes follow the last group, although the writer's schema is not newer.
    BytesLeftOver,
    /// A field has an undefined value; the schema's name of the field.
    Value(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Malformed::HeaderCut => "it ends inside the header",
            Malformed::SchemaUnknown => "the header names another schema",
            Malformed::BlockPastEnd => "the root block ends behind the message",
            Malformed::BlockTooShort => "the root block is too short",
            Malformed::DimensionCut => "it ends inside the header of a group",
            Malformed::EntryTooShort => "the entries of a group are too short",
            Malformed::GroupPastEnd => "a group ends behind the message",
            Malformed::BytesLeftOver => "bytes follow the last group",
            Malformed::Value(field) => {
                return write!(f, "not a native message: '{field}' is out of range");
            }
        };
        write!(f, "not a native message: {what}")
    }
}

impl core::error::Error for Malformed {}
