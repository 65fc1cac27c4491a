//! A copy of a journal on another host, byte by byte: a standby on that host follows the copy, and continues it when
//! promoted.
//!
//! The copy sends its end, and its [`Source`] sends the frames that follow. Every frame is verified at its place before
//! it is written, so a copy is always a prefix of the journal, and a journal itself. The copy holds a writer's lock
//! while it is written.

pub mod message;
mod source;

pub use crate::source_status::SourceStatus;
pub use source::Source;

use crate::cut;
use crate::disk::{Disk, SEGMENT_BYTES_MAX, zeroed};
use crate::error::Error;
use crate::folder::Folder;
use crate::format::{
    BODY_BYTES_MAX, HEAD_BYTES, HEADER_BYTES, POSITION_MAX, SegmentHeader, kind, segment_name,
    u32_at, u64_at,
};
use crate::journal::unix_ns;
use crate::judge::{Judgement, PrefixEnd, Verdict, judge_recent};
use crate::lock::Lock;
use crate::make::make_segment;
use crate::mark::{self, CopyNumber};
use crate::records::{Begin, End};
use crate::source_status;
use crate::walk::{Cursor, Place, frame_at, is_unknown_and_required};
use std::path::{Path, PathBuf};

/// End of a copy, with a checksum of its last segment up to there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaEnd {
    end: PrefixEnd,
    crc: u32,
}

/// A copy that is being written.
#[derive(Debug)]
pub struct Replica {
    folder: Folder,
    directory: PathBuf,
    /// End of the copy; `None` before the first segment.
    end: Option<PrefixEnd>,
    /// A segment without a frame yet.
    next: Option<SegmentHeader>,
    is_synced: bool,
    /// State in which the directory was found; `None` once a source has accepted the copy.
    found: Option<Judgement>,
    number: Option<CopyNumber>,
    _lock: Lock,
}

impl ReplicaEnd {
    /// Bytes of an encoded end.
    pub const BYTES: usize = HEADER_BYTES + 40;

    /// Position behind the last frame.
    pub fn position(&self) -> u64 {
        self.end.position()
    }

    /// Encodes the end.
    pub fn encode(&self) -> Vec<u8> {
        let PrefixEnd {
            header,
            base,
            first,
            cursor,
            end_crc,
        } = &self.end;
        let mut bytes = header.encode().to_vec();
        for number in [*base, *first, cursor.offset] {
            bytes.extend(number.to_le_bytes());
        }
        let ended = u32::from(end_crc.is_some());
        for number in [cursor.number, end_crc.unwrap_or(0), ended, self.crc] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// Decodes an end; `None` if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<ReplicaEnd> {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        let (header, _) = SegmentHeader::decode(header).ok()?;
        if rest.len() != Self::BYTES - HEADER_BYTES {
            return None;
        }
        let cursor = Cursor {
            offset: u64_at(rest, 16),
            number: u32_at(rest, 24),
        };
        let (base, first) = (u64_at(rest, 0), u64_at(rest, 8));
        let is_inside = (Cursor::FIRST.offset..=header.file_bytes).contains(&cursor.offset);
        let is_bounded = header.file_bytes <= SEGMENT_BYTES_MAX && base.max(first) <= POSITION_MAX;
        (is_inside && is_bounded).then(|| ReplicaEnd {
            end: PrefixEnd {
                header,
                base,
                first,
                cursor,
                end_crc: (u32_at(rest, 32) != 0).then_some(u32_at(rest, 28)),
            },
            crc: u32_at(rest, 36),
        })
    }
}

impl Replica {
    /// Continues the copy in a directory, or starts one. Removals, and the mark of a copy, wait until a source has accepted it: the
    /// first write sets invalid bytes at its end aside; the source sends them again.
    ///
    /// A closed journal may become a copy, such as the journal of a host that comes back. A journal without an end, or with an invalid one,
    /// may not: its last records exist in no other place.
    ///
    /// # Errors
    /// [`Error::Locked`]: another process writes there; [`Error::Copy`]: a journal that is not a copy must be ended first; a file
    /// cannot be read or written.
    pub fn open(directory: &Path) -> Result<Replica, Error> {
        Replica::open_as(directory, None)
    }

