//! File format of a session store, version 2.
//!
//! ```text
//! file    magic 8 | slot | slot | record | record | …
//! slot    crc u32 | epoch u32 | next_in u64 | turn u8 | next_out 7 bytes
//! record  crc of the message u32 | length u32 | crc of the head u32 | epoch u16 | number 6 bytes | message
//! ```
//!
//! Integers are little-endian. Each checksum covers a range whose length is fixed or covered itself: a change of any
//! one byte fails a checksum, and a length is used only after its checksum was checked.

use super::checksum::crc32;

/// The last byte is the version.
pub const MAGIC: [u8; 8] = *b"TLFIX\0\0\x02";
pub const SLOT: usize = 24;
/// Bytes before the first record.
pub const HEAD: u64 = 8 + 2 * SLOT as u64;
pub const RECORD_HEAD: usize = 20;
/// Maximum size of a message; a longer one is not written, and a record with a longer length is damaged.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 24;

/// Sequence numbers at one moment. Two slots are written alternately; the one with the later turn is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Incremented by each reset; records of earlier epochs do not count.
    pub epoch: u32,
    pub next_in: u64,
    /// Lower bound: every message below this number has a complete record, or was removed by a rewrite.
    pub next_out: u64,
    /// Incremented by each write; wraps.
    pub turn: u8,
}

impl Slot {
    pub const FIRST: Slot = Slot {
        epoch: 1,
        next_in: 1,
        next_out: 1,
        turn: 0,
    };

    /// The slot as bytes, and its position in the file.
    pub fn encode(&self) -> ([u8; SLOT], u64) {
        let mut bytes = [0; SLOT];
        bytes[4..8].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.next_in.to_le_bytes());
        let last = self.next_out << 8 | u64::from(self.turn);
        bytes[16..].copy_from_slice(&last.to_le_bytes());
        let sum = crc32(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        (bytes, 8 + u64::from(self.turn % 2) * SLOT as u64)
    }

    /// `None`: the checksum is wrong.
    pub fn decode(bytes: &[u8]) -> Option<Slot> {
        let last = long(&bytes[16..24]);
        (crc32(&bytes[4..SLOT]) == word(&bytes[..4])).then(|| Slot {
            epoch: word(&bytes[4..8]),
            next_in: long(&bytes[8..16]),
            next_out: last >> 8,
            turn: last as u8,
        })
    }
}

/// Header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHead {
    pub message_sum: u32,
    pub length: u32,
    pub epoch: u16,
    pub number: u64,
}

impl RecordHead {
    pub fn of(number: u64, epoch: u32, message: &[u8]) -> RecordHead {
        RecordHead {
            message_sum: crc32(message),
            length: message.len() as u32,
            epoch: epoch as u16,
            number,
        }
    }

    pub fn encode(&self) -> [u8; RECORD_HEAD] {
        let mut bytes = [0; RECORD_HEAD];
        bytes[..4].copy_from_slice(&self.message_sum.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        let last = self.number << 16 | u64::from(self.epoch);
        bytes[12..].copy_from_slice(&last.to_le_bytes());
        let sum = head_sum(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// `None`: the checksum of the header is wrong, or the length exceeds the maximum.
    pub fn decode(bytes: &[u8; RECORD_HEAD]) -> Option<RecordHead> {
        let last = long(&bytes[12..]);
        let head = RecordHead {
            message_sum: word(&bytes[..4]),
            length: word(&bytes[4..8]),
            epoch: last as u16,
            number: last >> 16,
        };
        let is_sound = head_sum(bytes) == word(&bytes[8..12]);
        (is_sound && head.length <= MESSAGE_BYTES_MAX).then_some(head)
    }

    /// Size of the record, bytes.
    pub fn record_bytes(&self) -> u64 {
        RECORD_HEAD as u64 + u64::from(self.length)
    }
}

/// Checksum of the header without its checksum field.
fn head_sum(bytes: &[u8; RECORD_HEAD]) -> u32 {
    let mut covered = [0; RECORD_HEAD - 4];
    covered[..8].copy_from_slice(&bytes[..8]);
    covered[8..].copy_from_slice(&bytes[12..]);
    crc32(&covered)
}

fn word(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn long(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |long, byte| long << 8 | u64::from(*byte))
}
