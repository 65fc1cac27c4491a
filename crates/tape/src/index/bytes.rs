//! The bytes of an index file: a head, and four parts with a checksum each. All numbers are little-endian.

use super::{Index, JoinPoint, RecordPlace, Rows, StreamBlock};
use touchline_journal::ClosedSegment;
use touchline_journal::format::{body_crc, u16_at, u32_at, u64_at};
use touchline_journal::records::Begin;

/// First bytes of the file.
const MAGIC: [u8; 8] = [0x89, b'T', b'L', b'I', 0x0d, 0x0a, 0x1a, 0x0a];
const VERSION: u32 = 1;
/// Bytes of the head.
pub(super) const HEAD_BYTES: usize = 112;
/// Offset of the lengths and checksums of the parts.
const PARTS_AT: usize = 80;
/// Blocks, streams, join_points, instruments.
pub(super) const PARTS: usize = 4;
/// The parts that a search for a place needs.
pub(super) const PARTS_OF_PLACES: usize = 3;
const PLACE_BYTES: usize = 8;
const STREAM_BYTES: usize = 24;
const POINT_BYTES: usize = 20;
const ROW_BYTES: usize = 12;
/// `instrument` of the blocks that every reader needs.
const ALL: u32 = u32::MAX;

/// Head of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub segment: ClosedSegment,
    /// Bytes and checksum of each part.
    pub parts: [(u32, u32); PARTS],
}

