//! Follows a journal while it is written: every record once, in order, soon after it was appended.
//!
//! The writer's thread copies the tail to the files without waiting for the disk for more than one sync, so a follower
//! reads only the files, and needs no help of the writer. Bytes at the end that fail verification are not written yet.
//! They are damage only if a later segment was started; so is a segment without a first frame.

use crate::closed::ClosedSegment;
use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::format::{HEADER_BYTES, SegmentHeader, kind, segment_name};
use crate::judge::{PrefixEnd, last_begun, other_name, segment_indexes};
use crate::reader::Entry;
use crate::records::{Begin, End};
use crate::walk::{Cursor, Frame, Place, frame_at, is_unknown_and_required};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of one read, unless a frame is longer.
const WINDOW_BYTES: u64 = 64 << 10;
/// Polls without a record after which the next segment is examined.
const POLLS_WITHOUT: u32 = 256;

/// A reader that continues where it was.
#[derive(Debug)]
pub struct Follow {
    directory: PathBuf,
    folder: Option<Folder>,
    /// Id of the journal, known from its first segment on.
    journal: Option<[u8; 16]>,
    epoch: u64,
    open: Option<Open>,
    next: Next,
    /// Bytes of the open segment from `window_at` on.
    window: Vec<u8>,
    window_at: u64,
    polls_without: u32,
    /// The last segment that was read to its `End`.
    closed: Option<ClosedSegment>,
    bytes_read: u64,
}

/// The segment that is read.
#[derive(Debug)]
struct Open {
    header: SegmentHeader,
    /// `Begin` of the segment, known after its first frame.
    begin: Option<Begin>,
    cursor: Cursor,
}

/// The segment after the last one that ended.
#[derive(Debug, Default, Clone, Copy)]
struct Next {
    /// Index; 0: the oldest segment in the directory.
    index: u64,
    base: u64,
    first: u64,
    end_crc: u32,
}

impl Follow {
    /// A follower from the first record on. The directory need not exist yet.
    pub fn new(directory: &Path) -> Follow {
        Follow {
            directory: directory.to_owned(),
            folder: None,
            journal: None,
            epoch: 0,
            open: None,
            next: Next::default(),
            window: Vec::new(),
            window_at: 0,
            polls_without: 0,
            closed: None,
            bytes_read: 0,
        }
    }

    /// A follower from the first record of this segment on.
    pub fn from_segment(directory: &Path, index: u64) -> Follow {
        let mut follow = Follow::new(directory);
        follow.next.index = index;
        follow
    }

