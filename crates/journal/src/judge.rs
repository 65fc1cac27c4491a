//! Verdict on a journal: its records, and whether the bytes behind them are left by a crash or damaged.

mod recent;

pub(crate) use recent::{is_closed, judge_from_sequence, judge_recent, last_begun};

use crate::disk::{Disk, SegmentBuffer};
use crate::error::Error;
use crate::format::{
    FrameHead, HEADER_BYTES, HeaderFault, SegmentHeader, kind, segment_index, segment_name,
};
use crate::mark;
use crate::records::{Begin, End};
use crate::walk::{Cursor, Frame, Place, SegmentBytes, is_unknown_and_required};

/// Verdict on a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every record is valid; nothing follows the last one.
    Clean,
    /// The end was cut by a crash: the bytes behind the break were not durable.
    Cut,
    /// Durable records are missing or wrong.
    Damaged,
}

/// Kind of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentState {
    /// The segment has an `End`.
    Closed,
    /// The records end without `End`.
    Open,
    /// A header without frames: prepared and unused.
    Prepared,
    /// Only zeros, without a header: the preparation did not finish.
    Unfinished,
    /// A segment after a break; its records do not count.
    Behind,
}

/// A segment, with the findings of a judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Index.
    pub index: u64,
    /// Header, if a copy holds.
    pub header: Option<SegmentHeader>,
    /// State.
    pub state: SegmentState,
    /// Position of its first byte, if it is known.
    pub base: Option<u64>,
    /// Sequence of its first frame.
    pub first: u64,
    /// Frames that count, `Begin` and `End` among them.
    pub frames: u64,
    /// Offset behind the last frame that counts.
    pub used_bytes: u64,
}

/// End of the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrefixEnd {
    pub header: SegmentHeader,
    pub base: u64,
    /// Sequence of frame 0 of the segment.
    pub first: u64,
    pub cursor: Cursor,
    /// Checksum of the head of its `End`, if it has one.
    pub end_crc: Option<u32>,
}

impl PrefixEnd {
    pub fn position(&self) -> u64 {
        self.base + self.cursor.offset
    }

    pub fn next_sequence(&self) -> u64 {
        self.first + u64::from(self.cursor.number)
    }
}

/// Result of a walk over all segments.
#[derive(Debug, Clone)]
pub(crate) struct Judgement {
    pub verdict: Verdict,
    pub segments: Vec<SegmentInfo>,
    /// End of the records; `None`: no record counts.
    pub end: Option<PrefixEnd>,
    /// Facts for a person, one sentence each.
    pub findings: Vec<String>,
    /// Findings that a refusal names: the break of the records, and the reason why it is damage.
    pub reasons: Vec<String>,
    /// Segments of which one copy of the header is bad.
    pub bad_copies: Vec<u64>,
    /// Highest durable position that a frame behind the break claims.
    pub claim: u64,
    /// Heads that hold behind the break.
    pub frames_behind: u64,
    /// Bytes behind the break, zeros at the end left out.
    pub bytes_behind: u64,
    /// Frames of kinds that this version does not define.
    pub unknown_kinds: u64,
    /// Largest epoch in any header.
    pub epoch: u64,
    /// First segment of which every frame was verified; earlier ones are durable by a claim.
    pub walked_from: u64,
}

impl Judgement {
    /// Position after the last record that counts.
    pub fn position(&self) -> u64 {
        self.end.as_ref().map_or(0, PrefixEnd::position)
    }

    /// The damage, as a sentence for a refusal: the segment, the place in it, the position. A damage across many
    /// segments is described by its first and last sentences.
    pub fn damage(&self) -> String {
        match self.reasons.as_slice() {
            [first, second, .., last] => format!("{first}; {second}; {last}"),
            few => few.join("; "),
        }
    }
}

/// Position and epoch that the next segment must continue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Chain {
    base: u64,
    first: u64,
    end_crc: u32,
}

/// Walks all segments.
///
/// # Errors
/// A file cannot be read, or is of a format that this version does not read.
pub(crate) fn judge<D: Disk>(disk: &mut D) -> Result<Judgement, Error> {
    judge_with(disk, |_, _| {})
}

