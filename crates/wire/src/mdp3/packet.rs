//! The packet: a header, then messages that tile the rest exactly (CME, "MDP 3.0 - Packet Structure").
//!
//! ```text
//! | sequence u32 | sending time u64 | size u16 | SBE header 8 | body | size u16 | ...
//!                                     ^ counts itself, the header and the body
//! ```

use super::{Message, SCHEMA_ID};
use crate::sbe::{Malformed, MessageHeader};
use core::iter::FusedIterator;
use core::ops::Deref;
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32, U64};

/// A packet that was checked from end to end: each message becomes a view once, when it is handled, and that cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The header before the messages.
    pub header: PacketHeader,
    messages: &'a [u8],
}

/// The technical header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// Numbers the packets of a channel, the same on both lines.
    pub sequence: u32,
    /// Sending time of the venue, nanoseconds since 1970-01-01 UTC.
    pub sending_time_ns: u64,
}

/// One message of a packet, whose body is not checked yet.
#[derive(Clone, Copy, Debug)]
pub struct RawMessage<'a> {
    /// Header of the message.
    pub header: MessageHeader,
    /// Bytes after the header: root block and groups.
    pub body: &'a [u8],
}

/// Message of a packet that was checked from end to end: its view cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct CheckedMessage<'a>(RawMessage<'a>);

impl<'a> CheckedMessage<'a> {
    /// Bytes of the message in the packet.
    #[inline]
    #[must_use]
    pub const fn raw(&self) -> RawMessage<'a> {
        self.0
    }

    /// Block length, version and body, for the view of template `template_id`. An assertion holds that it is that one's.
    #[inline(always)]
    pub(crate) fn of(self, template_id: u16) -> (u16, u16, &'a [u8]) {
        let RawMessage { header, body } = self.0;
        assert_eq!(
            header.template_id, template_id,
            "a view is of the template of its message"
        );
        (header.block_length, header.version, body)
    }
}

impl<'a> Deref for CheckedMessage<'a> {
    type Target = RawMessage<'a>;

    #[inline]
    fn deref(&self) -> &RawMessage<'a> {
        &self.0
    }
}

impl<'a> Packet<'a> {
    /// Reads the header of a packet and checks all its messages. A packet without messages is valid.
    ///
    /// # Errors
    /// Messages that do not tile the packet, a schema other than [`SCHEMA_ID`], and any message of a known template that
    /// [`Message::parse`] refuses. One bad message makes the whole packet invalid: it counts as not received.
    #[inline(never)]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, messages) = PacketHeader::split(bytes).ok_or(Malformed::PacketHeaderCut)?;
        let mut rest = messages;
        while !rest.is_empty() {
            let message;
            (message, rest) = RawMessage::split(rest)?;
            if message.header.schema_id != SCHEMA_ID {
                return Err(Malformed::SchemaUnknown);
            }
            Message::check(message)?;
        }
        Ok(Self { header, messages })
    }

    /// The messages in the order of the packet.
    #[inline]
    pub const fn messages(&self) -> Messages<'a> {
        Messages {
            rest: self.messages,
        }
    }
}

impl PacketHeader {
    /// Bytes that a packet header takes.
    pub const SIZE: usize = 12;

    /// The header alone, of a packet whose messages are not checked yet. `None` if it is truncated.
    #[inline]
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        Self::split(bytes).map(|(header, _)| header)
    }

    #[inline]
    fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (sequence, bytes) = U32::read_from_prefix(bytes).ok()?;
        let (sending_time_ns, bytes) = U64::read_from_prefix(bytes).ok()?;
        Some((
            Self {
                sequence: sequence.get(),
                sending_time_ns: sending_time_ns.get(),
            },
            bytes,
        ))
    }
}

impl<'a> RawMessage<'a> {
    /// Minimum size of a message: the size field and the SBE header.
    pub const SIZE_MIN: usize = 2 + MessageHeader::SIZE;

    /// The message at the start of `bytes`, and the bytes after it.
    #[inline(always)]
    fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let (size, _) = U16::read_from_prefix(bytes).map_err(|_| Malformed::MessageHeaderCut)?;
        let size = usize::from(size.get());
        if size < Self::SIZE_MIN {
            return Err(Malformed::MessageTooSmall);
        }
        if bytes.len() < Self::SIZE_MIN {
            return Err(Malformed::MessageHeaderCut);
        }
        let (message, rest) = bytes
            .split_at_checked(size)
            .ok_or(Malformed::MessagePastEnd)?;
        let (header, body) =
            MessageHeader::split(&message[2..]).ok_or(Malformed::MessageTooSmall)?;
        Ok((Self { header, body }, rest))
    }
}

/// Iterator over the messages of a [`Packet`].
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = CheckedMessage<'a>;

    #[inline]
    fn next(&mut self) -> Option<CheckedMessage<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (message, rest) =
            RawMessage::split(self.rest).expect("messages fill a checked packet without a rest");
        self.rest = rest;
        Some(CheckedMessage(message))
    }
}

impl FusedIterator for Messages<'_> {}
