//! Journals read, verified and repaired by people and tools.

#[cfg(test)]
mod live_tests;

use crate::cut;
use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::format::{
    FrameHead, HEADER_COPY_BYTES, NO_CLAIM, SegmentHeader, body_crc, kind, segment_name,
};
use crate::in_memory::InMemory;
use crate::judge::{
    Judgement, SegmentInfo, SegmentState, Verdict, judge, judge_from_sequence, judge_with,
    segment_indexes,
};
use crate::lock::{self, Lock};
use crate::mark;
use crate::records::{End, Gap};
use crate::walk::{Frame, SegmentBytes};
use std::io;
use std::path::Path;
use std::time::Duration;

/// A record with its place.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Segment.
    pub segment: u64,
    /// Position; `None` behind damage that hides it.
    pub position: Option<u64>,
    /// Sequence in the journal; `None` behind damage.
    pub sequence: Option<u64>,
    /// Head.
    pub head: FrameHead,
    /// Body.
    pub body: &'a [u8],
}

/// Result of a walk over a journal.
#[derive(Debug, Clone)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Segments, ascending.
    pub segments: Vec<SegmentInfo>,
    /// Facts for a person, one sentence each.
    pub findings: Vec<String>,
    /// The damage, with segment and position; empty if the journal is undamaged.
    pub damage: String,
    /// Position behind the last record.
    pub position: u64,
    /// Sequence of the next record.
    pub next_sequence: u64,
    /// Frames that count.
    pub frames: u64,
    /// Frames of kinds that this version does not define.
    pub unknown_kinds: u64,
    /// Heads that hold behind the break.
    pub frames_behind: u64,
    /// Bytes behind the break.
    pub bytes_behind: u64,
    /// Highest durable position that a frame behind the break claims.
    pub claim: u64,
    /// Process that writes the journal at this moment.
    pub writer: Option<u32>,
}

/// Result of a repair.
#[derive(Debug, Clone)]
pub struct Repair {
    /// Verdict on the journal before the repair.
    pub found: Report,
    /// Names of the files with the bytes that were set aside.
    pub cut_files: Vec<String>,
    /// Bytes in them.
    pub bytes_set_aside: u64,
    /// Copies of headers that were written again.
    pub headers_rewritten: u64,
    /// Unfinished preparations that were removed.
    pub removed: Vec<String>,
}

/// Attempts to judge a journal whose writer is faster than the walk.
const ATTEMPTS: u32 = 20;
/// Bytes that one write clears.
const CLEARED_BYTES: u64 = 256 << 10;
/// Time between them.
const PAUSE: Duration = Duration::from_millis(20);

/// Walks a journal and verifies every frame. Changes nothing; the writer may be running.
///
/// # Errors
/// The directory cannot be read, or [`Error::Foreign`].
pub fn verify(directory: &Path) -> Result<Report, Error> {
    let name = directory.display().to_string();
    let within = |error: Error| error.within(directory);
    let mut folder = Folder::open(directory).map_err(Error::io("open", &name))?;
    let Some(pid) = lock::holder(directory) else {
        let judgement = judge(&mut folder).map_err(within)?;
        return Ok(report_of(&judgement, None));
    };
    let judgement = judge_beside_writer(&mut folder, PAUSE).map_err(within)?;
    let mut report = report_of(&judgement, Some(pid));
    let sentence = format!("process {pid} writes this journal, its end moves");
    report.findings.push(sentence);
    Ok(report)
}

/// A walk may miss frames that are written behind it, and find later ones whose claims then look like damage. Such a
/// break moves with each walk; damage stays in its place.
fn judge_beside_writer<D: Disk>(disk: &mut D, pause: Duration) -> Result<Judgement, Error> {
    let mut judgement = judge(disk)?;
    let mut is_still = false;
    for _ in 0..ATTEMPTS {
        if judgement.verdict == Verdict::Clean || is_still {
            break;
        }
        std::thread::sleep(pause);
        let position = judgement.position();
        judgement = judge(disk)?;
        is_still = judgement.position() == position;
    }
    // mutant: journal: a break that moves beside a writer is damage
    if judgement.verdict == Verdict::Cut || !is_still {
        judgement.verdict = Verdict::Clean;
    }
    Ok(judgement)
}

