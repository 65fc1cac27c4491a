//! Frames by hand.

use touchline_wire::mdp3::{Message, RawMessage};
use touchline_wire::sbe::{Malformed, MessageHeader};

/// Bytes in the making; each method appends.
#[derive(Clone, Debug, Default)]
pub struct Bytes(pub Vec<u8>);

macro_rules! append {
    ($($name:ident),*) => {$(
        pub fn $name(self, number: $name) -> Self {
            self.raw(&number.to_le_bytes())
        }
    )*};
}

impl Bytes {
    append!(u8, i8, u16, i16, u32, i32, u64, i64);

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Text of a fixed length, filled up with zeros.
    pub fn text(self, text: &str, length: usize) -> Self {
        let zeros = vec![0; length - text.len()];
        self.raw(text.as_bytes()).raw(&zeros)
    }

    /// The dimension `groupSize`: three bytes.
    pub fn group(self, block_length: u16, count: u8) -> Self {
        self.u16(block_length).u8(count)
    }

    /// The dimension `groupSize8Byte`: the count is the last of eight bytes.
    pub fn group8(self, block_length: u16, count: u8) -> Self {
        self.u16(block_length).raw(&[0; 5]).u8(count)
    }

    /// SBE header before a body, of schema 1.
    pub fn header(self, block_length: u16, template_id: u16, version: u16) -> Self {
        self.u16(block_length).u16(template_id).u16(1).u16(version)
    }

    /// The message, which begins with its SBE header.
    pub fn message(&self) -> Message<'_> {
        let (header, body) = MessageHeader::split(&self.0).expect("a header");
        let message = Message::parse(RawMessage { header, body }).expect("a right message");
        message.expect("a known template")
    }

    /// View of the message, made by `parse`.
    pub fn view<'a, V>(
        &'a self,
        parse: impl FnOnce(u16, u16, &'a [u8]) -> Result<V, Malformed>,
    ) -> V {
        let (header, body) = MessageHeader::split(&self.0).expect("a header");
        parse(header.block_length, header.version, body).expect("a right message")
    }

    /// The message with its size before it, as in a packet.
    pub fn sized(&self) -> Self {
        Self::default().u16(self.0.len() as u16 + 2).raw(&self.0)
    }
}

/// A packet header, to be followed by messages.
pub fn packet() -> Bytes {
    Bytes::default().u32(4711).u64(1_659_367_870_041_719_045)
}

/// A book update (46) with two entries and one order, in `version`.
pub fn book(version: u16) -> Bytes {
    Bytes::default()
        .header(11, 46, version)
        .u64(1_659_367_870_041_633_809)
        .u8(0b1000_0100)
        .raw(&[0; 2])
        .group(32, 2)
        .i64(4_500_250_000_000)
        .i32(12)
        .i32(118)
        .u32(7)
        .i32(3)
        .u8(1)
        .u8(0)
        .u8(b'0')
        .i32(5)
        .raw(&[0])
        .i64(i64::MAX)
        .i32(i32::MAX)
        .i32(-5)
        .u32(8)
        .i32(i32::MAX)
        .u8(10)
        .u8(2)
        .u8(b'F')
        .i32(i32::MAX)
        .raw(&[0])
        .group8(24, 1)
        .u64(707_132_284_827)
        .u64(16_882_484_350)
        .i32(2)
        .u8(1)
        .u8(0)
        .raw(&[0; 2])
}
