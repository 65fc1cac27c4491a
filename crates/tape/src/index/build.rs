//! An index from the records of its segment.

use super::{ANY, BLOCK_BYTES, Index, JoinPoint, RecordPlace, Rows, StreamBlock};
use crate::messages::Messages;
use crate::publication::Publication;
use crate::state_bodies::begins_state;
use std::collections::BTreeMap;
use std::path::Path;
use touchline_journal::format::kind;
use touchline_journal::records::{Begin, Stream};
use touchline_journal::{Entry, Error, Follow};
use touchline_types::native::{Body, Message};

/// Reads a segment; `None` if it is not there, or has no `End`.
///
/// # Errors
/// The segment cannot be read.
pub(crate) fn build(directory: &Path, segment: u64) -> Result<Option<Index>, Error> {
    let mut follow = Follow::from_segment(directory, segment);
    let mut builder = Builder::default();
    while follow.segment() == segment {
        if follow.poll(u64::MAX, 1, |entry| builder.take(entry))? == 0 {
            return Ok(None);
        }
    }
    Ok(follow.closed().map(|segment| Index {
        segment,
        blocks: builder.blocks,
        streams: builder.streams,
        join_points: builder.join_points,
        instruments: builder.instruments,
    }))
}

#[derive(Default)]
struct Builder {
    base: u64,
    blocks: Vec<RecordPlace>,
    streams: Vec<StreamBlock>,
    join_points: Vec<(u16, RecordPlace, JoinPoint)>,
    /// Begin of a state whose end was not read, by stream.
    states: BTreeMap<u16, RecordPlace>,
    instruments: Rows,
}

impl Builder {
    fn take(&mut self, entry: &Entry<'_>) {
        let (head, stream) = (&entry.head, entry.head.stream);
        if let Some(begin) = Begin::decode(entry.body).filter(|_| head.kind == kind::BEGIN) {
            self.base = begin.base;
        }
        let offset = entry.position.unwrap_or(0) - self.base;
        // A segment has at most 4 GiB.
        let place = RecordPlace {
            offset: offset as u32,
            number: head.number,
        };
        let block_of = |place: &RecordPlace| u64::from(place.offset) / BLOCK_BYTES;
        let before = self.blocks.last().map(block_of);
        if head.kind == kind::END || before != Some(block_of(&place)) {
            self.blocks.push(place);
        }
        match head.kind {
            kind::STREAM => {
                let described = Stream::decode(entry.body);
                let publication = described.and_then(|stream| Publication::of(&stream));
                if let Some(publication) = publication {
                    self.join_points
                        .push((stream, place, JoinPoint::Stream(publication.bus)));
                }
                self.needed(ANY, None);
            }
            kind::GAP => {
                self.states.remove(&stream);
                self.needed_by_all(stream);
            }
            kind::DEFINITIONS if entry.body.is_empty() => {
                if let Some(begin) = self.states.remove(&stream) {
                    let end = place.offset.saturating_add(head.length);
                    self.join_points
                        .push((stream, begin, JoinPoint::State(end)));
                }
            }
            kind::DEFINITIONS if begins_state(entry.body) => {
                self.states.insert(stream, place);
            }
            kind::MESSAGES => self.messages(stream, entry.body),
            _ => {}
        }
    }

    fn messages(&mut self, stream: u16, body: &[u8]) {
        let block = self.blocks.len() as u32 - 1;
        let known = self.streams.iter_mut().rev();
        let mut known = known.take_while(|known| known.block == block);
        let mut largest = match known.find(|known| known.stream == stream) {
            Some(known) => *known,
            None => StreamBlock {
                block,
                stream,
                received_ns: 0,
                sequence: 0,
            },
        };
        for message in Messages::of(body).filter_map(|bytes| Message::parse(bytes).ok()) {
            let received_ns = message.timestamps().packet.receive_ns;
            largest.received_ns = largest.received_ns.max(received_ns);
            largest.sequence = largest.sequence.max(message.sequence());
            // A reader learns from a definition whether it has selected the instrument.
            let is_of_all = matches!(message.body, Body::InstrumentDefinition(_));
            match message.instrument().filter(|_| !is_of_all) {
                Some(instrument) => self.needed(stream, Some(instrument.0)),
                None if is_heartbeat(&message) => {}
                None => self.needed_by_all(stream),
            }
        }
        let known = self.streams.iter_mut().rev();
        let mut known = known.take_while(|known| known.block == block);
        match known.find(|known| known.stream == stream) {
            Some(known) => *known = largest,
            None => self.streams.push(largest),
        }
    }

    fn needed_by_all(&mut self, stream: u16) {
        self.needed(stream, None);
    }

    /// The present block has a message of an instrument.
    fn needed(&mut self, stream: u16, instrument: Option<u32>) {
        let block = self.blocks.len() - 1;
        let row = self.instruments.entry((stream, instrument)).or_default();
        if row.len() <= block / 8 {
            row.resize(block / 8 + 1, 0);
        }
        row[block / 8] |= 1 << (block % 8);
    }
}

/// Whether a message only says that the publication lives, or that a batch has ended.
fn is_heartbeat(message: &Message<'_>) -> bool {
    matches!(message.body, Body::Heartbeat)
}
