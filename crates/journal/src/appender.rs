//! The hot side of a journal: frames into the tail. No system call, no allocation, no waiting.

use crate::format::{
    Alignment, BODY_BYTES_MAX, END_BYTES, FrameHead, HEAD_BYTES, HEADER_BYTES, NO_CLAIM,
    SegmentHeader, body_crc, kind, u32_at,
};
use crate::records::{Begin, End};
use crate::tail::{State, Tail};
use crate::walk::Cursor;
use touchline_shm::Words;

/// Why a record was not appended. Each of them means that the journal cannot be written: do not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The body is longer than [`Appender::body_bytes_max`].
    #[error("a record of {bytes} bytes does not fit the journal, the limit is {limit}")]
    TooLong {
        /// Bytes of the body.
        bytes: usize,
        /// Largest body.
        limit: usize,
    },
    /// The kind belongs to the journal itself.
    #[error("records of kind {0} are written by the journal itself")]
    Kind(u16),
    /// The journal thread still has to clear the place: the disk is one ring behind.
    #[error("the tail of the journal is full: the disk is {behind} bytes behind")]
    TailFull {
        /// Bytes that are committed and not durable.
        behind: u64,
    },
    /// The segment is full, and the next one could not be prepared.
    #[error("the journal has no next segment: the disk is full, or too slow to prepare one")]
    NoSegment,
    /// A write or a sync failed.
    #[error("the journal has failed and is not written any more: system error {errno}")]
    Failed {
        /// Error number of the system.
        errno: u64,
    },
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
    /// The disk did not take the end of the journal in the given time.
    #[error("the disk does not take the end of the journal: it is {behind} bytes behind")]
    Stopped {
        /// Bytes that are committed and not durable.
        behind: u64,
    },
}

/// One frame to append.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Stream; 0 is the journal itself.
    pub stream: u16,
    /// Kind; `Begin` and `End` are refused.
    pub kind: u16,
    /// Time, ns since the Unix epoch.
    pub time_ns: u64,
    /// Body.
    pub body: &'a [u8],
}

/// Place of an appended frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Position of the frame.
    pub position: u64,
    /// Position behind it: the frame is durable when [`Appender::durable`] is at least this.
    pub end: u64,
    /// Sequence in the journal.
    pub sequence: u64,
}

/// The only thread that appends to a journal.
#[derive(Debug)]
pub struct Appender<W> {
    tail: Tail<W>,
    alignment: Alignment,
    file_bytes: u64,
    salt: u64,
    index: u64,
    base: u64,
    first: u64,
    number: u32,
    offset: u64,
    /// The ring may be used below.
    limit: u64,
    is_closed: bool,
}

/// Start of a run: the new segment, and the position and epoch that it continues.
#[derive(Debug, Clone)]
pub(crate) struct StartingPoint {
    pub header: SegmentHeader,
    pub begin: Begin,
    /// Place of the first frame of the run.
    pub cursor: Cursor,
}

impl StartingPoint {
    /// Position of the first frame of the run.
    pub fn position(&self) -> u64 {
        self.begin.base + self.cursor.offset
    }
}

impl<W: Words> Appender<W> {
    /// Appends `Begin` to the first segment of a run.
    pub(crate) fn start(
        tail: Tail<W>,
        start: &StartingPoint,
        time_ns: u64,
    ) -> Result<Self, Refused> {
        let header = &start.header;
        let mut appender = Self {
            limit: tail.cleared() + tail.ring_bytes(),
            tail,
            alignment: header.alignment,
            file_bytes: header.file_bytes,
            salt: header.salt,
            index: header.index,
            base: start.begin.base,
            first: start.begin.first,
            number: start.cursor.number,
            offset: start.cursor.offset,
            is_closed: false,
        };
        appender
            .tail
            .set_segment(appender.index, appender.base, appender.salt);
        // mutant: simulation: a start continues the last segment
        appender.put(&Record {
            stream: 0,
            kind: kind::BEGIN,
            time_ns,
            body: &start.begin.encode(),
        })?;
        Ok(appender)
    }

