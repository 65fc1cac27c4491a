//! The frames that a copy of a journal lacks, from the journal's files: soon after they were written, without help of
//! the writer.
//!
//! A second reader runs ahead of the sent frames, from the last segment on, so that the copy receives the end of the journal before the
//! records up to there.

use super::message::{self, Message};
use super::{ReplicaEnd, checksum};
use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::follow::Follow;
use crate::format::{HEADER_BYTES, SegmentHeader, segment_name};
use crate::judge::segment_indexes;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Most frames that a look reads ahead.
const AHEAD_FRAMES_MAX: usize = 1_024;
/// Longest search for the end, until a known part is sent all the same: a copy that hears nothing for three seconds connects again, and a writer
/// that is faster than the reader ahead must not keep everything from it.
const SEARCH_MAX: Duration = Duration::from_secs(1);
/// Polls without a frame after which the next segment is looked for.
const POLLS_WITHOUT: u32 = 256;

/// The source of one copy.
#[derive(Debug)]
pub struct Source {
    follow: Follow,
    /// Index of the segment whose header the copy has.
    segment: u64,
    /// Reader at the end of the journal. `None` after an error, which `follow` meets when everything before it is sent.
    ahead: Option<Follow>,
    /// Time of the first look since the last one that came to the end.
    searches_since: Option<Instant>,
    /// Position after the last frame that either reader has read.
    end: u64,
    polls_without: u32,
    announced: Option<u64>,
}

impl Source {
    /// Continues a copy from its end.
    ///
    /// # Errors
    /// [`Error::Copy`]: it is not a copy of this journal, or has records that the journal has lost with its host. [`Error::Io`]: a file cannot
    /// be read at present.
    pub fn new(directory: &Path, end: Option<&ReplicaEnd>) -> Result<Source, Error> {
        let Some(end) = end else {
            let ahead = Follow::last_behind(directory, 0)?;
            let ahead = ahead.unwrap_or_else(|| Follow::new(directory));
            return Ok(Source::of(Follow::new(directory), ahead, 0));
        };
        let name = directory.display().to_string();
        let mut folder = Folder::open(directory).map_err(Error::io("open", &name))?;
        let index = end.end.header.index;
        let oldest = segment_indexes(&mut folder).map_err(|error| error.within(directory))?;
        if let Some(oldest) = oldest.first().copied().filter(|oldest| *oldest > index) {
            return Err(removed(directory, index, oldest));
        }
        let is_of_this = is_prefix(&mut folder, end).map_err(|error| error.within(directory))?;
        // mutant: journal: a copy of another journal is continued
        if !is_of_this {
            let what = "the other side is not a copy of this journal: it belongs to another one, it was promoted, or it has \
                        records that this host has lost; if this journal is the right one, remove the copy and begin again";
            return Err(Error::Copy {
                name,
                what: what.to_owned(),
            });
        }
        let follow = Follow::behind(directory, folder, &end.end);
        let ahead = match Follow::last_behind(directory, index)? {
            Some(ahead) => ahead,
            None => {
                let folder = Folder::open(directory).map_err(Error::io("open", &name))?;
                Follow::behind(directory, folder, &end.end)
            }
        };
        Ok(Source::of(follow, ahead, index))
    }

    fn of(follow: Follow, ahead: Follow, segment: u64) -> Source {
        Source {
            end: follow.position(),
            follow,
            segment,
            ahead: Some(ahead),
            searches_since: None,
            announced: None,
            polls_without: 0,
        }
    }

    /// Refuses a journal whose directory was replaced: its end is not that of the journal at this path. The reader ahead starts again if its
    /// segment was replaced: a start that cuts the journal sets the segments behind the cut aside.
    ///
    /// # Errors
    /// [`Error::Replaced`]; the files cannot be read.
    pub fn check_place(&mut self) -> Result<(), Error> {
        self.follow.check_place()?;
        // mutant: journal: the end of a journal is that of a segment which was set aside
        if self
            .ahead
            .as_ref()
            .is_some_and(|ahead| ahead.check_segment().is_err())
        {
            let (directory, index) = (self.follow.directory(), self.follow.segment());
            self.ahead = Follow::last_behind(directory, index)?;
            self.end = self.follow.position();
        }
        Ok(())
    }