    /// [`Replica::open`] with the number of the copy; `None` keeps the number that it has, or takes 1.
    ///
    /// # Errors
    /// As [`Replica::open`].
    pub fn open_as(directory: &Path, number: Option<CopyNumber>) -> Result<Replica, Error> {
        let name = directory.display().to_string();
        let within = |error: Error| error.within(directory);
        let mut folder = Folder::create_directory(directory).map_err(Error::io("create", &name))?;
        let lock = Lock::acquire(directory)?;
        let is_copy = mark::is_copy(&mut folder).map_err(within)?;
        let judgement = settled(&mut folder).map_err(within)?;
        match is_copy {
            true => mark::set(&mut folder, number).map_err(within)?,
            false => check_ended(&judgement, &name)?,
        }
        let is_empty = judgement.segments.is_empty();
        let mut copy = Replica {
            folder,
            directory: directory.to_owned(),
            end: judgement.end.clone(),
            next: None,
            is_synced: true,
            found: Some(judgement),
            number,
            _lock: lock,
        };
        if is_empty {
            copy.accept()?;
        }
        Ok(copy)
    }

    /// Makes the journal a copy, before its first write.
    fn accept(&mut self) -> Result<(), Error> {
        let Some(found) = &self.found else {
            return Ok(());
        };
        let within = |error: Error| error.within(&self.directory);
        source_status::make(&mut self.folder).map_err(within)?;
        mark::set(&mut self.folder, self.number).map_err(within)?;
        if found.verdict != Verdict::Clean {
            cut::clear(&mut self.folder, found, unix_ns()).map_err(within)?;
        }
        self.found = None;
        Ok(())
    }

    /// End of the copy, for a source that continues it; `None` if the copy is empty. A segment without a frame is sent
    /// again: a run that started meanwhile made it again.
    ///
    /// # Errors
    /// The last segment cannot be read.
    pub fn end(&mut self) -> Result<Option<ReplicaEnd>, Error> {
        self.next = None;
        let Some(end) = &self.end else {
            return Ok(None);
        };
        let crc = checksum(&mut self.folder, end).map_err(|error| error.within(&self.directory))?;
        let end = end.clone();
        Ok(Some(ReplicaEnd { end, crc }))
    }

    /// Refuses a copy whose directory or last segment lost its name: acknowledged records could not be found again.
    ///
    /// # Errors
    /// [`Error::Replaced`]; the copy must not be written any more.
    pub fn check_place(&self) -> Result<(), Error> {
        self.folder.check_place()?;
        let last = self.end.as_ref().map(|end| &end.header);
        for header in last.into_iter().chain(&self.next) {
            self.folder.check_file(&segment_name(header.index))?;
        }
        Ok(())
    }

    /// Last status of the source.
    pub fn source_status(&mut self) -> SourceStatus {
        source_status::read(&mut self.folder)
    }