    /// Appends a record. In mode `host` it may be acted upon at once; in mode `disk` when [`Appender::durable`] has
    /// reached its end.
    ///
    /// # Errors
    /// The record was not appended, and the journal cannot be written: this sets the kill switch.
    #[inline]
    pub fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        if record.kind == kind::BEGIN || record.kind == kind::END {
            return Err(Refused::Kind(record.kind));
        }
        let limit = self.body_bytes_max();
        if record.body.len() > limit {
            let bytes = record.body.len();
            return Err(Refused::TooLong { bytes, limit });
        }
        if self.is_closed {
            return Err(Refused::Closed);
        }
        // mutant: journal: records are accepted after a failure
        if let (State::Failed, errno) = self.tail.state() {
            return Err(Refused::Failed { errno });
        }
        let length = self
            .alignment
            .round_up((HEAD_BYTES + record.body.len()) as u64);
        if self.offset + length + self.end_bytes() > self.file_bytes {
            self.rotate(length, record.time_ns)?;
        }
        self.put(record)
    }

    /// Whether a record with a body of this many bytes fits the present segment.
    pub fn segment_has_room(&self, bytes: usize) -> bool {
        let length = self.alignment.round_up((HEAD_BYTES + bytes) as u64);
        self.offset + length + self.end_bytes() <= self.file_bytes
    }

    /// Ends the present segment and begins the next one: the next record is its first one behind `Begin`.
    ///
    /// # Errors
    /// As [`Appender::append`]; the present segment goes on then.
    pub fn begin_segment(&mut self, time_ns: u64) -> Result<(), Refused> {
        if self.is_closed {
            return Err(Refused::Closed);
        }
        if let (State::Failed, errno) = self.tail.state() {
            return Err(Refused::Failed { errno });
        }
        self.rotate(0, time_ns)
    }

    /// Number of the segment.
    pub fn segment(&self) -> u64 {
        self.index
    }

    /// Largest body, bytes: limited by a quarter of the ring, by the size of a segment, and by the format.
    pub fn body_bytes_max(&self) -> usize {
        let begin = self.alignment.round_up((HEAD_BYTES + Begin::BYTES) as u64);
        let around = HEADER_BYTES as u64 + begin + self.end_bytes() + self.alignment.bytes();
        let of_segment = self.file_bytes.saturating_sub(around + HEAD_BYTES as u64);
        let limit = of_segment.min(self.tail.ring_bytes() / 4);
        BODY_BYTES_MAX.min(limit as usize)
    }

    /// All records that end at or below this position are on the disk.
    #[inline]
    pub fn durable(&self) -> u64 {
        self.tail.durable()
    }

    /// Position behind the last record.
    pub fn position(&self) -> u64 {
        self.base + self.offset
    }

    /// Appends `End`; nothing may be appended any more.
    ///
    /// # Errors
    /// The tail is full, or the journal has failed; it ends without `End`, which the next start writes.
    pub fn close(&mut self, time_ns: u64) -> Result<(), Refused> {
        if self.is_closed {
            return Ok(());
        }
        self.is_closed = true;
        if let (State::Failed, errno) = self.tail.state() {
            return Err(Refused::Failed { errno });
        }
        self.end_segment(time_ns).map(|_| ())
    }

    fn end_bytes(&self) -> u64 {
        self.alignment.round_up(END_BYTES as u64)
    }

    #[cold]
    fn rotate(&mut self, length: u64, time_ns: u64) -> Result<(), Refused> {
        let (index, salt) = self.tail.prepared();
        if index != self.index + 1 {
            return Err(Refused::NoSegment);
        }
        // All four must fit (`End`, the next header, `Begin` and the record), or the segment stays unchanged.
        let begin = self.alignment.round_up((HEAD_BYTES + Begin::BYTES) as u64);
        let needed = self.end_bytes() + HEADER_BYTES as u64 + begin + length;
        self.check_room(needed)?;
        let end_crc = self.end_segment(time_ns)?;
        self.base += self.offset;
        self.first += u64::from(self.number);
        self.number = 0;
        self.offset = HEADER_BYTES as u64;
        self.index = index;
        self.salt = salt;
        self.tail.set_segment(index, self.base, salt);
        let begin = Begin {
            base: self.base,
            first: self.first,
            end_crc,
        };
        self.put(&Record {
            stream: 0,
            kind: kind::BEGIN,
            time_ns,
            body: &begin.encode(),
        })?;
        Ok(())
    }

    /// Appends `End`: the checksum of its head.
    fn end_segment(&mut self, time_ns: u64) -> Result<u32, Refused> {
        let end = End {
            position: self.base + self.offset + self.end_bytes(),
            next: self.first + u64::from(self.number) + 1,
            set_aside: 0,
            cause: End::ROTATED,
        };
        let at = self.put(&Record {
            stream: 0,
            kind: kind::END,
            time_ns,
            body: &end.encode(),
        })?;
        let mut first = [0; 8];
        self.tail.read(at.position, &mut first);
        Ok(u32_at(&first, 4))
    }

    #[inline]
    fn put(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        let length = HEAD_BYTES + record.body.len();
        let padded = self.alignment.round_up(length as u64);
        self.check_room(padded)?;
        let position = self.base + self.offset;
        let behind = position.saturating_sub(self.tail.durable());
        let head = FrameHead {
            length: length as u32,
            body_crc: body_crc(record.body),
            number: self.number,
            time_ns: record.time_ns,
            // mutant: simulation: each frame claims that all before it is durable
            unsynced: u32::try_from(behind).unwrap_or(NO_CLAIM),
            stream: record.stream,
            kind: record.kind,
        };
        let bytes = head.encode(self.salt, self.offset);
        self.tail.put_frame(position, &bytes, record.body);
        self.offset += padded;
        let sequence = self.first + u64::from(self.number);
        self.number += 1;
        let end = self.base + self.offset;
        self.tail.set_committed(end);
        Ok(Appended {
            position,
            end,
            sequence,
        })
    }

    #[inline]
    fn check_room(&mut self, bytes: u64) -> Result<(), Refused> {
        let end = self.base + self.offset + bytes;
        if end > self.limit {
            self.limit = self.tail.cleared() + self.tail.ring_bytes();
            if end > self.limit {
                let behind = self.position().saturating_sub(self.tail.durable());
                return Err(Refused::TailFull { behind });
            }
        }
        Ok(())
    }
}
