//! Judgement at a start: walks frame by frame only the segments with records that may be missing on the disk.
//!
//! A claim in a later segment states that a whole segment was durable. Of such a segment the start reads header,
//! `Begin` and `End` only, so that its time depends on the last segments and not on the size of the journal. Any
//! unexpected value there makes the start walk every segment.

use super::{
    Chain, Judgement, PrefixEnd, SegmentInfo, SegmentState, Walk, judge_with, segment_indexes,
};
use crate::disk::{Disk, SegmentBuffer};
use crate::error::Error;
use crate::format::{
    END_BYTES, FrameHead, HEAD_BYTES, HEADER_BYTES, SegmentHeader, body_crc, kind, segment_name,
    u32_at,
};
use crate::records::{Begin, End};
use crate::walk::{Cursor, Frame, SegmentBytes};

/// Bytes of a segment in which a claim is searched first.
const FIRST_FRAMES_BYTES: u64 = 256 << 10;
/// Bytes of a header and of the `Begin` behind it.
const START_BYTES: usize = HEADER_BYTES + HEAD_BYTES + Begin::BYTES;

/// Walks the segments from the last claim on, and the others by their ends. `walked_from` of the judgement is the first
/// segment of which every frame was verified.
///
/// # Errors
/// As [`judge_with`].
pub(crate) fn judge_recent<D: Disk>(disk: &mut D) -> Result<Judgement, Error> {
    let indexes = segment_indexes(disk)?;
    let walked_from = first_to_walk(disk, &indexes)?;
    judge_from(disk, &indexes, walked_from, &mut |_, _| {})
}

