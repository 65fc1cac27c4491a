//! Start of a writer: read the journal, sync it, continue from the tail, cut, create the first segment of the run.

use crate::appender::StartingPoint;
use crate::compressed::SUFFIX;
use crate::cut::{self, Cut};
use crate::disk::Disk;
use crate::error::Error;
use crate::failure::failed_epoch;
use crate::format::{
    Alignment, FrameHead, HEAD_BYTES, HEADER_BYTES, NAME_BYTES, SegmentHeader, body_crc, kind,
    segment_index, segment_name, u32_at,
};
use crate::judge::{Judgement, Verdict, judge_recent};
use crate::make::make_segment;
use crate::mark::{self, CopyNumber};
use crate::records::{Begin, End};
use crate::source_status::{self, SourceStatus};
use crate::tail::{State, Tail};
use crate::walk::Cursor;
use std::io::ErrorKind;
use touchline_shm::Words;

/// Form of the segments of a run.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub name: [u8; NAME_BYTES],
    pub alignment: Alignment,
    pub file_bytes: u64,
}

/// Result of a start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartReport {
    /// Epoch of this run.
    pub epoch: u64,
    /// Sequence of the first frame of this run.
    pub next_sequence: u64,
    /// Frames of the last run that were in the tail and not in the file.
    pub frames_from_tail: u64,
    /// Sectors whose contents on the disk differed from the page cache, and that were written again.
    pub sectors_rewritten: u64,
    /// Bytes that were set aside.
    pub bytes_set_aside: u64,
    /// Files that contain them.
    pub cut_files: Vec<String>,
    /// Whether the host was started again since the last run, or the last run was on another host: records may be lost.
    pub is_other_boot: bool,
    /// Id of this boot of the host.
    pub boot: [u8; 16],
    /// Whether a run could not write its journal to the end, so that its later actions are missing. This stays true for
    /// each start until a run has called [`crate::Journal::failure_recorded`]; without a [file](crate::Options::failure_file) also until the
    /// host is started again.
    pub had_failed: bool,
    /// Position behind the last record that was found.
    pub found_position: u64,
    /// Last status that a copied journal received from its source; `None`: the journal was not a copy.
    pub copied: Option<SourceStatus>,
}

/// Prepares a journal for a run. Returns the position and epoch that the new segment continues.
///
/// # Errors
/// Among others [`Error::Damaged`]: the files are unchanged.
pub(crate) fn start<D: Disk, W: Words>(
    disk: &mut D,
    old_tail: Option<&Tail<W>>,
    boot: [u8; 16],
    form: &Form,
    now_ns: u64,
    random: &mut dyn FnMut() -> u64,
) -> Result<(StartingPoint, StartReport), Error> {
    let mut judgement = judge_undamaged(disk)?;
    let mut report = StartReport::default();
    let journal = journal_of(&judgement);
    let copy = mark::number(disk)?;
    let is_copy = copy.is_some();
    check_bus(old_tail, journal.filter(|_| !is_copy))?;
    let tail = old_tail.filter(|tail| Some(tail.identity().journal) == journal);
    let epoch = tail.map_or(0, |tail| tail.identity().epoch);
    let last = epoch.max(judgement.epoch).max(epoch_of_cuts(disk)?);
    let epoch = epoch_behind(last, copy)?;
    assert!(
        epoch > last,
        "the epoch of a run is behind those of all runs before"
    );
    report.epoch = epoch;
    report.boot = boot;
    // mutant: journal: a tail of this host speaks for the source of a copy
    let is_elsewhere = is_copy || tail.is_none_or(|tail| tail.identity().boot != boot);
    report.is_other_boot = journal.is_some() && is_elsewhere;
    report.had_failed = has_failed(disk, tail, &judgement)?;
    report.sectors_rewritten = cut::settle(disk, &judgement)?;
    let same_boot = |tail: &&Tail<W>| tail.identity().boot == boot;
    // mutant: simulation: a start ignores the tail
    if let Some(tail) = tail.filter(same_boot) {
        report.frames_from_tail = continue_from(disk, &judgement, tail)?;
        if report.frames_from_tail > 0 {
            judgement = judge_undamaged(disk)?;
        }
    }
    report.found_position = judgement.position();
    report.copied = is_copy.then(|| source_status::read(disk));
    let Cut { files, bytes } = cut::cut(disk, &mut judgement, End::CUT, now_ns)?;
    report.cut_files = files;
    report.bytes_set_aside = bytes;
    // mutant: simulation: a start continues the last segment
    let header = next_header(&judgement, journal, epoch, form, now_ns, random);
    make_segment(disk, &header)?;
    if is_copy {
        // This precedes the removal of the mark: a copy that is made here later has another source.
        source_status::remove(disk)?;
        mark::remove(disk)?;
    }
    let begin = begin_behind(&judgement);
    report.next_sequence = begin.first;
    let cursor = Cursor::FIRST;
    let starting = StartingPoint {
        header,
        begin,
        cursor,
    };
    Ok((starting, report))
}