    /// Reads on towards the end of the journal: the position behind the last record that was read.
    pub fn look_ahead(&mut self) -> u64 {
        if let Some(ahead) = &mut self.ahead {
            let read = ahead.frames(u64::MAX, AHEAD_FRAMES_MAX, |_, _, _| {});
            self.end = self.end.max(ahead.position());
            self.searches_since = match read {
                // mutant: journal: a copy that is far behind knows a part of it
                Ok(AHEAD_FRAMES_MAX) => self.searches_since.or_else(|| Some(Instant::now())),
                _ => None,
            };
            if read.is_err() {
                self.ahead = None;
            }
        }
        self.end = self.end.max(self.follow.position());
        self.end
    }

    /// Appends at most `most` frames that the copy lacks to `out`, as messages. Returns their number. The end of the
    /// journal precedes them, with the time of this source's host, if it has moved; no frame is sent before the reader ahead has come there.
    ///
    /// # Errors
    /// As [`Follow::poll`]; [`Error::Copy`]: the next segment was removed before it was sent.
    pub fn poll(&mut self, most: usize, time_ns: u64, out: &mut Vec<u8>) -> Result<usize, Error> {
        let end = self.look_ahead();
        if self
            .searches_since
            .is_some_and(|since| since.elapsed() < SEARCH_MAX)
        {
            return Ok(0);
        }
        if self.announced != Some(end) {
            self.announce(end, time_ns, out);
        }
        let below = self.ahead.as_ref().map_or(u64::MAX, Follow::next_sequence);
        let segment = &mut self.segment;
        let frames = self.follow.frames(below, most, |header, _, frame| {
            if header.index != *segment {
                *segment = header.index;
                message::put(out, Message::Segment(&header.encode()));
            }
            let head = frame.head.encode(header.salt, frame.offset);
            message::put_frame(out, &head, frame.body);
        })?;
        self.watch(frames)?;
        Ok(frames)
    }

    /// Refuses a copy whose next segment was removed: it would wait for ever.
    fn watch(&mut self, frames: usize) -> Result<(), Error> {
        self.polls_without = match frames {
            0 => self.polls_without + 1,
            _ => 0,
        };
        if !self.polls_without.is_multiple_of(POLLS_WITHOUT) || frames > 0 {
            return Ok(());
        }
        // mutant: journal: a copy waits for a segment that was removed
        match self.follow.overtaken()? {
            Some(oldest) => Err(removed(
                self.follow.directory(),
                self.follow.segment(),
                oldest,
            )),
            None => Ok(()),
        }
    }

    /// Appends the end of the journal as of the last look: the copy knows that the source lives. Before the first look that came to the end
    /// there is none.
    pub fn announce_again(&mut self, time_ns: u64, out: &mut Vec<u8>) {
        if self.announced.is_some() {
            self.announce(self.end, time_ns, out);
        }
    }

    fn announce(&mut self, position: u64, time_ns: u64, out: &mut Vec<u8>) {
        self.announced = Some(position);
        message::put(out, Message::Position { position, time_ns });
    }

    /// Position behind the last frame that was sent.
    pub fn position(&self) -> u64 {
        self.follow.position()
    }

    /// Position behind the last record of the journal, as of the last look.
    pub fn end(&self) -> u64 {
        self.end
    }
}

/// The refusal of a copy that needs a segment which was removed.
fn removed(directory: &Path, index: u64, oldest: u64) -> Error {
    Error::Copy {
        name: directory.display().to_string(),
        what: format!(
            "segments below {oldest} were removed, and the copy needs segment {index}: remove the copy and begin it again"
        ),
    }
}

/// Whether the copy has what the journal has up to the copy's end. A file that cannot be read says nothing about the copy.
fn is_prefix(folder: &mut Folder, copy: &ReplicaEnd) -> Result<bool, Error> {
    let mut bytes = [0; HEADER_BYTES];
    let name = segment_name(copy.end.header.index);
    let read = folder.read(&name, 0, &mut bytes);
    let crc = match read.map_err(Error::io("read", &name)) {
        Ok(()) => match SegmentHeader::decode(&bytes) {
            Ok((header, _)) if header == copy.end.header => checksum(folder, &copy.end),
            _ => return Ok(false),
        },
        Err(error) => Err(error),
    };
    match crc {
        Ok(crc) => Ok(crc == copy.crc),
        // The copy has more than the journal.
        Err(Error::Io { source, .. }) if is_shorter(&source) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_shorter(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof)
}
