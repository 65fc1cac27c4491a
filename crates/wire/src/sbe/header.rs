//! The message header (SBE 1.0, "Message Header").

use zerocopy::FromBytes;
use zerocopy::little_endian::U16;

/// Header that states how to read the message that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// Length of the root block in bytes, by the schema of the writer.
    pub block_length: u16,
    /// Template of the message.
    pub template_id: u16,
    /// Schema of the template.
    pub schema_id: u16,
    /// The version of that schema that the writer used.
    pub version: u16,
}

impl MessageHeader {
    /// Bytes that a header takes: four little-endian 16-bit integers.
    pub const SIZE: usize = 8;

    /// The header at the start of `bytes`, and the bytes after it. `None` if it is truncated.
    #[inline]
    pub fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ([block_length, template_id, schema_id, version], rest) =
            <[U16; 4]>::read_from_prefix(bytes).ok()?;
        let header = Self {
            block_length: block_length.get(),
            template_id: template_id.get(),
            schema_id: schema_id.get(),
            version: version.get(),
        };
        Some((header, rest))
    }
}