    /// Stores the status of the source, for a standby and for the start that continues the copy.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_source(&mut self, status: &SourceStatus) -> Result<(), Error> {
        self.accept()?;
        let written = source_status::write(&mut self.folder, status);
        written.map_err(|error| error.within(&self.directory))
    }

    /// Position behind the last frame.
    pub fn position(&self) -> u64 {
        self.end.as_ref().map_or(0, PrefixEnd::position)
    }

    /// Sequence of the next frame.
    pub fn next_sequence(&self) -> u64 {
        self.end.as_ref().map_or(0, PrefixEnd::next_sequence)
    }

    /// Epoch of the last frame; 0 if there is no frame.
    pub fn epoch(&self) -> u64 {
        self.end.as_ref().map_or(0, |end| end.header.epoch)
    }

    /// Starts the next segment with this header.
    ///
    /// # Errors
    /// [`Error::Copy`]: the segment does not continue the copy; or the file cannot be made.
    pub fn segment(&mut self, header: &[u8]) -> Result<(), Error> {
        let header = match SegmentHeader::decode(header) {
            Ok((header, _)) if header.file_bytes <= SEGMENT_BYTES_MAX => header,
            Ok(_) => return Err(self.refused("a segment that is too long")),
            Err(fault) => return Err(self.refused(&format!("a header: {fault}"))),
        };
        let continues = self.end.as_ref().is_none_or(|end| {
            let is_next = header.index == end.header.index + 1 && end.end_crc.is_some();
            header.journal == end.header.journal && header.epoch >= end.header.epoch && is_next
        });
        // mutant: journal: a copy takes a segment of another journal
        if !continues {
            return Err(self.refused("a segment that does not continue it"));
        }
        self.accept()?;
        self.sync()?;
        let made = make_segment(&mut self.folder, &header);
        made.map_err(|error| error.within(&self.directory))?;
        self.next = Some(header);
        Ok(())
    }

    /// Writes the next frame, head and body without padding, after every check.
    ///
    /// # Errors
    /// [`Error::Copy`]: the bytes are not the next frame; or the file cannot be written.
    pub fn frame(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (header, cursor) = match (&self.next, &self.end) {
            (Some(header), _) => (header.clone(), Cursor::FIRST),
            (None, Some(end)) if end.end_crc.is_none() => (end.header.clone(), end.cursor),
            _ => return Err(self.refused("a frame without a segment")),
        };
        let length = header.alignment.round_up(bytes.len() as u64);
        let mut padded = bytes.to_vec();
        padded.resize(length as usize, 0);
        let frame = match frame_at(&header, &padded, cursor) {
            Place::Frame(frame) if cursor.offset + length <= header.file_bytes => frame,
            _ => {
                let what = format!("a frame that does not hold at offset {}", cursor.offset);
                return Err(self.refused(&what));
            }
        };
        if frame.head.length as usize != bytes.len() || is_unknown_and_required(frame.head.kind) {
            return Err(self.refused("a frame of another length or of an unknown kind"));
        }
        let mut end = match frame.head.kind {
            kind::BEGIN => self.begun(&header, frame.body)?,
            _ => self.end.clone().expect("a frame behind a Begin"),
        };
        end.cursor = Cursor::behind(&header, &frame);
        if frame.head.kind == kind::END {
            let is_right = End::decode(frame.body).is_some_and(|record| {
                record.position == end.position() && record.next == end.next_sequence()
            });
            if !is_right {
                return Err(self.refused("an End that names another place"));
            }
            end.end_crc = Some(frame.head_crc);
        }
        self.accept()?;
        let name = segment_name(header.index);
        let written = self.folder.write(&name, cursor.offset, &padded);
        written.map_err(|error| Error::io("write", &name)(error).within(&self.directory))?;
        self.is_synced = false;
        self.next = None;
        self.end = Some(end);
        Ok(())
    }

    /// The end after the `Begin` of a segment; a new copy lacks the segment before it.
    fn begun(&self, header: &SegmentHeader, body: &[u8]) -> Result<PrefixEnd, Error> {
        let begin = Begin::decode(body);
        let begin = begin.ok_or_else(|| self.refused("a Begin that cannot be read"))?;
        let continues = self.end.as_ref().is_none_or(|end| {
            let is_at_end = begin.base == end.position() && begin.first == end.next_sequence();
            is_at_end && Some(begin.end_crc) == end.end_crc
        });
        if !continues {
            return Err(self.refused("a Begin that does not continue the segment before"));
        }
        Ok(PrefixEnd {
            header: header.clone(),
            base: begin.base,
            first: begin.first,
            cursor: Cursor::FIRST,
            end_crc: None,
        })
    }

    /// Syncs the copy to the disk.
    ///
    /// # Errors
    /// The disk failed; the copy must not be written any more.
    pub fn sync(&mut self) -> Result<(), Error> {
        if let (false, Some(end)) = (self.is_synced, &self.end) {
            let name = segment_name(end.header.index);
            let synced = self.folder.sync(&name);
            synced.map_err(|error| Error::io("sync", &name)(error).within(&self.directory))?;
        }
        self.is_synced = true;
        Ok(())
    }

    fn refused(&self, what: &str) -> Error {
        Error::Copy {
            name: self.directory.display().to_string(),
            what: format!("its source sent {what}"),
        }
    }
}

