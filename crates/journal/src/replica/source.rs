//! What a copy of a journal lacks, from the journal's files: soon after it was written, without the writer.

use super::message::{self, Message};
use super::{ReplicaEnd, checksum};
use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::follow::Follow;
use crate::format::{HEADER_BYTES, SegmentHeader, segment_name};
use std::path::Path;

/// The source of one copy.
#[derive(Debug)]
pub struct Source {
    follow: Follow,
    /// Index of the segment whose header the copy has.
    segment: u64,
}

impl Source {
    /// Continues a copy from its end.
    ///
    /// # Errors
    /// [`Error::Copy`]: it is not a copy of this journal, or has records that the journal has lost with its host.
    pub fn new(directory: &Path, end: Option<&ReplicaEnd>) -> Result<Source, Error> {
        let Some(end) = end else {
            return Ok(Source {
                follow: Follow::new(directory),
                segment: 0,
            });
        };
        let name = directory.display().to_string();
        let mut folder = Folder::open(directory).map_err(Error::io("open", &name))?;
        let is_of_this = is_prefix(&mut folder, end);
        // mutant: journal: a copy of another journal is continued
        if !is_of_this {
            let what = "the other side is not a copy of this journal: it belongs to another one, it was promoted, or it has \
                        records that this host has lost; if this journal is the right one, remove the copy and begin again";
            return Err(Error::Copy {
                name,
                what: what.to_owned(),
            });
        }
        Ok(Source {
            follow: Follow::behind(directory, folder, &end.end),
            segment: end.end.header.index,
        })
    }

    /// Appends at most `most` frames that the copy lacks to `out`, as messages: their number.
    ///
    /// # Errors
    /// As [`Follow::poll`].
    pub fn poll(&mut self, most: usize, out: &mut Vec<u8>) -> Result<usize, Error> {
        let segment = &mut self.segment;
        self.follow.frames(u64::MAX, most, |header, _, frame| {
            if header.index != *segment {
                *segment = header.index;
                message::put(out, Message::Segment(&header.encode()));
            }
            let head = frame.head.encode(header.salt, frame.offset);
            message::put_frame(out, &head, frame.body);
        })
    }

    /// Position behind the last frame that was sent.
    pub fn position(&self) -> u64 {
        self.follow.position()
    }
}

fn is_prefix(folder: &mut Folder, copy: &ReplicaEnd) -> bool {
    let mut bytes = [0; HEADER_BYTES];
    let name = segment_name(copy.end.header.index);
    let is_read = folder.read(&name, 0, &mut bytes).is_ok();
    let header = SegmentHeader::decode(&bytes).ok().filter(|_| is_read);
    header.is_some_and(|(header, _)| header == copy.end.header)
        && checksum(folder, &copy.end).is_ok_and(|crc| crc == copy.crc)
}