    /// A follower of the last segment that has a record, for the end of a journal alone; `None` if that is not behind the segment of this
    /// number.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn last_behind(directory: &Path, index: u64) -> Result<Option<Follow>, Error> {
        let last = begun_behind(directory, index).map_err(|error| error.within(directory))?;
        Ok(last.map(|index| Follow::from_segment(directory, index)))
    }

    /// A follower of the records after this end.
    pub(crate) fn behind(directory: &Path, folder: Folder, end: &PrefixEnd) -> Follow {
        let header = end.header.clone();
        let mut follow = Follow {
            folder: Some(folder),
            journal: Some(header.journal),
            epoch: header.epoch,
            ..Follow::new(directory)
        };
        match end.end_crc {
            Some(end_crc) => {
                follow.next = Next {
                    index: header.index + 1,
                    base: end.position(),
                    first: end.next_sequence(),
                    end_crc,
                };
            }
            None => {
                let begin = Begin {
                    base: end.base,
                    first: end.first,
                    end_crc: 0,
                };
                follow.open = Some(Open {
                    header,
                    begin: Some(begin),
                    cursor: end.cursor,
                });
            }
        }
        follow
    }

    /// Gives at most `most` new records with a sequence below `below` to `each`: their number.
    ///
    /// # Errors
    /// A file cannot be read, the journal is of another version, or [`Error::Damaged`].
    pub fn poll(
        &mut self,
        below: u64,
        most: usize,
        mut each: impl FnMut(&Entry<'_>),
    ) -> Result<usize, Error> {
        self.frames(below, most, |header, begin, frame| {
            each(&Entry {
                segment: header.index,
                position: Some(begin.base + frame.offset),
                sequence: Some(begin.first + u64::from(frame.head.number)),
                head: frame.head,
                body: frame.body,
            });
        })
    }

    /// [`Follow::poll`], with the frames as stored in their segments.
    pub(crate) fn frames(
        &mut self,
        below: u64,
        most: usize,
        mut each: impl FnMut(&SegmentHeader, &Begin, &Frame<'_>),
    ) -> Result<usize, Error> {
        let mut count = 0;
        while count < most && self.next_sequence() < below {
            let step = self.step(&mut each);
            match step.map_err(|error| error.within(&self.directory))? {
                true => count += 1,
                false => break,
            }
        }
        match count {
            0 => self
                .watch()
                .map_err(|error| error.within(&self.directory))?,
            _ => self.polls_without = 0,
        }
        Ok(count)
    }

    /// Directory of the journal.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Number of the segment that is read, or of the next one.
    pub fn segment(&self) -> u64 {
        let open = self.open.as_ref();
        open.map_or(self.next.index, |open| open.header.index)
    }

    /// The last segment that was read to its `End`.
    pub fn closed(&self) -> Option<ClosedSegment> {
        self.closed
    }

    /// Bytes read from the files so far; of a compressed segment, those that it has expanded.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Offset of the next record in the segment that is read; `None` before its first record.
    pub fn offset(&self) -> Option<u64> {
        let open = self.open.as_ref().filter(|open| open.begin.is_some());
        open.map(|open| open.cursor.offset)
    }

    /// Goes on at a later record of the segment that is read, whose first record was read. False, and no change, if the record of that
    /// number is not there.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn jump(&mut self, offset: u64, number: u32) -> Result<bool, Error> {
        let open = self.open.as_mut().filter(|open| open.begin.is_some());
        let Some(open) = open.filter(|open| open.cursor.offset <= offset) else {
            return Ok(false);
        };
        let before = std::mem::replace(&mut open.cursor, Cursor { offset, number });
        // mutant: journal: a jump trusts its place
        let is_there = self.is_there();
        if let (Some(open), Ok(false) | Err(_)) = (&mut self.open, &is_there) {
            open.cursor = before;
        }
        is_there.map_err(|error| error.within(&self.directory))
    }

    /// Whether the next segment is missing and a later one is there: it was removed before it was read.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn is_overtaken(&mut self) -> Result<bool, Error> {
        Ok(self.overtaken()?.is_some())
    }

    /// The oldest segment, if the next one is before it.
    pub(crate) fn overtaken(&mut self) -> Result<Option<u64>, Error> {
        let (Some(folder), None) = (&mut self.folder, &self.open) else {
            return Ok(None);
        };
        let indexes = segment_indexes(folder).map_err(|error| error.within(&self.directory))?;
        let oldest = indexes.first().copied().unwrap_or(0);
        Ok((self.next.index > 0 && oldest > self.next.index).then_some(oldest))
    }

    /// Whether the next record does not hold, and the segment behind it has a record: the next one is damaged, or a start sets it aside.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn is_passed(&mut self) -> Result<bool, Error> {
        let is_passed = self.is_behind_the_next();
        is_passed.map_err(|error| error.within(&self.directory))
    }

    /// Refuses a directory whose path leads to another one since it was opened.
    ///
    /// # Errors
    /// [`Error::Replaced`].
    pub(crate) fn check_place(&self) -> Result<(), Error> {
        self.folder.as_ref().map_or(Ok(()), Folder::check_place)
    }

    /// Refuses an open segment whose name leads to another file, or to none, since it was opened.
    ///
    /// # Errors
    /// [`Error::Replaced`].
    pub(crate) fn check_segment(&self) -> Result<(), Error> {
        match (&self.folder, &self.open) {
            (Some(folder), Some(open)) => folder.check_file(&segment_name(open.header.index)),
            _ => Ok(()),
        }
    }

    /// Id of the journal; `None` before its first segment was found.
    pub fn journal(&self) -> Option<[u8; 16]> {
        self.journal
    }

    /// Epoch of the last record.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Position behind the last record.
    pub fn position(&self) -> u64 {
        match &self.open {
            Some(Open {
                begin: Some(begin),
                cursor,
                ..
            }) => begin.base + cursor.offset,
            _ => self.next.base,
        }
    }

    /// Sequence of the next record.
    pub fn next_sequence(&self) -> u64 {
        match &self.open {
            Some(Open {
                begin: Some(begin),
                cursor,
                ..
            }) => begin.first + u64::from(cursor.number),
            _ => self.next.first,
        }
    }

    /// Reads a record: `false` if no further record is written.
    fn step(
        &mut self,
        each: &mut impl FnMut(&SegmentHeader, &Begin, &Frame<'_>),
    ) -> Result<bool, Error> {
        if self.open.is_none() && !self.open_next()? {
            return Ok(false);
        }
        if !self.fill()? {
            self.leave_prepared();
            return Ok(false);
        }
        let Some(open) = &mut self.open else {
            return Ok(false);
        };
        let header = &open.header;
        let name = segment_name(header.index);
        let rest = &self.window[(open.cursor.offset - self.window_at) as usize..];
        let Place::Frame(frame) = frame_at(header, rest, open.cursor) else {
            return Ok(false);
        };
        if is_unknown_and_required(frame.head.kind) {
            let what = format!(
                "a frame of kind {} at offset {}, which a reader must know",
                frame.head.kind, frame.offset
            );
            return Err(Error::Foreign { name, what });
        }
        let begin = match open.begin {
            Some(begin) => begin,
            None => self.next.check(&name, Begin::decode(frame.body))?,
        };
        let behind = Cursor::behind(header, &frame);
        each(header, &begin, &frame);
        self.epoch = header.epoch;
        if frame.head.kind != kind::END {
            open.begin = Some(begin);
            open.cursor = behind;
            return Ok(true);
        }
        let next = Next {
            index: header.index + 1,
            base: begin.base + behind.offset,
            first: begin.first + u64::from(behind.number),
            end_crc: frame.head_crc,
        };
        let is_right = End::decode(frame.body)
            .is_some_and(|end| end.position == next.base && end.next == next.first);
        if !is_right {
            return Err(damaged(format!("{name}: its End names another place")));
        }
        self.closed = Some(ClosedSegment {
            index: header.index,
            salt: header.salt,
            begin,
            next: next.begin(),
        });
        self.next = next;
        self.close();
        Ok(true)
    }

    /// Opens the next segment, if it is there.
    fn open_next(&mut self) -> Result<bool, Error> {
        if self.folder.is_none() && self.directory.is_dir() {
            let name = self.directory.display().to_string();
            self.folder = Some(Folder::open(&self.directory).map_err(Error::io("open", &name))?);
        }
        let Some(folder) = &mut self.folder else {
            return Ok(false);
        };
        if self.next.index == 0 {
            let indexes = segment_indexes(folder)?;
            let Some(first) = indexes.first() else {
                return Ok(false);
            };
            self.next.index = *first;
        }
        let name = segment_name(self.next.index);
        let mut bytes = vec![0; HEADER_BYTES];
        match folder.read(&name, 0, &mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::io("read", &name)(error)),
        }
        self.bytes_read += bytes.len() as u64;
        let header = match SegmentHeader::decode(&bytes) {
            Ok((header, _)) => header,
            Err(fault) if fault.is_foreign() => {
                let what = fault.to_string();
                return Err(Error::Foreign { name, what });
            }
            // The rest of a preparation that a crash of the host cut off; the writer makes the segment again.
            Err(_) => {
                folder.close(&name);
                return Ok(false);
            }
        };
        if header.index != self.next.index {
            return Err(damaged(other_name(&name, &header)));
        }
        if *self.journal.get_or_insert(header.journal) != header.journal {
            return Err(damaged(format!("{name}: it belongs to another journal")));
        }
        self.open = Some(Open {
            header,
            begin: None,
            cursor: Cursor::FIRST,
        });
        Ok(true)
    }

    /// Makes sure that the window has the frame at the cursor: `false` if the frame is not written.
    fn fill(&mut self) -> Result<bool, Error> {
        let (Some(open), Some(folder)) = (&self.open, &mut self.folder) else {
            return Ok(false);
        };
        let offset = open.cursor.offset;
        let inside = offset.checked_sub(self.window_at);
        let rest = inside.and_then(|inside| self.window.get(inside as usize..));
        let is_there = rest.is_some_and(|rest| {
            matches!(frame_at(&open.header, rest, open.cursor), Place::Frame(_))
        });
        if is_there {
            return Ok(true);
        }
        let name = segment_name(open.header.index);
        let left = open.header.file_bytes.saturating_sub(offset);
        let mut length = [0; 4];
        if left < length.len() as u64 {
            return Ok(false);
        }
        let read = |folder: &mut Folder, offset, bytes: &mut [u8]| {
            folder
                .read(&name, offset, bytes)
                .map_err(Error::io("read", &name))
        };
        read(folder, offset, &mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        if length == 0 {
            return Ok(false);
        }
        let needed = open
            .header
            .alignment
            .round_up(length)
            .max(WINDOW_BYTES)
            .min(left);
        self.window.resize(needed as usize, 0);
        self.window_at = offset;
        read(folder, offset, &mut self.window)?;
        self.bytes_read += needed;
        Ok(true)
    }

    /// A segment without a frame is closed again: the next run replaces it by another file.
    fn leave_prepared(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.begin.is_none()) {
            self.close();
        }
    }

    fn close(&mut self) {
        if let (Some(open), Some(folder)) = (self.open.take(), &mut self.folder) {
            folder.close(&segment_name(open.header.index));
        }
        self.window.clear();
    }

    /// A started segment shows that the missing records before it will not come.
    fn watch(&mut self) -> Result<(), Error> {
        self.polls_without += 1;
        let is_due = self.polls_without.is_multiple_of(POLLS_WITHOUT);
        if !is_due || !self.is_behind_the_next()? {
            return Ok(());
        }
        let (name, position) = (segment_name(self.segment()), self.position());
        let what = match &self.open {
            Some(open) => {
                let (offset, next) = (open.cursor.offset, segment_name(open.header.index + 1));
                format!(
                    "the frame at offset {offset}, position {position}, does not hold, and {next} is behind it"
                )
            }
            // Where the oldest segment begins is unknown.
            None if position == 0 && self.next.index > 1 => {
                "its header or its Begin does not hold, and later segments are behind it".to_owned()
            }
            None => format!(
                "its header or its Begin, position {position}, does not hold, and later segments are behind it"
            ),
        };
        Err(damaged(format!("{name}: {what}")))
    }

    fn is_behind_the_next(&mut self) -> Result<bool, Error> {
        let (Some(open), Some(folder)) = (&self.open, &mut self.folder) else {
            // mutant: journal: a segment without its begin is not written yet
            return self.is_behind_the_begin();
        };
        let name = segment_name(open.header.index + 1);
        let mut begun = [0; 4];
        let is_read = folder.read(&name, HEADER_BYTES as u64, &mut begun).is_ok();
        folder.close(&name);
        Ok(is_read && begun != [0; 4] && !self.is_there()?)
    }

    /// Whether the next segment has no first frame that holds, and a later one has. Prepared segments are behind the last one with a frame.
    fn is_behind_the_begin(&mut self) -> Result<bool, Error> {
        let index = self.next.index;
        // One file is looked at before the directory, which may have thousands: the end of a journal has no second segment behind it.
        if index == 0
            || !self.has_file(index + 1)?
            || begun_behind(&self.directory, index)?.is_none()
        {
            return Ok(false);
        }
        // All of it was written before the later one.
        if self.open_next()? && self.is_there()? {
            return Ok(false);
        }
        self.leave_prepared();
        // Without a file it was removed, maybe just now, and is not damaged.
        self.has_file(index)
    }

    /// Whether a segment has a file, which is not kept open.
    fn has_file(&mut self, index: u64) -> Result<bool, Error> {
        let Some(folder) = &mut self.folder else {
            return Ok(false);
        };
        let name = segment_name(index);
        let length = folder.length(&name);
        folder.close(&name);
        match length {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("examine", &name)(error)),
        }
    }

    /// Whether the next frame has come meanwhile.
    fn is_there(&mut self) -> Result<bool, Error> {
        let is_filled = self.fill()?;
        let Some(open) = self.open.as_ref().filter(|_| is_filled) else {
            return Ok(false);
        };
        let rest = &self.window[(open.cursor.offset - self.window_at) as usize..];
        Ok(matches!(
            frame_at(&open.header, rest, open.cursor),
            Place::Frame(_)
        ))
    }
}

