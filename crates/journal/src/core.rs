//! The journal thread without a thread: copies the tail to the files, syncs, prepares the next segment, writes zeros ahead.

use crate::disk::Disk;
use crate::error::Error;
use crate::format::{HEAD_BYTES, HEADER_BYTES, SegmentHeader, kind, segment_name};
use crate::make::{make_segment, write_zeros};
use crate::tail::{State, Tail};
use crate::zeros::ZeroAhead;
use touchline_shm::Words;

/// Bytes that one write takes from the tail.
const BATCH_BYTES: u64 = 1 << 20;
/// Time between two attempts to prepare a segment on a full disk, ns.
const RETRY_NS: u64 = 1_000_000_000;

/// Source of random numbers.
pub(crate) type Random = Box<dyn FnMut() -> u64 + Send>;

/// Segments that the journal thread syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// All written segments, in every round.
    Always,
    /// Segments that have their `End`.
    CompleteSegments,
}

/// The present time, by two clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    /// Nanoseconds since 1970: the time in headers.
    pub wall_ns: u64,
    /// By the steady clock: the time of attempts.
    pub steady_ns: u64,
}

impl Now {
    /// The start of a run, where its steady clock begins.
    pub fn at_start(wall_ns: u64) -> Now {
        Now {
            wall_ns,
            steady_ns: 0,
        }
    }

    /// The same time by both clocks.
    pub fn at(ns: u64) -> Now {
        Now {
            wall_ns: ns,
            steady_ns: ns,
        }
    }
}

/// State of the journal thread.
pub(crate) struct Core<D, W> {
    disk: D,
    tail: Tail<W>,
    /// Header of every segment of the run, but for index, salt and time.
    template: SegmentHeader,
    zeros: Option<ZeroAhead>,
    sync: Sync,
    random: Random,
    /// Segment that is written.
    index: u64,
    base: u64,
    /// Position of the next frame to copy.
    next: u64,
    /// Segments that were written since their last sync, oldest first.
    dirty: Vec<u64>,
    buffer: Vec<u8>,
    /// Time of the next attempt to prepare a segment, by the steady clock.
    retry_at_ns: u64,
}

impl<D: Disk, W: Words> Core<D, W> {
    /// Continues where the tail of the run begins, in its first segment.
    pub fn new(
        disk: D,
        tail: Tail<W>,
        first: &SegmentHeader,
        base: u64,
        write_zeros: bool,
        random: Random,
    ) -> Self {
        let zeros = write_zeros.then(|| {
            let mut zeros = ZeroAhead::new(first.file_bytes);
            zeros.add(first.index);
            zeros
        });
        Self {
            disk,
            template: first.clone(),
            zeros,
            sync: Sync::Always,
            random,
            index: first.index,
            base,
            next: tail.written(),
            dirty: Vec::new(),
            buffer: vec![0; BATCH_BYTES.min(tail.ring_bytes()) as usize],
            retry_at_ns: 0,
            tail,
        }
    }

    /// Sets the sync policy, from the next round on.
    pub fn set_sync(&mut self, sync: Sync) {
        self.sync = sync;
    }

    /// One round: makes committed records durable, and prepares the next segment. True if anything was written.
    ///
    /// # Errors
    /// The journal has failed, and the tail has this state. Do not call this again afterwards.
    pub fn step(&mut self, now: Now) -> Result<bool, Error> {
        let result = self.round(now);
        if let Err(error) = &result {
            self.tail.set_state(State::Failed, errno(error));
        }
        result
    }

    fn round(&mut self, now: Now) -> Result<bool, Error> {
        let wrote = self.copy()?;
        self.sync()?;
        self.clear();
        self.prepare(now)?;
        self.write_zeros_ahead()?;
        Ok(wrote)
    }

    /// Writes every committed frame to its file.
    fn copy(&mut self) -> Result<bool, Error> {
        let committed = self.tail.committed();
        let mut wrote = false;
        while self.next < committed {
            let (end, is_end_of_segment) = self.batch(committed);
            let count = (end - self.next) as usize;
            if self.buffer.len() < count {
                self.buffer.resize(count, 0);
            }
            let bytes = &mut self.buffer[..count];
            self.tail.read(self.next, bytes);
            let name = segment_name(self.index);
            self.disk
                .write(&name, self.next - self.base, bytes)
                .map_err(Error::io("write", &name))?;
            if self.dirty.last() != Some(&self.index) {
                self.dirty.push(self.index);
            }
            self.next = end;
            if is_end_of_segment {
                self.index += 1;
                self.base = end;
                self.next = end + HEADER_BYTES as u64;
            }
            self.tail.set_written(end);
            wrote = true;
        }
        Ok(wrote)
    }