/// Refuses a journal on the bus of another journal. `None`: a new journal continues no other one, and a copy comes from
/// another host.
fn check_bus<W: Words>(old_tail: Option<&Tail<W>>, journal: Option<[u8; 16]>) -> Result<(), Error> {
    let other = old_tail.map(|tail| tail.identity().journal);
    // mutant: journal: a journal is continued on the bus of another one
    match other.filter(|other| journal.is_some_and(|journal| journal != *other)) {
        Some(other) => Err(Error::Other {
            name: "journal".to_owned(),
            other,
        }),
        None => Ok(()),
    }
}

/// Whether the last run could not write its journal to the end, by its tail or by its file. A run of a later epoch that reached the segments was
/// on another host, and continued the journal without that tail: an earlier failure is not one of that run.
fn has_failed<D: Disk, W: Words>(
    disk: &mut D,
    tail: Option<&Tail<W>>,
    judgement: &Judgement,
) -> Result<bool, Error> {
    // mutant: journal: a failure is told to one start only
    let is_failed = |tail: &&Tail<W>| tail.state().0 == State::Failed || tail.is_failure_open();
    let in_tail = tail.filter(is_failed).map(|tail| tail.identity().epoch);
    // mutant: journal: a failure is lost with the memory of its host
    let in_file = failed_epoch(disk)?;
    let last = judgement.end.as_ref().map_or(0, |end| end.header.epoch);
    // mutant: journal: a failure of long ago is one of a later run elsewhere
    Ok(in_tail.max(in_file).is_some_and(|epoch| epoch >= last))
}

/// The epoch of a run behind this one.
fn epoch_behind(epoch: u64, copy: Option<CopyNumber>) -> Result<u64, Error> {
    // mutant: journal: a promoted copy takes the next epoch
    let step = copy.map_or(0, CopyNumber::epochs_elsewhere) + 1;
    epoch.checked_add(step).ok_or_else(|| Error::Damaged {
        name: "journal".to_owned(),
        what: "a header has the largest epoch, and none follows it".to_owned(),
    })
}

/// Header of the first segment of a run; a first run gives the journal its id.
fn next_header(
    judgement: &Judgement,
    journal: Option<[u8; 16]>,
    epoch: u64,
    form: &Form,
    made_ns: u64,
    random: &mut dyn FnMut() -> u64,
) -> SegmentHeader {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random().to_le_bytes());
    id[8..].copy_from_slice(&random().to_le_bytes());
    let last = judgement.end.as_ref();
    SegmentHeader {
        salt: random(),
        index: last.map_or(1, |end| end.header.index + 1),
        epoch,
        made_ns,
        journal: journal.unwrap_or(id),
        file_bytes: form.file_bytes,
        required: 0,
        optional: 0,
        name: form.name,
        alignment: form.alignment,
    }
}

/// The place behind the last record, if its segment has no `End`.
fn open_end(judgement: &Judgement) -> Option<StartingPoint> {
    let end = judgement.end.as_ref().filter(|end| end.end_crc.is_none())?;
    Some(StartingPoint {
        header: end.header.clone(),
        begin: Begin {
            base: end.base,
            first: end.first,
            end_crc: 0,
        },
        cursor: end.cursor,
    })
}

/// The `Begin` of a segment behind the last record.
fn begin_behind(judgement: &Judgement) -> Begin {
    let end = judgement.end.as_ref();
    Begin {
        base: judgement.position(),
        first: end.map_or(0, |end| end.next_sequence()),
        end_crc: end.and_then(|end| end.end_crc).unwrap_or(0),
    }
}

fn judge_undamaged<D: Disk>(disk: &mut D) -> Result<Judgement, Error> {
    let judgement = judge_recent(disk)?;
    match judgement.verdict {
        Verdict::Clean | Verdict::Cut => Ok(judgement),
        Verdict::Damaged => Err(Error::Damaged {
            name: "journal".to_owned(),
            what: judgement.damage(),
        }),
    }
}