impl Next {
    /// The `Begin` that the next segment has.
    fn begin(&self) -> Begin {
        Begin {
            base: self.base,
            first: self.first,
            end_crc: self.end_crc,
        }
    }

    /// The `Begin` of this segment: it names the end of the segment before.
    fn check(&self, name: &str, begin: Option<Begin>) -> Result<Begin, Error> {
        // The predecessor of the oldest segment is unknown.
        let is_oldest = self.end_crc == 0 && self.base == 0;
        let begin = begin.filter(|begin| {
            let is_next = begin.base == self.base && begin.first == self.first;
            is_oldest || is_next && begin.end_crc == self.end_crc
        });
        begin.ok_or_else(|| damaged(format!("{name}: it does not continue the segment before")))
    }
}

/// The last segment with a first frame that holds, if it is behind the segment of this number. No file stays open: a prepared one may be
/// replaced.
fn begun_behind(directory: &Path, index: u64) -> Result<Option<u64>, Error> {
    let last = || {
        let name = directory.display().to_string();
        let mut folder = Folder::open(directory).map_err(Error::io("open", &name))?;
        last_begun(&mut folder, index)
    };
    match last() {
        // Removed meanwhile.
        Err(error) if error.is_missing() => Ok(None),
        last => last,
    }
}

fn damaged(what: String) -> Error {
    Error::Damaged {
        name: String::new(),
        what,
    }
}
