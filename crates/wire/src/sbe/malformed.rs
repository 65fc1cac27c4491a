//! Why bytes were refused.

use core::fmt;

/// Error in a packet or a message. Small and `Copy`: errors on the path are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// The packet is shorter than its own header.
    PacketHeaderCut,
    /// The packet ends inside the size or the header of a message.
    MessageHeaderCut,
    /// The stated size of a message is smaller than its headers.
    MessageTooSmall,
    /// The stated size of a message exceeds the rest of its packet.
    MessagePastEnd,
    /// A message belongs to a schema that is not this protocol's.
    SchemaUnknown,
    /// The stated size of the root block exceeds its message.
    BlockPastEnd,
    /// The root block is shorter than it was in the oldest schema known.
    BlockTooShort,
    /// The message ends inside the dimensions of a group.
    GroupHeaderCut,
    /// The entries of a group are shorter than they were in the oldest schema known.
    EntryTooShort,
    /// The entries of a group reach beyond their message.
    GroupPastEnd,
    /// Bytes are left after the last group, and no newer schema explains them.
    BytesLeftOver,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PacketHeaderCut => "the packet is shorter than its header",
            Self::MessageHeaderCut => "the packet ends inside a message header",
            Self::MessageTooSmall => "a message is smaller than its own headers",
            Self::MessagePastEnd => "a message reaches beyond its packet",
            Self::SchemaUnknown => "a message of another schema",
            Self::BlockPastEnd => "a root block reaches beyond its message",
            Self::BlockTooShort => "a root block is shorter than its template",
            Self::GroupHeaderCut => "a message ends inside the dimensions of a group",
            Self::EntryTooShort => "a group entry is shorter than its template",
            Self::GroupPastEnd => "a group reaches beyond its message",
            Self::BytesLeftOver => "bytes are left over after the last group",
        })
    }
}

impl core::error::Error for Malformed {}
