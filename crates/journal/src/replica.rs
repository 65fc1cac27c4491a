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

use crate::disk::{Disk, SEGMENT_BYTES_MAX, zeroed};
use crate::error::Error;
use crate::folder::Folder;
use crate::format::{
    BODY_BYTES_MAX, HEAD_BYTES, HEADER_BYTES, POSITION_MAX, SegmentHeader, kind, segment_name,
    u32_at, u64_at,
};
use crate::judge::{Judgement, PrefixEnd, Verdict, judge_recent};
use crate::lock::Lock;
use crate::make::{make_segment, write_zeros};
use crate::mark;
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
    /// Continues the copy in a directory, or starts one. Invalid bytes at its end are cleared; the source sends them
    /// again.
    ///
    /// A closed journal may become a copy, such as the journal of a host that comes back. A journal with an invalid end
    /// may not: its last records exist in no other place.
    ///
    /// # Errors
    /// [`Error::Locked`]: another process writes there; [`Error::Copy`]: a journal that is not a copy must be repaired first; a file
    /// cannot be read or written.
    pub fn open(directory: &Path) -> Result<Replica, Error> {
        let name = directory.display().to_string();
        let within = |error: Error| error.within(directory);
        let mut folder = Folder::create_directory(directory).map_err(Error::io("create", &name))?;
        let lock = Lock::acquire(directory)?;
        let is_copy = mark::is_copy(&mut folder).map_err(within)?;
        let judgement = judge_recent(&mut folder).map_err(within)?;
        // mutant: journal: the end of a journal that is no copy is cleared
        if !is_copy && judgement.verdict != Verdict::Clean {
            let what = format!(
                "a journal that is no copy, and whose end does not hold: run `touchline journal repair {name}`, or copy into an \
                 empty directory"
            );
            return Err(Error::Copy { name, what });
        }
        source_status::make(&mut folder).map_err(within)?;
        mark::set(&mut folder).map_err(within)?;
        clear(&mut folder, &judgement).map_err(within)?;
        Ok(Replica {
            folder,
            directory: directory.to_owned(),
            end: judgement.end,
            next: None,
            is_synced: false,
            _lock: lock,
        })
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

    /// Last status of the source.
    pub fn source_status(&mut self) -> SourceStatus {
        source_status::read(&mut self.folder)
    }

    /// Stores the status of the source, for a standby and for the start that continues the copy.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_source(&mut self, status: &SourceStatus) -> Result<(), Error> {
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

/// Clears the bytes after the end of a copy, and removes later segments: the source sends them again.
fn clear(folder: &mut Folder, judgement: &Judgement) -> Result<(), Error> {
    if judgement.verdict == Verdict::Clean {
        return Ok(());
    }
    let last = judgement.end.as_ref().map_or(0, |end| end.header.index);
    for segment in judgement.segments.iter().filter(|one| one.index > last) {
        let name = segment_name(segment.index);
        folder.remove(&name).map_err(Error::io("remove", &name))?;
    }
    if let Some(end) = &judgement.end {
        let name = segment_name(last);
        write_zeros(folder, &name, end.cursor.offset, end.header.file_bytes)?;
        folder.sync(&name).map_err(Error::io("sync", &name))?;
    }
    folder
        .sync_names()
        .map_err(Error::io("sync the directory of", "a segment"))
}
