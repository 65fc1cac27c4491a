//! Index of a closed segment: which of its blocks have a time, a message or an instrument, and where a reader may begin.
//!
//! It follows from the segment, and may be removed at any time. It names the segment that it is of, and a reader verifies each record that it
//! goes to: a wrong index costs time, and no record.

mod build;
mod bytes;
mod file;

use crate::reader::TapePlace;
use std::collections::BTreeMap;
use touchline_journal::ClosedSegment;

pub(crate) use build::build;
pub use file::{IndexFile, index_segments, verify_indexes};
pub(crate) use file::{Part, load};

/// Bytes of a block; it begins with the first record at or behind a multiple of them. A block of a compressed segment has as many.
pub(crate) const BLOCK_BYTES: u64 = 256 << 10;

/// In place of a stream: blocks that readers of every stream need, since a stream begins there.
pub(crate) const ANY: u16 = 0;

/// Place of a record in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPlace {
    pub offset: u32,
    pub number: u32,
}

/// Messages of a stream in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamBlock {
    pub block: u32,
    pub stream: u16,
    /// Largest receive time, ns since the Unix epoch; 0 without one.
    pub received_ns: u64,
    /// Largest number.
    pub sequence: u64,
}

/// A record at which a reader of a stream may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JoinPoint {
    /// The stream is described: name of its bus.
    Stream(String),
    /// A state begins, which ends before this offset.
    State(u32),
}

/// Blocks by stream and instrument, a bit each.
pub(crate) type Rows = BTreeMap<(u16, Option<u32>), Vec<u8>>;

/// Index of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Index {
    pub segment: ClosedSegment,
    /// First record of each block; the last one is the `End` of the segment.
    pub blocks: Vec<RecordPlace>,
    /// By block and stream.
    pub streams: Vec<StreamBlock>,
    /// In the order of the segment.
    pub join_points: Vec<(u16, RecordPlace, JoinPoint)>,
    /// Blocks of an instrument of a stream, a bit each. Without an instrument: blocks that every reader of the stream needs.
    pub instruments: Rows,
}

/// Where to begin in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    pub segment: u64,
    /// Description of the stream.
    pub stream: RecordPlace,
    /// Its state.
    pub state: RecordPlace,
}

impl Index {
    /// Streams of a bus.
    fn streams_of(&self, bus: &str) -> Vec<u16> {
        let of_bus = self.join_points.iter().filter_map(|(stream, _, point)| {
            let is_of = matches!(point, JoinPoint::Stream(name) if name == bus);
            is_of.then_some(*stream)
        });
        of_bus.collect()
    }

    /// The first block in which a message of the bus may reach this place; `None` if none does.
    pub fn reach(&self, bus: &str, place: TapePlace) -> Option<RecordPlace> {
        let streams = self.streams_of(bus);
        let reaches = |block: &&StreamBlock| {
            streams.contains(&block.stream)
                && match place {
                    TapePlace::Time(ns) => block.received_ns >= ns,
                    TapePlace::Sequence(sequence) => block.sequence >= sequence,
                    TapePlace::Position(position) => self.end_of(block.block) > position,
                }
        };
        let first = self.streams.iter().find(reaches)?;
        self.blocks.get(first.block as usize).copied()
    }

    /// Position behind a block.
    fn end_of(&self, block: u32) -> u64 {
        let next = self.blocks.get(block as usize + 1);
        next.map_or(self.segment.next.base, |next| {
            self.segment.begin.base + u64::from(next.offset)
        })
    }

    /// The last state of the bus that ends at or before this offset.
    pub fn start(&self, bus: &str, before: u32) -> Option<Start> {
        let streams = self.streams_of(bus);
        let states = self.join_points.iter().rev();
        let (stream, state, _) = states
            .filter(|(stream, _, _)| streams.contains(stream))
            .find(|(_, _, point)| matches!(point, JoinPoint::State(end) if *end <= before))?;
        let described = self.join_points.iter().rfind(|(of, place, point)| {
            of == stream && place.offset < state.offset && matches!(point, JoinPoint::Stream(_))
        })?;
        Some(Start {
            segment: self.segment.index,
            stream: described.1,
            state: *state,
        })
    }

    /// Offset behind the block of this offset.
    pub fn end_of_block(&self, offset: u64) -> u64 {
        let behind = |place: &RecordPlace| u64::from(place.offset) <= offset;
        let next = self.blocks.get(self.blocks.partition_point(behind));
        next.map_or(u64::MAX, |next| u64::from(next.offset))
    }

    /// The first block behind this offset that a reader of these instruments needs, if it does not need the block of the offset.
    pub fn skip(
        &self,
        offset: u64,
        stream: u16,
        instruments: impl Iterator<Item = u32>,
    ) -> Option<RecordPlace> {
        let behind = |place: &RecordPlace| u64::from(place.offset) <= offset;
        let block = self.blocks.partition_point(behind).checked_sub(1)?;
        let end = self.blocks.len() - 1;
        let keys = instruments.map(|instrument| (stream, Some(instrument)));
        let keys = keys.chain([(stream, None), (ANY, None)]);
        let rows: Vec<&Vec<u8>> = keys.filter_map(|key| self.instruments.get(&key)).collect();
        let is_needed = |block: &usize| rows.iter().any(|row| has(row, *block));
        // mutant: tape: an index skips a block too many
        let next = (block..end).find(is_needed).unwrap_or(end);
        (next > block).then(|| self.blocks[next])
    }
}

/// Whether a row of bits has a block.
fn has(row: &[u8], block: usize) -> bool {
    row.get(block / 8)
        .is_some_and(|byte| byte & 1 << (block % 8) != 0)
}