/// State of a journal, whose records are on the disk: a hello acknowledges them, and a run that failed at a sync may have left them in the
/// page cache alone.
fn settled<D: Disk>(disk: &mut D) -> Result<Judgement, Error> {
    let mut judgement = judge_recent(disk)?;
    // Claims are of the source's disk. Here, segments before the last one were synced before the next one was made.
    let last = judgement.end.as_ref().map_or(0, |end| end.header.index);
    judgement.walked_from = judgement.walked_from.min(last);
    // mutant: journal: a copy acknowledges what an earlier run could not sync
    cut::settle(disk, &judgement)?;
    Ok(judgement)
}

/// Refuses a journal whose last records exist in no other place, on the disk or in the shared memory of its writer.
fn check_ended(judgement: &Judgement, name: &str) -> Result<(), Error> {
    let ended = judgement.end.as_ref().filter(|end| end.end_crc.is_some());
    let why = match (judgement.verdict, ended) {
        // mutant: journal: the end of a journal that is no copy is cleared
        (Verdict::Clean, Some(_)) => return Ok(()),
        // mutant: journal: a journal without an end becomes a copy
        (Verdict::Clean, None) if judgement.segments.is_empty() => return Ok(()),
        // A start here, beside an engine that was promoted, would send orders.
        (Verdict::Clean, None) => "has no end: copy into an empty directory; start and stop its writer first only if no other host has \
                                   continued this journal"
            .to_owned(),
        _ => format!("has an end that does not hold: copy into an empty directory, or run `touchline journal repair {name}` first"),
    };
    Err(Error::Copy {
        name: name.to_owned(),
        what: format!("a journal that is no copy, and {why}"),
    })
}

/// Checksum of the last segment up to its end.
fn checksum(folder: &mut Folder, end: &PrefixEnd) -> Result<u32, Error> {
    let name = segment_name(end.header.index);
    let mut read = || {
        let mut bytes = zeroed(end.cursor.offset as usize)?;
        folder.read(&name, 0, &mut bytes)?;
        Ok(crc32c::crc32c(&bytes))
    };
    read().map_err(Error::io("read", &name))
}

/// Longest frame.
const FRAME_BYTES_MAX: usize = HEAD_BYTES + BODY_BYTES_MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Alignment, FrameHead, body_crc};
    use crate::simulated_disk::SimulatedDisk;

    /// A copy of one record.
    fn write(disk: &mut SimulatedDisk) {
        let header = SegmentHeader {
            salt: 7,
            index: 1,
            epoch: 1,
            made_ns: 1,
            journal: [1; 16],
            file_bytes: 64 << 10,
            required: 0,
            optional: 0,
            name: [0; 32],
            alignment: Alignment::SECTOR_512,
        };
        make_segment(disk, &header).expect("a disk");
        let begin = Begin {
            base: 0,
            first: 0,
            end_crc: 0,
        };
        let body = begin.encode();
        let head = FrameHead {
            length: (HEAD_BYTES + Begin::BYTES) as u32,
            body_crc: body_crc(&body),
            number: 0,
            time_ns: 1,
            unsynced: 0,
            stream: 0,
            kind: kind::BEGIN,
        };
        let mut frame = head.encode(header.salt, HEADER_BYTES as u64).to_vec();
        frame.extend(body);
        let written = disk.write(&segment_name(1), HEADER_BYTES as u64, &frame);
        written.expect("a disk");
    }

    /// A sync of the run before failed, so that the record is in the page cache and not on the disk, and the next sync answers without an
    /// error. What the next hello acknowledges survives a loss of power.
    #[test]
    fn what_an_earlier_run_could_not_sync_is_on_the_disk_before_it_is_acknowledged() {
        for seed in 1..30 {
            let mut disk = SimulatedDisk::new(seed, false);
            write(&mut disk);
            disk.arm(None, Some(1));
            disk.sync(&segment_name(1)).expect_err("the disk fails");
            disk.arm(None, None);
            let acknowledged = settled(&mut disk).expect("a disk").position();
            assert!(acknowledged > HEADER_BYTES as u64, "seed {seed}");
            disk.lose_power();
            let left = judge_recent(&mut disk).expect("a disk").position();
            assert_eq!(left, acknowledged, "seed {seed}");
        }
    }
}