fn journal_of(judgement: &Judgement) -> Option<[u8; 16]> {
    let mut headers = judgement
        .segments
        .iter()
        .filter_map(|segment| segment.header.as_ref());
    headers.next().map(|header| header.journal)
}

/// Largest epoch of the segments that were set aside: the number of a run must not be used twice.
fn epoch_of_cuts<D: Disk>(disk: &mut D) -> Result<u64, Error> {
    let names = disk.names().map_err(Error::io("list", ""))?;
    let mut epoch = 0;
    for name in names.iter().filter(|name| is_cut(name)) {
        let mut bytes = [0; HEADER_BYTES];
        match disk.read_aside(name, &mut bytes) {
            Ok(()) => {}
            // A copy that a crash cut short has no header.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => continue,
            // mutant: journal: a start does without an epoch that cannot be read
            Err(error) => return Err(Error::io("read the epoch in", name)(error)),
        }
        if let Ok((header, _)) = SegmentHeader::decode(&bytes) {
            epoch = epoch.max(header.epoch);
        }
    }
    Ok(epoch)
}

/// Whether a file has bytes of a segment that were set aside. A compressed segment that was cut is in the journal, or there as its bytes, too.
fn is_cut(name: &str) -> bool {
    let is_compressed = name.ends_with(&format!("{SUFFIX}.cut"));
    let of_segment = name.split_once(".tlj.").map(|(index, _)| index);
    let of_segment = of_segment.and_then(|index| segment_index(&format!("{index}.tlj")));
    name.ends_with(".cut") && !is_compressed && of_segment.is_some()
}

/// Appends the frames of the tail that continue the files. Returns their number.
fn continue_from<D: Disk, W: Words>(
    disk: &mut D,
    judgement: &Judgement,
    tail: &Tail<W>,
) -> Result<u64, Error> {
    let next = || {
        let index = judgement.end.as_ref().map_or(1, |end| end.header.index + 1);
        next_segment(judgement, index, begin_behind(judgement))
    };
    let Some(mut at) = open_end(judgement).or_else(next) else {
        return Ok(0);
    };
    let mut frames = 0;
    let mut written = Vec::new();
    while at.header.epoch == tail.identity().epoch {
        let Some((head, bytes)) = frame_in(tail, &at) else {
            break;
        };
        let name = segment_name(at.header.index);
        disk.write(&name, at.cursor.offset, &bytes)
            .map_err(Error::io("write", &name))?;
        if written.last() != Some(&name) {
            written.push(name);
        }
        frames += 1;
        at.cursor.offset += bytes.len() as u64;
        at.cursor.number += 1;
        if head.kind == kind::END {
            let begin = Begin {
                base: at.begin.base + at.cursor.offset,
                first: at.begin.first + u64::from(at.cursor.number),
                end_crc: u32_at(&bytes, 4),
            };
            match next_segment(judgement, at.header.index + 1, begin) {
                Some(next) => at = next,
                None => break,
            }
        }
    }
    for name in written {
        disk.sync(&name).map_err(Error::io("sync", &name))?;
    }
    Ok(frames)
}

fn next_segment(judgement: &Judgement, index: u64, begin: Begin) -> Option<StartingPoint> {
    let segment = judgement
        .segments
        .iter()
        .find(|segment| segment.index == index)?;
    Some(StartingPoint {
        header: segment.header.clone()?,
        begin,
        cursor: Cursor::FIRST,
    })
}

/// The frame of the tail that belongs at a place, with its padding, if it is valid there.
fn frame_in<W: Words>(tail: &Tail<W>, at: &StartingPoint) -> Option<(FrameHead, Vec<u8>)> {
    let position = at.position();
    let mut bytes = vec![0; HEAD_BYTES];
    tail.read(position, &mut bytes);
    let head = FrameHead::decode(&bytes, at.header.salt, at.cursor.offset)?;
    let length = head.length as usize;
    let padded = at.header.alignment.round_up(u64::from(head.length));
    let fits = padded <= tail.ring_bytes() && at.cursor.offset + padded <= at.header.file_bytes;
    if head.number != at.cursor.number || !fits {
        return None;
    }
    bytes.resize(padded as usize, 0);
    tail.read(position, &mut bytes);
    let body = &bytes[HEAD_BYTES..length];
    let is_first = at.cursor.number == 0;
    let is_begin = head.kind == kind::BEGIN && Begin::decode(body) == Some(at.begin);
    if body_crc(body) != head.body_crc
        || is_first != is_begin
        || is_first != (head.kind == kind::BEGIN)
    {
        return None;
    }
    bytes[length..].fill(0);
    Some((head, bytes))
}
