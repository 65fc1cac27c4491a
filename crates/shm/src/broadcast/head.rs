//! Header of a frame: one word, stored last.
//!
//! ```text
//!  63                          32 31 30  28 27   24 23                    0
//! ┌──────────────────────────────┬──┬──────┬───────┬───────────────────────┐
//! │ sequence, low half           │1 │ kind │ flags │ payload bytes         │
//! └──────────────────────────────┴──┴──────┴───────┴───────────────────────┘
//! ```
//!
//! Bit 31 is always set, so that no header is zero.

use super::geometry::WORD;

/// Flags of a frame; four bits defined by the publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

/// Last frame of its batch: readers may act.
pub const BATCH_END: Flags = Flags(1);

/// Longest payload that a header can state.
pub const LENGTH_MAX: u64 = (1 << 24) - 1;

const COMMITTED: u64 = 1 << 31;
const KIND_SHIFT: u32 = 28;
const FLAGS_SHIFT: u32 = 24;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message.
    Message = 0,
    /// Padding up to the end of the data; not counted in the sequence.
    Padding = 1,
    /// Start of a new writer; not counted in the sequence. The payload is the generation.
    Generation = 2,
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    pub flags: Flags,
    /// Payload bytes.
    pub length: u64,
    /// Low half of the sequence number of this message, or of the next one for other kinds.
    pub sequence: u32,
}

impl Head {
    /// Payload size, if the word is the header of the message with this number.
    #[inline]
    pub const fn message_length(word: u64, sequence: u64) -> Option<usize> {
        let expected = (sequence as u32 as u64) << 4 | COMMITTED >> KIND_SHIFT;
        if word >> KIND_SHIFT == expected {
            Some((word & LENGTH_MAX) as usize)
        } else {
            None
        }
    }

    /// Flags of a word.
    #[inline]
    pub const fn flags(word: u64) -> Flags {
        Flags((word >> FLAGS_SHIFT) as u8 & 15)
    }

    /// Encoded word; never zero.
    #[inline]
    pub const fn word(self) -> u64 {
        (self.sequence as u64) << 32
            | COMMITTED
            | (self.kind as u64) << KIND_SHIFT
            | ((self.flags.0 & 15) as u64) << FLAGS_SHIFT
            | self.length & LENGTH_MAX
    }

    /// Decodes a word that is not zero; `None` if no writer can have stored it.
    #[inline]
    pub const fn read(word: u64) -> Option<Head> {
        if word & COMMITTED == 0 {
            return None;
        }
        let kind = match (word >> KIND_SHIFT) & 7 {
            0 => Kind::Message,
            1 => Kind::Padding,
            2 => Kind::Generation,
            _ => return None,
        };
        Some(Head {
            kind,
            flags: Head::flags(word),
            length: word & LENGTH_MAX,
            sequence: (word >> 32) as u32,
        })
    }
}

/// Bytes of a frame with a payload of this size.
#[inline]
pub const fn frame_bytes(payload: u64) -> u64 {
    WORD + ((payload + WORD - 1) & !(WORD - 1))
}
