//! Goes to a place by the indexes of the segments, and over blocks without a selected instrument.

use super::{Error, Reader, TapePlace};
use crate::index::{self, Index, Part, RecordPlace, Start};
use crate::publication::Publication;
use crate::state_bodies::begins_state;
use std::path::Path;
use touchline_journal::format::kind;
use touchline_journal::records::Stream;
use touchline_journal::{Entry, Follow, segment_numbers};

/// Where a reader begins, so that it has the state at a place when it comes there.
enum Begin {
    /// At the first record of the tape.
    Oldest,
    /// At the first record of this segment, which has the state.
    Segment(u64),
    /// At a state.
    State(Start),
}

/// Index of the segment that is read.
pub(super) struct OpenIndex {
    segment: u64,
    index: Option<Index>,
    /// Offset of the next block that may be passed over.
    look_at: u64,
}

impl Reader {
    /// Goes to the last state before a place.
    pub(super) fn seek(&mut self, from: TapePlace) -> Result<(), Error> {
        if self.place.bus.is_none() {
            // The first bus is that of the first record, wherever this reader begins.
            let mut first = Reader::open(&self.path, None)?;
            let publication = first.begin()?;
            self.place.bus = publication.map(|publication| publication.bus.clone());
        }
        let Some(bus) = self.place.bus.clone() else {
            return Ok(());
        };
        let (begin, unindexed) = find(&self.path, &bus, from)?;
        self.unindexed = unindexed;
        match begin {
            Begin::Oldest => {}
            Begin::Segment(segment) => self.follow = Follow::from_segment(&self.path, segment),
            Begin::State(start) => {
                self.follow = Follow::from_segment(&self.path, start.segment);
                let is_there = self.record()?
                    && self.jump(start.stream)?
                    && self.record()?
                    && self.jump(start.state)?;
                if !is_there {
                    self.unindexed += 1;
                    self.follow = Follow::from_segment(&self.path, start.segment);
                }
            }
        }
        Ok(())
    }

    /// Goes to the block of a message in a segment that begins before it, if the segment has an index; else it is read from its start. The
    /// reader has the books up to the message, and needs no state.
    pub(super) fn seek_message(&mut self, segment: u64, next: u64) -> Result<(), Error> {
        let (Some(bus), Ok(index)) = (
            &self.place.bus,
            index::load(&self.path, segment, Part::Places),
        ) else {
            return Ok(());
        };
        let Some(block) = index.reach(bus, TapePlace::Sequence(next)) else {
            return Ok(());
        };
        // The description of the publication, which the segment begins with unless the publication begins behind.
        while self.place.open.is_none() && self.follow.segment() == segment {
            if !self.record()? {
                return Ok(());
            }
        }
        self.jump(block).map(drop)
    }

    fn jump(&mut self, place: RecordPlace) -> Result<bool, Error> {
        let offset = u64::from(place.offset);
        Ok(self.follow.jump(offset, place.number)?)
    }

    /// Passes over blocks without messages of the selected instruments, if the index of the segment says so.
    pub(super) fn skip_blocks(&mut self) -> Result<(), Error> {
        let (Some(only), Some((stream, _))) = (&self.only, &self.place.open) else {
            return Ok(());
        };
        let Some(offset) = self.follow.offset() else {
            return Ok(());
        };
        if self.place.needs_state || self.place.passed.is_within_batch() {
            return Ok(());
        }
        let segment = self.follow.segment();
        if self
            .index
            .as_ref()
            .is_none_or(|open| open.segment != segment)
        {
            self.index = Some(OpenIndex {
                segment,
                index: index::load(&self.path, segment, Part::All).ok(),
                look_at: 0,
            });
        }
        let Some(open) = self.index.as_mut().filter(|open| offset >= open.look_at) else {
            return Ok(());
        };
        let Some(index) = &open.index else {
            return Ok(());
        };
        open.look_at = index.end_of_block(offset);
        if let Some(place) = index.skip(offset, *stream, only.instruments())
            && !self.follow.jump(u64::from(place.offset), place.number)?
        {
            open.index = None;
        }
        Ok(())
    }
}

/// The place at which to begin, and the number of segments whose index had to be built, since its file was missing or wrong.
fn find(directory: &Path, bus: &str, from: TapePlace) -> Result<(Begin, u64), Error> {
    let (mut last, mut unindexed) = (None, 0);
    let begin = |start: Option<Start>| start.map_or(Begin::Oldest, Begin::State);
    for segment in segment_numbers(directory)? {
        let index = match index::load(directory, segment, Part::Places) {
            Ok(index) => index,
            Err(_) => match index::build(directory, segment)? {
                Some(index) => {
                    unindexed += 1;
                    index
                }
                // It is written, or its end was cut off.
                None if begins_with_state(directory, segment, bus)? => {
                    return Ok((Begin::Segment(segment), unindexed));
                }
                None => break,
            },
        };
        match index.reach(bus, from) {
            Some(before) => {
                return Ok((begin(index.start(bus, before.offset).or(last)), unindexed));
            }
            None => last = index.start(bus, u32::MAX).or(last),
        }
    }
    Ok((begin(last), unindexed))
}

/// Whether the first messages of a bus in a segment are its state.
fn begins_with_state(directory: &Path, segment: u64, bus: &str) -> Result<bool, Error> {
    let mut follow = Follow::from_segment(directory, segment);
    let mut streams = Vec::new();
    let mut is_state = None;
    let mut take = |entry: &Entry<'_>| {
        let is_of_bus = streams.contains(&entry.head.stream);
        match entry.head.kind {
            kind::STREAM => {
                let described = Stream::decode(entry.body);
                let publication = described.and_then(|stream| Publication::of(&stream));
                if publication.is_some_and(|publication| publication.bus == bus) {
                    streams.push(entry.head.stream);
                }
            }
            kind::DEFINITIONS if is_of_bus => is_state = Some(begins_state(entry.body)),
            kind::MESSAGES | kind::GAP if is_of_bus => is_state = Some(false),
            _ => {}
        }
        is_state
    };
    let mut found = None;
    while found.is_none() && follow.segment() == segment {
        if follow.poll(u64::MAX, 1, |entry| found = take(entry))? == 0 {
            break;
        }
    }
    Ok(found == Some(true))
}