/// Walks the segments from the one with the frame of this sequence on, and gives their records to `each`; earlier
/// segments are passed by their ends.
///
/// # Errors
/// As [`judge_with`].
pub(crate) fn judge_from_sequence<D: Disk>(
    disk: &mut D,
    sequence: u64,
    each: &mut impl FnMut(&SegmentInfo, &Frame<'_>),
) -> Result<Judgement, Error> {
    let indexes = segment_indexes(disk)?;
    let mut walked_from = indexes.first().copied().unwrap_or(0);
    for index in indexes.iter().rev() {
        let start = start_of(disk, *index)?;
        if start.is_some_and(|(_, begin)| begin.first <= sequence) {
            walked_from = *index;
            break;
        }
    }
    judge_from(disk, &indexes, walked_from, each)
}

fn judge_from<D: Disk>(
    disk: &mut D,
    indexes: &[u64],
    walked_from: u64,
    each: &mut impl FnMut(&SegmentInfo, &Frame<'_>),
) -> Result<Judgement, Error> {
    let (mut walk, mut buffer) = (Walk::over(disk, indexes)?, SegmentBuffer::default());
    for (number, index) in indexes.iter().enumerate() {
        if *index < walked_from {
            let next = indexes[number + 1];
            if !walk.pass(disk, *index, next)? {
                return judge_with(disk, each);
            }
            continue;
        }
        let name = segment_name(*index);
        let bytes = buffer.read(disk, &name);
        walk.segment(*index, bytes.map_err(Error::io("read", &name))?, each)?;
    }
    Ok(Judgement {
        walked_from,
        ..walk.finish()
    })
}

/// The last segment with a claim that everything before it is durable; the first segment if no segment has such a
/// claim.
fn first_to_walk<D: Disk>(disk: &mut D, indexes: &[u64]) -> Result<u64, Error> {
    for index in indexes.iter().rev() {
        let name = segment_name(*index);
        // The walk finds faults of headers, and only the walk reads a prepared segment.
        let Some((header, begin)) = begun(disk, &name)? else {
            continue;
        };
        // mutant: simulation: a start verifies the last segment alone
        if claims_all_before(disk, &name, &header, &begin)? {
            return Ok(*index);
        }
    }
    Ok(indexes.first().copied().unwrap_or(0))
}

/// Whether a frame of a segment claims that everything before the segment is durable.
fn claims_all_before<D: Disk>(
    disk: &mut D,
    name: &str,
    header: &SegmentHeader,
    begin: &Begin,
) -> Result<bool, Error> {
    let is_claimed = |bytes: &[u8]| {
        let segment = SegmentBytes { header, bytes };
        let heads = segment.heads_from(HEADER_BYTES as u64);
        let mut claims = heads.filter_map(|(at, head)| head.claim(begin.base + at));
        claims.any(|claim| claim >= begin.base)
    };
    // One of the first frames usually has the claim.
    let length = disk.length(name).map_err(Error::io("examine", name))?;
    let mut bytes = vec![0; length.min(FIRST_FRAMES_BYTES) as usize];
    disk.read(name, 0, &mut bytes)
        .map_err(Error::io("read", name))?;
    if is_claimed(&bytes) {
        return Ok(true);
    }
    let bytes = disk.read_all(name).map_err(Error::io("read", name))?;
    Ok(is_claimed(&bytes))
}

/// The last segment whose header and `Begin` hold, behind the segment of this number.
pub(crate) fn last_begun<D: Disk>(disk: &mut D, index: u64) -> Result<Option<u64>, Error> {
    let indexes = segment_indexes(disk)?;
    for last in indexes.into_iter().rev().filter(|last| *last > index) {
        if begun(disk, &segment_name(last))?.is_some() {
            return Ok(Some(last));
        }
    }
    Ok(None)
}

/// Header and `Begin` of a segment, if one copy of the header holds.
fn begun<D: Disk>(disk: &mut D, name: &str) -> Result<Option<(SegmentHeader, Begin)>, Error> {
    let length = disk.length(name).map_err(Error::io("examine", name))?;
    let mut bytes = vec![0; length.min(START_BYTES as u64) as usize];
    disk.read(name, 0, &mut bytes)
        .map_err(Error::io("read", name))?;
    let Ok((header, _)) = SegmentHeader::decode(&bytes) else {
        return Ok(None);
    };
    let begin = begin_in(&header, &bytes);
    Ok(begin.map(|(begin, _)| (header, begin)))
}

/// The `Begin` in the first bytes of a segment, with its head.
fn begin_in(header: &SegmentHeader, bytes: &[u8]) -> Option<(Begin, FrameHead)> {
    let rest = bytes.get(HEADER_BYTES..)?;
    let head = FrameHead::decode(rest, header.salt, HEADER_BYTES as u64)?;
    let body = rest.get(HEAD_BYTES..head.length as usize)?;
    let holds = head.kind == kind::BEGIN && head.number == 0 && body_crc(body) == head.body_crc;
    Begin::decode(body)
        .filter(|_| holds)
        .map(|begin| (begin, head))
}

/// Header and `Begin` of a segment, if both copies of the header hold and are of this file.
fn start_of<D: Disk>(disk: &mut D, index: u64) -> Result<Option<(SegmentHeader, Begin)>, Error> {
    let name = segment_name(index);
    let length = disk.length(&name).map_err(Error::io("examine", &name))?;
    if length < START_BYTES as u64 {
        return Ok(None);
    }
    let mut bytes = [0; START_BYTES];
    disk.read(&name, 0, &mut bytes)
        .map_err(Error::io("read", &name))?;
    let Ok((header, [true, true])) = SegmentHeader::decode(&bytes) else {
        return Ok(None);
    };
    if header.index != index || header.file_bytes != length {
        return Ok(None);
    }
    let begin = begin_in(&header, &bytes);
    Ok(begin.map(|(begin, _)| (header, begin)))
}

/// Whether a segment has this salt, this `Begin`, and the `End` that the `Begin` behind it names.
pub(crate) fn is_closed<D: Disk>(
    disk: &mut D,
    index: u64,
    salt: u64,
    begin: &Begin,
    next: &Begin,
) -> Result<bool, Error> {
    let start = start_of(disk, index)?;
    let Some((header, _)) = start.filter(|(header, of)| header.salt == salt && of == begin) else {
        return Ok(false);
    };
    Ok(end_of(disk, &header, begin, next)?.is_some())
}

impl Walk {
    /// Passes a segment that is durable as a whole by its `Begin`, its `End`, and the `Begin` of the next segment;
    /// `false` if one of them is wrong.
    fn pass<D: Disk>(&mut self, disk: &mut D, index: u64, next: u64) -> Result<bool, Error> {
        let Some((header, begin)) = start_of(disk, index)? else {
            return Ok(false);
        };
        let Some((_, next_begin)) = start_of(disk, next)?.filter(|_| next == index + 1) else {
            return Ok(false);
        };
        let is_first = self.segments.is_empty();
        let expected = Chain {
            base: begin.base,
            first: begin.first,
            end_crc: begin.end_crc,
        };
        let continues = match self.chain {
            Some(chain) => chain == expected,
            // Older segments may have been removed.
            None => is_first && (index > 1 || expected == Chain::default()),
        };
        let is_ours = *self.journal.get_or_insert(header.journal) == header.journal;
        let Some(end) =
            end_of(disk, &header, &begin, &next_begin)?.filter(|_| continues && is_ours)
        else {
            return Ok(false);
        };
        self.note_first(index);
        self.epoch = self.epoch.max(header.epoch);
        self.segments.push(SegmentInfo {
            index,
            header: Some(header.clone()),
            state: SegmentState::Closed,
            base: Some(begin.base),
            first: begin.first,
            frames: u64::from(end.number),
            used_bytes: end.offset,
        });
        self.chain = Some(Chain {
            base: next_begin.base,
            first: next_begin.first,
            end_crc: next_begin.end_crc,
        });
        self.end = Some(PrefixEnd {
            header,
            base: begin.base,
            first: begin.first,
            cursor: end,
            end_crc: Some(next_begin.end_crc),
        });
        Ok(true)
    }
}

/// The place behind the `End` of a segment, which the next segment names; `None` if there is no such `End`.
fn end_of<D: Disk>(
    disk: &mut D,
    header: &SegmentHeader,
    begin: &Begin,
    next: &Begin,
) -> Result<Option<Cursor>, Error> {
    let length = header.alignment.round_up(END_BYTES as u64);
    let behind = next.base.checked_sub(begin.base);
    let offset = behind.and_then(|behind| behind.checked_sub(length));
    let number = next.first.checked_sub(begin.first + 1);
    let number = number.and_then(|number| u32::try_from(number).ok());
    let (Some(offset), Some(number)) = (offset, number) else {
        return Ok(None);
    };
    let is_inside = offset >= HEADER_BYTES as u64
        && offset.is_multiple_of(header.alignment.bytes())
        && offset + length <= header.file_bytes;
    if !is_inside {
        return Ok(None);
    }
    let name = segment_name(header.index);
    let mut bytes = [0; END_BYTES];
    disk.read(&name, offset, &mut bytes)
        .map_err(Error::io("read", &name))?;
    let Some(head) = FrameHead::decode(&bytes, header.salt, offset) else {
        return Ok(None);
    };
    let body = &bytes[HEAD_BYTES..];
    let end = End::decode(body).filter(|_| head.length as usize == END_BYTES);
    let holds = head.kind == kind::END
        && head.number == number
        && body_crc(body) == head.body_crc
        && u32_at(&bytes, 4) == next.end_crc
        && end.is_some_and(|end| end.position == next.base && end.next == next.first);
    Ok(holds.then_some(Cursor {
        offset: offset + length,
        number: number + 1,
    }))
}