impl Head {
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let ClosedSegment {
            index,
            salt,
            begin,
            next,
        } = &self.segment;
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let words = [
            *index,
            *salt,
            begin.base,
            begin.first,
            next.base,
            next.first,
        ];
        for (place, word) in bytes[16..64].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[64..68].copy_from_slice(&begin.end_crc.to_le_bytes());
        bytes[68..72].copy_from_slice(&next.end_crc.to_le_bytes());
        for (place, (length, crc)) in bytes[PARTS_AT..].chunks_exact_mut(8).zip(self.parts) {
            place[..4].copy_from_slice(&length.to_le_bytes());
            place[4..].copy_from_slice(&crc.to_le_bytes());
        }
        let crc = crc_of_head(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The head in these bytes; `None` if it does not hold, or is of another version.
    pub fn decode(bytes: &[u8]) -> Option<Head> {
        let bytes: &[u8; HEAD_BYTES] = bytes.get(..HEAD_BYTES)?.try_into().ok()?;
        let holds = bytes[..8] == MAGIC
            && u32_at(bytes, 8) == VERSION
            && u32_at(bytes, 12) == crc_of_head(bytes);
        let begin = |at: usize, crc: usize| Begin {
            base: u64_at(bytes, at),
            first: u64_at(bytes, at + 8),
            end_crc: u32_at(bytes, crc),
        };
        holds.then(|| Head {
            segment: ClosedSegment {
                index: u64_at(bytes, 16),
                salt: u64_at(bytes, 24),
                begin: begin(32, 64),
                next: begin(48, 68),
            },
            parts: std::array::from_fn(|part| {
                let at = PARTS_AT + 8 * part;
                (u32_at(bytes, at), u32_at(bytes, at + 4))
            }),
        })
    }
}

fn crc_of_head(bytes: &[u8; HEAD_BYTES]) -> u32 {
    let mut bytes = *bytes;
    bytes[12..16].fill(0);
    body_crc(&bytes)
}

/// The bytes of an index file.
pub(super) fn encode(index: &Index) -> Vec<u8> {
    let mut parts: [Vec<u8>; PARTS] = Default::default();
    let [blocks, streams, join_points, instruments] = &mut parts;
    for place in &index.blocks {
        put_place(blocks, *place);
    }
    for block in &index.streams {
        streams.extend(block.block.to_le_bytes());
        streams.extend(u32::from(block.stream).to_le_bytes());
        streams.extend(block.received_ns.to_le_bytes());
        streams.extend(block.sequence.to_le_bytes());
    }
    for (stream, place, point) in &index.join_points {
        let (end, name) = match point {
            JoinPoint::Stream(name) => (0, name.as_str()),
            JoinPoint::State(end) => (*end, ""),
        };
        join_points.extend(u32::from(*stream).to_le_bytes());
        put_place(join_points, *place);
        join_points.extend(end.to_le_bytes());
        join_points.extend((name.len() as u32).to_le_bytes());
        join_points.extend(name.as_bytes());
    }
    for ((stream, instrument), row) in &index.instruments {
        instruments.extend(u32::from(*stream).to_le_bytes());
        instruments.extend(instrument.unwrap_or(ALL).to_le_bytes());
        instruments.extend((row.len() as u32).to_le_bytes());
        instruments.extend(row);
    }
    let head = Head {
        segment: index.segment,
        parts: [0, 1, 2, 3].map(|part| {
            let part: &Vec<u8> = &parts[part];
            (part.len() as u32, body_crc(part))
        }),
    };
    let mut bytes = head.encode().to_vec();
    bytes.extend(parts.concat());
    bytes
}

fn put_place(out: &mut Vec<u8>, place: RecordPlace) {
    out.extend(place.offset.to_le_bytes());
    out.extend(place.number.to_le_bytes());
}

/// An index from its head and its first parts, those that a reader needs; `None` if one does not hold.
pub(super) fn decode(head: &Head, bytes: &[u8], parts: usize) -> Option<Index> {
    let mut rest = bytes;
    let mut read: [&[u8]; PARTS] = [&[]; PARTS];
    for (part, (length, crc)) in read.iter_mut().zip(head.parts).take(parts) {
        let (bytes, behind) = rest.split_at_checked(length as usize)?;
        if body_crc(bytes) != crc {
            return None;
        }
        (*part, rest) = (bytes, behind);
    }
    let [blocks, streams, join_points, instruments] = read;
    Some(Index {
        segment: head.segment,
        blocks: blocks.chunks_exact(PLACE_BYTES).map(place).collect(),
        streams: streams.chunks_exact(STREAM_BYTES).map(stream).collect(),
        join_points: decode_join_points(join_points)?,
        instruments: decode_instruments(instruments)?,
    })
}

fn place(bytes: &[u8]) -> RecordPlace {
    RecordPlace {
        offset: u32_at(bytes, 0),
        number: u32_at(bytes, 4),
    }
}

fn stream(bytes: &[u8]) -> StreamBlock {
    StreamBlock {
        block: u32_at(bytes, 0),
        stream: u16_at(bytes, 4),
        received_ns: u64_at(bytes, 8),
        sequence: u64_at(bytes, 16),
    }
}

fn decode_join_points(mut bytes: &[u8]) -> Option<Vec<(u16, RecordPlace, JoinPoint)>> {
    let mut join_points = Vec::new();
    while let Some((point, rest)) = bytes.split_at_checked(POINT_BYTES) {
        let (name, behind) = rest.split_at_checked(u32_at(point, 16) as usize)?;
        let name = std::str::from_utf8(name).ok()?;
        join_points.push((
            u16_at(point, 0),
            place(&point[4..]),
            match (u32_at(point, 12), name) {
                (end, "") => JoinPoint::State(end),
                (_, name) => JoinPoint::Stream(name.to_owned()),
            },
        ));
        bytes = behind;
    }
    bytes.is_empty().then_some(join_points)
}

fn decode_instruments(mut bytes: &[u8]) -> Option<Rows> {
    let mut instruments = Rows::new();
    while let Some((head, rest)) = bytes.split_at_checked(ROW_BYTES) {
        let (row, behind) = rest.split_at_checked(u32_at(head, 8) as usize)?;
        let instrument = Some(u32_at(head, 4)).filter(|instrument| *instrument != ALL);
        instruments.insert((u16_at(head, 0), instrument), row.to_vec());
        bytes = behind;
    }
    bytes.is_empty().then_some(instruments)
}
