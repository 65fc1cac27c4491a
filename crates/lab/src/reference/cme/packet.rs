//! Reads a packet at plain offsets of the specification tables, independently of the generated decoders.
//!
//! A packet is valid if the sizes of its messages add up to its length and every block and group is inside its
//! message; an invalid packet is treated as lost.

use super::block::Block;
use super::message::{self, Message};

/// A valid packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// MsgSeqNum.
    pub sequence: u32,
    /// SendingTime, nanoseconds since 1970.
    pub sending_time: u64,
    /// Messages in order.
    pub messages: Vec<Message>,
}

/// Reads a packet; `None` if it is invalid.
pub fn read(payload: &[u8]) -> Option<Packet> {
    let header = Block(payload.get(..12)?);
    let (sequence, sending_time) = (header.u32(0)?, header.u64(4)?);
    let mut messages = Vec::new();
    let mut rest = &payload[12..];
    while !rest.is_empty() {
        let size = usize::from(Block(rest).u16(0)?);
        if size < 10 || size > rest.len() {
            return None;
        }
        messages.push(read_message(&rest[2..size])?);
        rest = &rest[size..];
    }
    Some(Packet {
        sequence,
        sending_time,
        messages,
    })
}

/// Newest schema version in the tables below.
const NEWEST_VERSION: u16 = 13;

/// Reads one message, from its SBE header on.
fn read_message(bytes: &[u8]) -> Option<Message> {
    let header = Block(bytes);
    let block_length = usize::from(header.u16(0)?);
    let (template, schema, version) = (header.u16(2)?, header.u16(4)?, header.u16(6)?);
    if schema != 1 {
        return None;
    }
    let Some(dimensions) = groups_of(template) else {
        return Some(Message::Unknown);
    };
    let root = Block(bytes.get(8..8 + block_length)?);
    let mut rest = &bytes[8 + block_length..];
    let mut groups = Vec::new();
    for &(dimension, since_version) in dimensions {
        if version < since_version {
            break;
        }
        let (group, behind) = read_group(rest, dimension)?;
        groups.push(group);
        rest = behind;
    }
    if !rest.is_empty() && version <= NEWEST_VERSION {
        return None;
    }
    Some(message::read(template, root, &groups))
}

/// Encoding of the number of entries of a group.
#[derive(Clone, Copy)]
enum Dimension {
    /// Block length u16, count u8.
    Three,
    /// Block length u16, five bytes of padding, count u8.
    Eight,
}

fn read_group(bytes: &[u8], dimension: Dimension) -> Option<(Vec<Block<'_>>, &[u8])> {
    let (count_offset, header_length) = match dimension {
        Dimension::Three => (2, 3),
        Dimension::Eight => (7, 8),
    };
    let block_length = usize::from(Block(bytes).u16(0)?);
    let count = usize::from(Block(bytes).u8(count_offset)?);
    let entries = bytes.get(header_length..)?.get(..block_length * count)?;
    let blocks = (0..count)
        .map(|i| Block(&entries[i * block_length..(i + 1) * block_length]))
        .collect();
    Some((blocks, &bytes[header_length + block_length * count..]))
}

/// Groups of each template of schema versions 5 to 13, in order, each with the version that added it. `None` for an
/// unknown template.
fn groups_of(template: u16) -> Option<&'static [(Dimension, u16)]> {
    use Dimension::{Eight, Three};
    const T: (Dimension, u16) = (Three, 0);
    Some(match template {
        12 | 15 | 16 | 30 => &[],
        4 | 33..=39 | 43 | 44 | 47 | 49..=53 | 59..=62 | 66..=69 => &[T],
        42 | 46 | 48 | 64 | 65 => &[T, (Eight, 0)],
        32 => &[T, (Eight, 7)],
        27 | 54 | 57 => &[T; 4],
        29 | 56 | 63 => &[T; 5],
        41 => &[T, T, T, T, T, (Three, 7)],
        55 => &[T; 6],
        58 => &[T, T, T, T, T, T, (Three, 13)],
        _ => return None,
    })
}