    /// End of the frames that one write takes, and whether the last of them is an `End`.
    fn batch(&self, committed: u64) -> (u64, bool) {
        let mut end = self.next;
        loop {
            let length = u64::from(self.tail.length_at(end)).max(HEAD_BYTES as u64);
            let kind = self.tail.kind_at(end);
            end += self.template.alignment.round_up(length);
            if kind == kind::END {
                return (end, true);
            }
            if end >= committed || end - self.next >= BATCH_BYTES {
                return (end, false);
            }
        }
    }

    /// Syncs the written bytes as the mode requires, oldest segment first, and moves the durable position.
    fn sync(&mut self) -> Result<(), Error> {
        let is_open = self.dirty.last() == Some(&self.index);
        let is_left = is_open && self.sync == Sync::CompleteSegments;
        let synced = match is_left {
            true => self.base,
            false => self.tail.written(),
        };
        let left = self
            .dirty
            .split_off(self.dirty.len() - usize::from(is_left));
        if self.dirty.is_empty() {
            self.dirty = left;
            return Ok(());
        }
        // mutant: simulation: the durable position moves before the sync
        // mutant: simulation: a sync covers only the newest segment
        for index in &self.dirty {
            let name = segment_name(*index);
            // Never again: the system may hold the lost pages for clean.
            // mutant: simulation: a sync that failed is tried again
            self.disk.sync(&name).map_err(Error::io("sync", &name))?;
        }
        self.dirty = left;
        self.tail.set_durable(synced);
        Ok(())
    }

    /// Clears the ring for the hot thread up to half a ring behind the end of the file, only where the file has the
    /// bytes and, in mode `disk`, where they are durable: cleared frames survive the process.
    fn clear(&mut self) {
        let behind = self
            .tail
            .written()
            .saturating_sub(self.tail.ring_bytes() / 2);
        let kept = match self.sync {
            Sync::Always => self.tail.durable(),
            Sync::CompleteSegments => behind,
        };
        let to = behind.min(kept) & !7;
        let from = self.tail.cleared();
        if to > from {
            self.tail.clear(from, to);
        }
    }

    /// Makes the next segment, unless it is there.
    pub fn prepare(&mut self, now: Now) -> Result<(), Error> {
        let (used, ..) = self.tail.segment();
        let (prepared, _) = self.tail.prepared();
        if prepared > used || now.steady_ns < self.retry_at_ns {
            return Ok(());
        }
        let header = SegmentHeader {
            index: used.max(self.template.index) + 1,
            salt: (self.random)(),
            made_ns: now.wall_ns,
            ..self.template.clone()
        };
        match make_segment(&mut self.disk, &header) {
            Ok(()) => {
                if let Some(zeros) = &mut self.zeros {
                    zeros.add(header.index);
                }
                self.tail.set_alarm(0);
                self.tail.set_prepared(header.index, header.salt);
                Ok(())
            }
            Err(error) if is_full(&error) => {
                self.tail.set_alarm(errno(&error));
                // mutant: journal: a clock that is set back stops the preparation of segments
                self.retry_at_ns = now.steady_ns + RETRY_NS;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the next slice of zeros. It is synced at once, so that the sync of a record does not have many of them to write.
    fn write_zeros_ahead(&mut self) -> Result<(), Error> {
        let offset = self.next - self.base;
        let zeros = self.zeros.as_mut();
        let Some(slice) = zeros.and_then(|zeros| zeros.next(self.index, offset)) else {
            return Ok(());
        };
        let name = segment_name(slice.index);
        write_zeros(&mut self.disk, &name, slice.from, slice.to)?;
        match self.sync {
            Sync::Always => self.disk.sync(&name).map_err(Error::io("sync", &name)),
            Sync::CompleteSegments => Ok(()),
        }
    }

    /// The tail.
    pub fn tail(&self) -> &Tail<W> {
        &self.tail
    }
}

/// Whether space is missing: on the disk, by quota, or by the limit of the process.
fn is_full(error: &Error) -> bool {
    use std::io::ErrorKind;
    let Error::Io { source, .. } = error else {
        return false;
    };
    matches!(
        source.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}

/// Error number of the system, 1 if the error has none.
fn errno(error: &Error) -> u64 {
    let Error::Io { source, .. } = error else {
        return 1;
    };
    source.raw_os_error().map_or(1, |errno| errno as u64)
}