/// Whether a directory has a segment. A wrong directory must not pass for a clean journal, nor get a lock file.
///
/// # Errors
/// The directory cannot be read.
pub fn is_journal(directory: &Path) -> io::Result<bool> {
    let indexes = segment_indexes(&mut Folder::open(directory)?);
    Ok(indexes.is_ok_and(|indexes| !indexes.is_empty()))
}

/// Gives every record that counts to `each`, in order. With `past_damage` also records after a break whose checksums
/// are right, after a [`Gap`] with cause 6.
///
/// # Errors
/// As [`verify`]; and [`Error::Damaged`] at the end, after the records before the damage, without `past_damage`.
pub fn read(
    directory: &Path,
    past_damage: bool,
    each: impl FnMut(&Entry<'_>),
) -> Result<Report, Error> {
    read_from(directory, 0, past_damage, each)
}

/// [`read`] from the record with that sequence on. Older segments are passed by their header, `Begin` and `End`, and not
/// verified.
///
/// # Errors
/// As [`read`].
pub fn read_from(
    directory: &Path,
    sequence: u64,
    past_damage: bool,
    mut each: impl FnMut(&Entry<'_>),
) -> Result<Report, Error> {
    let name = directory.display().to_string();
    let mut folder = Folder::open(directory).map_err(Error::io("open", &name))?;
    let within = |error: Error| error.within(directory);
    let writer = lock::holder(directory);
    let judgement = give_records(&mut folder, sequence, &mut each).map_err(within)?;
    let report = match (judgement.verdict, writer) {
        // The walk may have missed records of the writer; the records that it returned are right.
        (Verdict::Damaged, Some(_)) => verify(directory)?,
        (Verdict::Cut, Some(pid)) => Report {
            verdict: Verdict::Clean,
            ..report_of(&judgement, Some(pid))
        },
        _ => report_of(&judgement, writer),
    };
    if report.verdict != Verdict::Damaged {
        return Ok(report);
    }
    if !past_damage {
        return Err(damaged(directory, &report));
    }
    give_behind(&mut folder, &judgement, &mut each).map_err(within)?;
    Ok(report)
}

/// [`read`] of segments in memory, which are those with the indexes 1, 2 and on.
///
/// # Errors
/// As [`read`].
pub fn read_segments(
    segments: &[&[u8]],
    past_damage: bool,
    mut each: impl FnMut(&Entry<'_>),
) -> Result<Report, Error> {
    let mut disk = InMemory::new(segments);
    let judgement = give_records(&mut disk, 0, &mut each)?;
    let report = report_of(&judgement, None);
    if report.verdict != Verdict::Damaged {
        return Ok(report);
    }
    if !past_damage {
        return Err(damaged(Path::new("memory"), &report));
    }
    give_behind(&mut disk, &judgement, &mut each)?;
    Ok(report)
}

/// Gives every record that counts from a sequence on.
pub(crate) fn give_records<D: Disk>(
    disk: &mut D,
    from: u64,
    each: &mut impl FnMut(&Entry<'_>),
) -> Result<Judgement, Error> {
    let mut give = |info: &SegmentInfo, frame: &Frame<'_>| {
        let sequence = info.first + u64::from(frame.head.number);
        if sequence >= from {
            each(&Entry {
                segment: info.index,
                position: info.base.map(|base| base + frame.offset),
                sequence: Some(sequence),
                head: frame.head,
                body: frame.body,
            });
        }
    };
    match from {
        0 => judge_with(disk, give),
        _ => judge_from_sequence(disk, from, &mut give),
    }
}

pub(crate) fn damaged(directory: &Path, report: &Report) -> Error {
    Error::Damaged {
        name: directory.display().to_string(),
        what: report.damage.clone(),
    }
}

/// Ends a journal whose writer died, as the next start would. A damaged journal is cut only with `accept_loss`.
///
/// # Errors
/// [`Error::Locked`]: a writer is running. [`Error::Damaged`]: the files are unchanged.
pub fn repair(directory: &Path, accept_loss: bool, now_ns: u64) -> Result<Repair, Error> {
    let name = directory.display().to_string();
    let mut folder = Folder::open_for_writing(directory).map_err(Error::io("open", &name))?;
    let _lock = Lock::acquire(directory)?;
    let within = |error: Error| error.within(directory);
    let mut judgement = judge(&mut folder).map_err(within)?;
    let found = report_of(&judgement, None);
    let is_copy = mark::is_copy(&mut folder).map_err(within)?;
    // mutant: journal: a repair ends a copy whose source has the rest
    if is_copy && found.verdict != Verdict::Clean && !accept_loss {
        let what = "it is a copy of a journal of another host: start `touchline journal receive`, and its source sends the records again; if \
                    that is gone for good, start the engine here, or cut with --accept-loss";
        return Err(Error::Copy {
            name,
            what: what.to_owned(),
        });
    }
    let cause = match (found.verdict, accept_loss) {
        (Verdict::Damaged, false) => return Err(damaged(directory, &found)),
        (Verdict::Damaged, true) => End::CUT_WITH_LOSS,
        _ => End::CUT,
    };
    let mut repair = Repair {
        found,
        cut_files: Vec::new(),
        bytes_set_aside: 0,
        headers_rewritten: 0,
        removed: Vec::new(),
    };
    if repair.found.verdict != Verdict::Clean {
        cut::settle(&mut folder, &judgement).map_err(within)?;
        let done = cut::cut(&mut folder, &mut judgement, cause, now_ns).map_err(within)?;
        if cause == End::CUT_WITH_LOSS {
            clear_behind(&mut folder, &judgement).map_err(within)?;
        }
        repair.cut_files = done.files;
        repair.bytes_set_aside = done.bytes;
    }
    rewrite_headers(&mut folder, &judgement, &mut repair).map_err(within)?;
    remove_unfinished(&mut folder, &judgement, &mut repair).map_err(within)?;
    Ok(repair)
}

/// Clears the records behind the new `End`, which were set aside: a reader that jumps by an old index must not take them for records, nor
/// the `End` that the segment had.
fn clear_behind(folder: &mut Folder, judgement: &Judgement) -> Result<(), Error> {
    let Some(end) = &judgement.end else {
        return Ok(());
    };
    let name = segment_name(end.header.index);
    let zeros = vec![0; CLEARED_BYTES as usize];
    let mut offset = end.cursor.offset;
    while offset < end.header.file_bytes {
        let count = CLEARED_BYTES.min(end.header.file_bytes - offset);
        folder
            .write(&name, offset, &zeros[..count as usize])
            .map_err(Error::io("write", &name))?;
        offset += count;
    }
    folder.sync(&name).map_err(Error::io("sync", &name))
}

fn rewrite_headers(
    folder: &mut Folder,
    judgement: &Judgement,
    repair: &mut Repair,
) -> Result<(), Error> {
    let last = judgement.end.as_ref().map_or(0, |end| end.header.index);
    for index in judgement.bad_copies.iter().filter(|index| **index <= last) {
        let name = segment_name(*index);
        let mut bytes = [0; 2 * HEADER_COPY_BYTES];
        folder
            .read(&name, 0, &mut bytes)
            .map_err(Error::io("read", &name))?;
        let Ok((header, copies)) = SegmentHeader::decode(&bytes) else {
            continue;
        };
        let good = header.encode();
        for (number, _) in copies.iter().enumerate().filter(|(_, holds)| !**holds) {
            let at = number * HEADER_COPY_BYTES;
            folder
                .write(&name, at as u64, &good[at..at + HEADER_COPY_BYTES])
                .map_err(Error::io("write", &name))?;
            repair.headers_rewritten += 1;
        }
        folder.sync(&name).map_err(Error::io("sync", &name))?;
    }
    Ok(())
}

fn remove_unfinished(
    folder: &mut Folder,
    judgement: &Judgement,
    repair: &mut Repair,
) -> Result<(), Error> {
    let unfinished = judgement
        .segments
        .iter()
        .rev()
        .filter(|segment| segment.state == SegmentState::Unfinished);
    for segment in unfinished {
        let name = segment_name(segment.index);
        let names = folder.names().map_err(Error::io("list", ""))?;
        if !names.contains(&name) {
            continue;
        }
        folder.remove(&name).map_err(Error::io("remove", &name))?;
        folder
            .sync_names()
            .map_err(Error::io("sync the directory of", &name))?;
        repair.removed.push(name);
    }
    Ok(())
}

pub(crate) fn report_of(judgement: &Judgement, writer: Option<u32>) -> Report {
    Report {
        verdict: judgement.verdict,
        segments: judgement.segments.clone(),
        findings: judgement.findings.clone(),
        damage: match judgement.verdict {
            Verdict::Damaged => judgement.damage(),
            Verdict::Clean | Verdict::Cut => String::new(),
        },
        position: judgement.position(),
        next_sequence: judgement.end.as_ref().map_or(0, |end| end.next_sequence()),
        frames: judgement
            .segments
            .iter()
            .map(|segment| segment.frames)
            .sum(),
        unknown_kinds: judgement.unknown_kinds,
        frames_behind: judgement.frames_behind,
        bytes_behind: judgement.bytes_behind,
        claim: judgement.claim,
        writer,
    }
}

/// Gives the records after a break whose head and body are valid.
fn give_behind<D: Disk>(
    disk: &mut D,
    judgement: &Judgement,
    each: &mut impl FnMut(&Entry<'_>),
) -> Result<(), Error> {
    let (last, offset) = judgement
        .end
        .as_ref()
        .map_or((0, 0), |end| (end.header.index, end.cursor.offset));
    let is_closed = judgement
        .end
        .as_ref()
        .is_some_and(|end| end.end_crc.is_some());
    for info in &judgement.segments {
        let from = match info.index.cmp(&last) {
            std::cmp::Ordering::Less => continue,
            std::cmp::Ordering::Equal if is_closed => continue,
            std::cmp::Ordering::Equal => offset,
            std::cmp::Ordering::Greater => 0,
        };
        let name = segment_name(info.index);
        let bytes = disk.read_all(&name).map_err(Error::io("read", &name))?;
        let gap = gap_entry();
        each(&Entry {
            segment: info.index,
            position: None,
            sequence: None,
            head: gap.0,
            body: &gap.1,
        });
        let Some(header) = &info.header else {
            continue;
        };
        let segment = SegmentBytes {
            header,
            bytes: &bytes,
        };
        let mut next = from;
        for (at, head) in segment.heads_from(from) {
            let body = segment.body_of(at, &head).filter(|_| at >= next);
            let Some(body) = body else {
                continue;
            };
            next = at + u64::from(head.length);
            each(&Entry {
                segment: info.index,
                position: info.base.map(|base| base + at),
                sequence: None,
                head,
                body,
            });
        }
    }
    Ok(())
}

fn gap_entry() -> (FrameHead, [u8; Gap::BYTES]) {
    let body = Gap {
        cause: Gap::DAMAGED,
        first: 0,
        last: 0,
        count: u64::MAX,
        from_ns: 0,
        to_ns: 0,
    }
    .encode();
    let head = FrameHead {
        length: (crate::format::HEAD_BYTES + Gap::BYTES) as u32,
        body_crc: body_crc(&body),
        number: 0,
        time_ns: 0,
        unsynced: NO_CLAIM,
        stream: 0,
        kind: kind::GAP,
    };
    (head, body)
}
