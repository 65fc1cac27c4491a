//! Walk over the frames of one segment in memory.

use crate::disk::is_zero;
use crate::format::{
    FrameHead, HEAD_BYTES, HEADER_BYTES, KIND_MUST_KNOW, SegmentHeader, body_crc, kind, u32_at,
};

/// A frame that holds: head, body, number, padding and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Head of the frame.
    pub head: FrameHead,
    /// Checksum of the head.
    pub head_crc: u32,
    /// Offset in the segment.
    pub offset: u64,
    /// Body of the frame.
    pub body: &'a [u8],
}

/// Content of a segment at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// A valid frame.
    Frame(Frame<'a>),
    /// Length zero: the place is unused, or its bytes were lost.
    Empty,
    /// Not a frame, or a frame of another place.
    Bad(&'static str),
}

/// A position in a segment: where the next frame belongs, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Offset in the segment.
    pub offset: u64,
    /// Number of the frame.
    pub number: u32,
}

impl Cursor {
    /// The first frame.
    pub const FIRST: Self = Self {
        offset: HEADER_BYTES as u64,
        number: 0,
    };

    /// Behind a frame of a segment with this header.
    pub fn behind(header: &SegmentHeader, frame: &Frame<'_>) -> Cursor {
        Cursor {
            offset: frame.offset + header.alignment.round_up(u64::from(frame.head.length)),
            number: frame.head.number.wrapping_add(1),
        }
    }
}

/// Bytes of a segment with its header.
#[derive(Debug, Clone, Copy)]
pub struct SegmentBytes<'a> {
    /// The header.
    pub header: &'a SegmentHeader,
    /// The whole file.
    pub bytes: &'a [u8],
}

impl<'a> SegmentBytes<'a> {
    /// The frame that belongs at `cursor`, with every check.
    pub fn at(&self, cursor: Cursor) -> Place<'a> {
        let Ok(start) = usize::try_from(cursor.offset) else {
            return Place::Bad("place");
        };
        frame_at(
            self.header,
            self.bytes.get(start..).unwrap_or_default(),
            cursor,
        )
    }

    /// The cursor behind a frame.
    pub fn behind(&self, frame: &Frame<'_>) -> Cursor {
        Cursor::behind(self.header, frame)
    }

    /// Heads that hold at `from` or behind it, at any multiple of the alignment: checked for place, not for number or
    /// body.
    pub fn heads_from(&self, from: u64) -> impl Iterator<Item = (u64, FrameHead)> + use<'a> {
        let (bytes, salt) = (self.bytes, self.header.salt);
        let step = self.header.alignment.bytes();
        let first = from.max(HEADER_BYTES as u64).next_multiple_of(step);
        (first..bytes.len() as u64)
            .step_by(step as usize)
            .filter_map(move |offset| {
                let rest = &bytes[offset as usize..];
                // Most places are zeros.
                if rest.len() < HEAD_BYTES || u32_at(rest, 0) == 0 {
                    return None;
                }
                FrameHead::decode(rest, salt, offset).map(|head| (offset, head))
            })
    }

    /// The body of a head that was found by [`SegmentBytes::heads_from`], if it holds.
    pub fn body_of(&self, offset: u64, head: &FrameHead) -> Option<&'a [u8]> {
        let start = usize::try_from(offset).ok()?;
        let body = self
            .bytes
            .get(start + HEAD_BYTES..start + head.length as usize)?;
        (body_crc(body) == head.body_crc).then_some(body)
    }

    /// Offset behind the last byte that is not zero, at least `from`.
    pub fn used_from(&self, from: u64) -> u64 {
        let start = (from as usize).min(self.bytes.len());
        let mut rest = &self.bytes[start..];
        // Most of an open segment is zeros, and whole blocks of them are compared faster than bytes.
        while let Some((before, block)) = rest.split_last_chunk::<4096>()
            && is_zero(block)
        {
            rest = before;
        }
        let last = rest.iter().rposition(|byte| *byte != 0);
        last.map_or(from, |last| (start + last + 1) as u64)
    }
}

/// The frame at the beginning of `rest`, which are the bytes of a segment from `cursor` on, with every check.
pub fn frame_at<'a>(header: &SegmentHeader, rest: &'a [u8], cursor: Cursor) -> Place<'a> {
    if rest.len() < HEAD_BYTES || u32_at(rest, 0) == 0 {
        return Place::Empty;
    }
    let Some(head) = FrameHead::decode(rest, header.salt, cursor.offset) else {
        return Place::Bad("head");
    };
    let length = head.length as usize;
    let padded = header.alignment.round_up(u64::from(head.length)) as usize;
    if padded > rest.len() {
        return Place::Bad("place");
    }
    let body = &rest[HEAD_BYTES..length];
    // mutant: simulation: bodies are not checked
    if body_crc(body) != head.body_crc {
        return Place::Bad("body");
    }
    if head.number != cursor.number || (head.kind == kind::BEGIN) != (cursor.number == 0) {
        return Place::Bad("number");
    }
    if rest[length..padded].iter().any(|byte| *byte != 0) {
        return Place::Bad("padding");
    }
    Place::Frame(Frame {
        head,
        head_crc: u32_at(rest, 4),
        offset: cursor.offset,
        body,
    })
}

/// Whether a reader of this version must stop at this kind.
pub fn is_unknown_and_required(kind: u16) -> bool {
    kind >= KIND_MUST_KNOW
}