/// Walks all segments, and gives every record that counts to `each` with its segment.
pub(crate) fn judge_with<D: Disk>(
    disk: &mut D,
    mut each: impl FnMut(&SegmentInfo, &Frame<'_>),
) -> Result<Judgement, Error> {
    let indexes = segment_indexes(disk)?;
    let (mut walk, mut buffer) = (Walk::over(disk, &indexes)?, SegmentBuffer::default());
    for index in indexes {
        let name = segment_name(index);
        let bytes = buffer.read(disk, &name);
        walk.segment(index, bytes.map_err(Error::io("read", &name))?, &mut each)?;
    }
    Ok(walk.finish())
}

/// Indexes of the segments, ascending.
pub(crate) fn segment_indexes<D: Disk>(disk: &mut D) -> Result<Vec<u64>, Error> {
    let names = disk.names().map_err(Error::io("list", ""))?;
    let mut indexes: Vec<u64> = names
        .iter()
        .filter_map(|name| segment_index(name))
        .collect();
    indexes.sort_unstable();
    Ok(indexes)
}

#[derive(Debug, Default)]
struct Walk {
    segments: Vec<SegmentInfo>,
    findings: Vec<String>,
    reasons: Vec<String>,
    damage: bool,
    /// Position and epoch that the next segment must continue; `None` before the first one.
    chain: Option<Chain>,
    /// Position of the first break.
    broken_at: Option<u64>,
    /// Lower bound of the base of the next segment behind a break.
    base_behind: u64,
    claim: u64,
    frames_behind: u64,
    bytes_behind: u64,
    end: Option<PrefixEnd>,
    bad_copies: Vec<u64>,
    unknown_kinds: u64,
    epoch: u64,
    journal: Option<[u8; 16]>,
    /// The last segment of a copy: claims of its frames are of the disk of the copy's source.
    copied: Option<u64>,
}

impl Walk {
    /// A walk over these segments.
    fn over<D: Disk>(disk: &mut D, indexes: &[u64]) -> Result<Walk, Error> {
        let is_copy = mark::is_copy(disk)?;
        let copied = indexes.last().copied().filter(|_| is_copy);
        Ok(Walk {
            copied,
            ..Walk::default()
        })
    }

    fn segment(
        &mut self,
        index: u64,
        bytes: &[u8],
        each: &mut impl FnMut(&SegmentInfo, &Frame<'_>),
    ) -> Result<(), Error> {
        let name = segment_name(index);
        if let Some(last) = self.segments.last()
            && last.index + 1 != index
        {
            let (from, to) = (last.index + 1, index - 1);
            self.damaged(format!("segments {from} to {to} are missing"));
            self.break_at(self.chain.map_or(0, |chain| chain.base));
        }
        let (header, copies) = match SegmentHeader::decode(bytes) {
            Ok(decoded) => decoded,
            Err(fault) if fault.is_foreign() => {
                let what = fault.to_string();
                return Err(Error::Foreign { name, what });
            }
            Err(fault) => {
                self.without_header(index, bytes, fault);
                return Ok(());
            }
        };
        // A header of another segment proves nothing about earlier segments.
        if header.index == index {
            self.note_first(index);
        }
        self.epoch = self.epoch.max(header.epoch);
        self.check_copies(&name, index, copies);
        if !self.belongs(&name, index, &header, bytes.len() as u64) {
            self.break_at(self.chain.map_or(0, |chain| chain.base));
        }
        let segment = SegmentBytes {
            header: &header,
            bytes,
        };
        let info = match self.broken_at {
            None => self.walk(&segment, each)?,
            Some(_) => self.behind(&segment, HEADER_BYTES as u64),
        };
        self.segments.push(info);
        Ok(())
    }

    /// Notes that segments before the first one were removed.
    fn note_first(&mut self, index: u64) {
        if self.segments.is_empty() && index > 1 {
            let sentence = format!("segments 1 to {} were removed (retention)", index - 1);
            self.findings.push(sentence);
        }
    }

    fn damaged(&mut self, finding: String) {
        self.reason(finding);
        self.damage = true;
    }

    /// Notes a finding that a refusal names.
    fn reason(&mut self, finding: String) {
        self.findings.push(finding.clone());
        self.reasons.push(finding);
    }

    fn break_at(&mut self, position: u64) {
        if self.broken_at.is_none() {
            self.broken_at = Some(position);
            self.base_behind = position;
        }
    }

    fn without_header(&mut self, index: u64, bytes: &[u8], fault: HeaderFault) {
        let name = segment_name(index);
        let behind = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let is_used = behind.iter().any(|byte| *byte != 0);
        match is_used {
            true => self.damaged(format!("{name}: {fault}, and there are frames behind it")),
            false => self
                .findings
                .push(format!("{name}: {fault}, and it is empty")),
        }
        self.break_at(self.chain.map_or(0, |chain| chain.base));
        self.bytes_behind += if is_used { bytes.len() as u64 } else { 0 };
        self.segments.push(SegmentInfo {
            index,
            header: None,
            state: match is_used {
                true => SegmentState::Behind,
                false => SegmentState::Unfinished,
            },
            base: None,
            first: 0,
            frames: 0,
            used_bytes: 0,
        });
    }

    fn check_copies(&mut self, name: &str, index: u64, copies: [bool; 2]) {
        for (number, _) in copies.iter().enumerate().filter(|(_, holds)| !**holds) {
            let sentence = format!("{name}: copy {} of the header does not hold", number + 1);
            self.findings.push(sentence);
            self.bad_copies.push(index);
        }
    }

    /// Whether the segment belongs at its place; other segments count as being after a break.
    fn belongs(&mut self, name: &str, index: u64, header: &SegmentHeader, length: u64) -> bool {
        // A shorter file keeps the records before its end.
        if length != header.file_bytes {
            let should = header.file_bytes;
            self.damaged(format!("{name}: {length} bytes, its header says {should}"));
        }
        if let Some(empty) = self
            .segments
            .iter()
            .find(|s| s.state == SegmentState::Unfinished)
        {
            let empty = segment_name(empty.index);
            self.damaged(format!("{empty}: no header, and {name} is behind it"));
        }
        if header.index != index {
            self.damaged(other_name(name, header));
            return false;
        }
        if *self.journal.get_or_insert(header.journal) != header.journal {
            let first = self.segments.first().map_or(index, |first| first.index);
            let first = segment_name(first);
            self.damaged(format!(
                "{name}: it belongs to another journal than {first}"
            ));
            return false;
        }
        true
    }

    fn walk(
        &mut self,
        segment: &SegmentBytes<'_>,
        each: &mut impl FnMut(&SegmentInfo, &Frame<'_>),
    ) -> Result<SegmentInfo, Error> {
        let header = segment.header;
        let mut cursor = Cursor::FIRST;
        let begin = match self.begin_of(segment) {
            Ok(begin) => begin,
            Err(what) => return Ok(self.without_begin(segment, what)),
        };
        let mut info = SegmentInfo {
            index: header.index,
            header: Some(header.clone()),
            state: SegmentState::Open,
            base: Some(begin.base),
            first: begin.first,
            frames: 0,
            used_bytes: cursor.offset,
        };
        let mut fault = None;
        let mut end_crc = None;
        loop {
            let frame = match segment.at(cursor) {
                Place::Frame(frame) => frame,
                Place::Empty => break,
                Place::Bad(what) => {
                    fault = Some(what);
                    break;
                }
            };
            if is_unknown_and_required(frame.head.kind) {
                let what = format!(
                    "a frame of kind {} at offset {}, which a reader must know",
                    frame.head.kind, frame.offset
                );
                let name = segment_name(header.index);
                return Err(Error::Foreign { name, what });
            }
            let next = segment.behind(&frame);
            if frame.head.kind == kind::END && !is_right_end(&frame, &begin, next) {
                fault = Some("end");
                break;
            }
            self.unknown_kinds += u64::from(crate::format::kind_name(frame.head.kind).is_none());
            cursor = next;
            info.frames += 1;
            info.used_bytes = cursor.offset;
            each(&info, &frame);
            if frame.head.kind == kind::END {
                end_crc = Some(frame.head_crc);
                info.state = SegmentState::Closed;
                break;
            }
        }
        let end = PrefixEnd {
            header: header.clone(),
            base: begin.base,
            first: begin.first,
            cursor,
            end_crc,
        };
        self.go_on_behind(segment, &end, fault);
        self.end = Some(end);
        Ok(info)
    }

    /// Handles a segment that does not continue the segment before: none of its frames count.
    fn without_begin(&mut self, segment: &SegmentBytes<'_>, fault: Option<&str>) -> SegmentInfo {
        let base = self.chain.map_or(0, |chain| chain.base);
        if self.chain.is_none() && segment.header.index > 1 {
            let name = segment_name(segment.header.index);
            self.damaged(format!(
                "{name}: no Begin, and the segments before it are missing"
            ));
        }
        self.break_at(base + Cursor::FIRST.offset);
        self.rest_of(segment, base, Cursor::FIRST, fault)
    }

    /// Sets the position that the next segment must continue; the journal ends after a segment without `End`.
    fn go_on_behind(&mut self, segment: &SegmentBytes<'_>, end: &PrefixEnd, fault: Option<&str>) {
        match end.end_crc {
            Some(end_crc) => {
                self.chain = Some(Chain {
                    base: end.position(),
                    first: end.next_sequence(),
                    end_crc,
                });
            }
            None => {
                self.break_at(end.position());
                self.rest_of(segment, end.base, end.cursor, fault);
            }
        }
    }

    /// The `Begin` of a segment, if it continues the segment before; otherwise its fault, or `None` for an empty segment.
    fn begin_of(&self, segment: &SegmentBytes<'_>) -> Result<Begin, Option<&'static str>> {
        let frame = match segment.at(Cursor::FIRST) {
            Place::Frame(frame) => frame,
            Place::Empty => return Err(None),
            Place::Bad(what) => return Err(Some(what)),
        };
        let begin = Begin::decode(frame.body).ok_or(Some("begin"))?;
        let expected = match self.chain {
            Some(chain) => chain,
            // Older segments may have been removed.
            None if segment.header.index > 1 => return Ok(begin),
            None => Chain::default(),
        };
        let is_next = begin.base == expected.base
            && begin.first == expected.first
            && begin.end_crc == expected.end_crc;
        is_next.then_some(begin).ok_or(Some("begin"))
    }

    /// Classifies the bytes behind the break in its segment.
    fn rest_of(
        &mut self,
        segment: &SegmentBytes<'_>,
        base: u64,
        cursor: Cursor,
        fault: Option<&str>,
    ) -> SegmentInfo {
        if let Some(fault) = fault {
            let sentence = format!(
                "{}: the frame at offset {} does not hold ({fault})",
                segment_name(segment.header.index),
                cursor.offset
            );
            self.reason(sentence);
        }
        self.base_behind = base;
        self.behind(segment, cursor.offset)
    }

    /// Searches for heads and their claims from `offset` on; `self.base_behind` is the base, or a lower bound of it.
    fn behind(&mut self, segment: &SegmentBytes<'_>, offset: u64) -> SegmentInfo {
        // mutant: simulation: nothing is searched behind the first frame of length zero
        let mut base = self.base_behind;
        let used = segment.used_from(offset);
        self.bytes_behind += used - offset;
        // Valid heads count, not bytes: a torn sector may leave garbage beyond the end of its segment.
        let mut next_base = base + offset;
        for (at, head) in segment.heads_from(offset) {
            if head.kind == kind::BEGIN && at == HEADER_BYTES as u64 {
                let begin = segment.body_of(at, &head).and_then(Begin::decode);
                base = begin.map_or(base, |begin| begin.base.max(base));
                next_base = next_base.max(base);
            }
            self.frames_behind += 1;
            // A segment of a copy is synced before the next one is made.
            // mutant: journal: the disk of a copy lacks what that of its source had
            if self.copied != Some(segment.header.index) {
                self.note_claim(&head, base + at);
            }
            let length = segment.header.alignment.round_up(u64::from(head.length));
            next_base = next_base.max(base + at + length);
            if head.kind == kind::END
                && let Some(end) = segment.body_of(at, &head).and_then(End::decode)
                && end.position > base
            {
                next_base = end.position;
            }
        }
        if used > offset {
            self.base_behind = next_base;
        }
        let state = match used > HEADER_BYTES as u64 {
            true => SegmentState::Behind,
            false => SegmentState::Prepared,
        };
        info_behind(segment, state)
    }

    fn note_claim(&mut self, head: &FrameHead, position: u64) {
        // mutant: simulation: claims of frames are ignored
        if let Some(claim) = head.claim(position) {
            self.claim = self.claim.max(claim);
        }
    }

    fn finish(mut self) -> Judgement {
        let broken_at = self.broken_at.unwrap_or(0);
        if self.claim > broken_at {
            let (claim, missing) = (self.claim, self.claim - broken_at);
            self.damaged(format!(
                "the records end at position {broken_at}; a frame behind it says that the disk had everything below \
                 {claim}: {missing} durable bytes are missing or wrong"
            ));
        }
        let verdict = match (self.damage, self.bytes_behind) {
            (true, _) => Verdict::Damaged,
            (false, 0) => Verdict::Clean,
            (false, _) => Verdict::Cut,
        };
        Judgement {
            verdict,
            segments: self.segments,
            end: self.end,
            findings: self.findings,
            reasons: self.reasons,
            bad_copies: self.bad_copies,
            claim: self.claim,
            frames_behind: self.frames_behind,
            bytes_behind: self.bytes_behind,
            unknown_kinds: self.unknown_kinds,
            epoch: self.epoch,
            walked_from: 0,
        }
    }
}

/// Fault of a segment whose file has the name of another segment.
pub(crate) fn other_name(name: &str, header: &SegmentHeader) -> String {
    format!(
        "{name}: it is segment {}, under another name; rename the file to {}",
        header.index,
        segment_name(header.index)
    )
}

fn info_behind(segment: &SegmentBytes<'_>, state: SegmentState) -> SegmentInfo {
    SegmentInfo {
        index: segment.header.index,
        header: Some(segment.header.clone()),
        state,
        base: None,
        first: 0,
        frames: 0,
        used_bytes: HEADER_BYTES as u64,
    }
}

fn is_right_end(frame: &Frame<'_>, begin: &Begin, next: Cursor) -> bool {
    End::decode(frame.body).is_some_and(|end| {
        end.position == begin.base + next.offset && end.next == begin.first + u64::from(next.number)
    })
}
