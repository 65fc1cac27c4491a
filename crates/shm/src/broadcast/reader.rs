//! Reading side: any number of readers, which never write to the ring.

use super::Frame;
use super::cursors::{Cursors, SlotLease};
use super::geometry::{Geometry, Refused, WORD, place};
use super::head::{Head, Kind, frame_bytes};
use super::join_point::JoinPoint;
use crate::atomic::{AtomicU64, Ordering, fence};
use crate::{Process, Words, prefetch};

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Distance of the prefetch for reading: some four hundred nanoseconds of a stream at full speed, for lines that the
/// writer's nearest cache has given up.
const AHEAD: u64 = 64 * LINE;
/// Bytes below the last whole block of the watermark from which on a reader prefetches. Lines at [`AHEAD`] are written
/// by then; prefetching earlier would take them from the writer.
const PREFETCH_FROM: u64 = AHEAD + 4 * LINE;

/// A reader of a ring.
#[derive(Debug)]
pub struct Reader<M: Words> {
    memory: M,
    geometry: Geometry,
    next: JoinPoint,
    cursor: Option<Cursor<M>>,
}

/// Cursor of a registered reader.
#[derive(Debug)]
struct Cursor<M: Words> {
    cursors: Cursors<M>,
    slot: usize,
    /// Its present lease of the slot.
    lease: Option<SlotLease>,
    /// The last reported position.
    reported: u64,
    /// The process whose place it is.
    owner: Process,
}

/// Frees the slot, so that the writer does not wait for a reader that left. A forked child drops a copy, and the slot stays its parent's.
impl<M: Words> Drop for Cursor<M> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.filter(|_| self.owner.is_this()) {
            self.cursors.free(self.slot, lease);
        }
    }
}

/// Overrun of a reader, with its losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// Lost bytes of the stream, frame headers included.
    pub bytes: u64,
    /// Lost messages.
    pub messages: u64,
}

/// Event of the ring, returned instead of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingEvent {
    /// The writer has overrun this reader, which continues at the last join point.
    Overrun(Overrun),
    /// Another writer continues the ring without loss. Its number, from 1.
    Generation(u64),
    /// The memory contains data that no writer writes; the reader continues at the last join point, if there is one.
    Corrupt {
        /// Position in the stream.
        position: u64,
    },
}

impl<M: Words> Reader<M> {
    /// Attaches at the last join point.
    pub fn attach(memory: M) -> Result<Reader<M>, Refused> {
        let geometry = Geometry::read(memory.words())?;
        let (next, _) = JoinPoint::read(memory.words()).ok_or(Refused::Corrupt)?;
        Ok(Reader {
            memory,
            geometry,
            next,
            cursor: None,
        })
    }

    /// Registers the reader with a slot. It starts at the last join point again, because the writer did not wait for it
    /// before.
    pub fn registered(mut self, cursors: Cursors<M>, slot: usize) -> Reader<M> {
        self.cursor = Some(Cursor {
            cursors,
            slot,
            lease: None,
            reported: self.next.position,
            owner: Process::this(),
        });
        self.take_slot();
        self
    }

    /// The cursors that have this reader's, if it is registered.
    pub fn cursors(&self) -> Option<&Cursors<M>> {
        self.cursor.as_ref().map(|cursor| &cursor.cursors)
    }

    /// Moves the cursor of a reader to a slot of other memory, at its own position: the writer waits for it from its next
    /// look on. A reader without a cursor has one from here on.
    pub fn move_cursor(&mut self, cursors: Cursors<M>, slot: usize) {
        // A forked child leaves the cursor of its parent where it is.
        if self.cursor.is_some() && own(&mut self.cursor).is_none() {
            return;
        }
        let lease = Some(cursors.take(slot, self.next.position));
        self.cursor = Some(Cursor {
            cursors,
            slot,
            lease,
            reported: self.next.position,
            owner: Process::this(),
        });
    }

    /// A second reader of the ring at the same position, for which the writer does not wait.
    pub fn look_ahead(&self) -> Reader<M>
    where
        M: Clone,
    {
        Reader {
            memory: self.memory.clone(),
            geometry: self.geometry,
            next: self.next,
            cursor: None,
        }
    }

    /// Reads the next message in place, if there is one.
    ///
    /// The result of `take` is returned only if no word of the message was overwritten meanwhile.
    /// So `take` may see arbitrary bytes, and must have no side effects.
    ///
    /// # Errors
    /// A [`RingEvent`], which is not necessarily a fault.
    #[inline(always)]
    pub fn read<T>(&mut self, take: impl FnOnce(&Frame<'_>) -> T) -> Result<Option<T>, RingEvent> {
        // Copies: the compiler would load the fields again after each atomic access.
        let (geometry, next) = (self.geometry, self.next);
        let words = self.memory.words();
        let data = geometry.data(words);
        // SYNC POINT: with the store of the head; the payload is visible.
        // mutant: ring ordering: the payload may be read before the header
        let word = data[geometry.index(next.position)].load(Ordering::Acquire);
        if word == 0 {
            return self.nothing();
        }
        let Some(frame) = frame(geometry, data, word, next) else {
            self.control(word)?;
            // Behind padding, which is never at the start of the data, so the recursion ends.
            return self.read(take);
        };
        let (taken, end) = (take(&frame), frame.end);
        let ahead = ahead(words, next.position);
        // mutant: ring: data is not validated after the read
        if is_overrun(geometry, ahead) {
            return Err(self.overrun());
        }
        if ahead > geometry.block() + PREFETCH_FROM {
            prefetch::to_read(data, geometry.index(next.position.wrapping_add(AHEAD)));
            prefetch::to_read(
                data,
                geometry.index(next.position.wrapping_add(AHEAD + LINE)),
            );
        }
        self.advance(end, next.sequence.wrapping_add(1));
        Ok(Some(taken))
    }

    /// Position of this reader.
    pub fn next(&self) -> JoinPoint {
        self.next
    }

    /// The last join point, near the writer's position.
    pub fn join_point(&self) -> Option<JoinPoint> {
        JoinPoint::read(self.memory.words()).map(|(join_point, _)| join_point)
    }

    /// Number of the present writer.
    pub fn generation(&self) -> u64 {
        self.memory.words()[place::GENERATION].load(Ordering::Relaxed)
    }

    /// Last activity statement of the writer.
    #[cfg(not(loom))]
    pub fn activity(&self) -> super::Activity {
        super::Activity::load(self.memory.words())
    }

    /// The ring's sizes.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The ring's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Moves to the last join point and returns what it skips.
    pub fn skip_to_join_point(&mut self) -> Overrun {
        let before = self.next;
        self.go_to_join_point();
        // The writer waits for this reader again from here on.
        self.take_slot();
        Overrun {
            bytes: self.next.position.wrapping_sub(before.position),
            // mutant: ring: the number of lost messages is one too low
            // mutant: ring: lost messages are counted with the 32 bits of the headers
            messages: self.next.sequence.wrapping_sub(before.sequence),
        }
    }

    /// Walks over all committed frames; `None` if the ring is inconsistent.
    pub(super) fn skip_to_end(mut self) -> Option<JoinPoint> {
        loop {
            match self.read(|_| ()) {
                Ok(Some(())) | Err(RingEvent::Generation(_)) => {}
                // mutant: ring: the successor counts one message too many
                // mutant: ring: the successor starts at the last join point
                Ok(None) => return Some(self.next),
                Err(RingEvent::Overrun(_) | RingEvent::Corrupt { .. }) => return None,
            }
        }
    }

    /// Whether data at or after this position was announced for overwriting.
    #[inline(always)]
    fn is_overrun(&self) -> bool {
        let ahead = ahead(self.memory.words(), self.next.position);
        is_overrun(self.geometry, ahead)
    }

    #[inline(always)]
    fn advance(&mut self, position: u64, sequence: u64) {
        self.next = JoinPoint { position, sequence };
        if let Some(cursor) = &self.cursor {
            // The writer waits for the room of a block: a reader that has left one says so.
            // mutant: ring: a reader states its position too late for a writer that waits
            let step = (self.geometry.capacity() / 32).min(self.geometry.block());
            if position.wrapping_sub(cursor.reported) >= step {
                self.tell();
            }
        }
    }

    /// Moves forward to the last join point; a reader beyond it stays.
    fn go_to_join_point(&mut self) {
        if let Some(join_point) = self.join_point()
            && (join_point.position.wrapping_sub(self.next.position) as i64) > 0
        {
            self.next = join_point;
        }
    }

    /// Makes the writer wait for this reader, from the last join point on.
    fn take_slot(&mut self) {
        let Some(cursor) = own(&mut self.cursor) else {
            return;
        };
        cursor.lease = Some(cursor.cursors.take(cursor.slot, self.next.position));
        // SYNC POINT: either the writer sees that the slot is taken, or this reader sees its last join point. The
        // writer overwrites nothing behind that join point before it has checked the slots again.
        // mutant: ring: a registered reader starts at an unprotected position
        fence(Ordering::SeqCst);
        self.go_to_join_point();
        self.tell();
    }

    #[inline(never)]
    fn tell(&mut self) {
        let Some(cursor) = own(&mut self.cursor) else {
            return;
        };
        // mutant: ring: a cursor is ahead of the reader
        cursor.reported = self.next.position;
        // The writer waited too long for this reader, which went on before it was overrun: the writer waits for it again. What it
        // overwrites before it sees that is found when it is read.
        // mutant: ring: a reader that was too slow once is never waited for again
        if cursor.cursors.lease(cursor.slot) != cursor.lease {
            cursor.lease = Some(cursor.cursors.take(cursor.slot, cursor.reported));
            return;
        }
        cursor.cursors.advance(cursor.slot, cursor.reported);
    }

    /// Handles a zero header: the end of the stream, unless a writer a lap ahead wrote the zero.
    #[inline(always)]
    fn nothing<T>(&mut self) -> Result<Option<T>, RingEvent> {
        if self.is_overrun() {
            return Err(self.overrun());
        }
        // A message has several lines: they travel together.
        let data = self.geometry.data(self.memory.words());
        for line in [LINE, 2 * LINE] {
            let position = self.next.position.wrapping_add(line);
            prefetch::to_read(data, self.geometry.index(position));
        }
        Ok(None)
    }

    #[cold]
    fn overrun(&mut self) -> RingEvent {
        RingEvent::Overrun(self.skip_to_join_point())
    }

    /// Handles a header that is not the next message's: skips padding, reports everything else.
    #[cold]
    fn control(&mut self, word: u64) -> Result<(), RingEvent> {
        let JoinPoint { position, sequence } = self.next;
        let index = self.geometry.index(position);
        let payload = self.geometry.data(self.memory.words()).get(index + 1);
        let generation = payload.map_or(0, |word| word.load(Ordering::Relaxed));
        if self.is_overrun() {
            return Err(self.overrun());
        }
        let head = Head::read(word).filter(|head| head.sequence == sequence as u32);
        let frame = head.map_or(0, |head| frame_bytes(head.length));
        let end = position.wrapping_add(frame);
        match head.map(|head| head.kind) {
            Some(Kind::Padding) if index != 0 && frame == self.geometry.until_end(position) => {
                self.advance(end, sequence);
                Ok(())
            }
            Some(Kind::Generation)
                if frame == 2 * WORD && frame <= self.geometry.until_end(position) =>
            {
                self.advance(end, sequence);
                Err(RingEvent::Generation(generation))
            }
            _ => {
                self.skip_to_join_point();
                Err(RingEvent::Corrupt { position })
            }
        }
    }
}

/// The cursor, unless it is that of the process that forked this one.
fn own<M: Words>(cursor: &mut Option<Cursor<M>>) -> Option<&mut Cursor<M>> {
    cursor.as_mut().filter(|cursor| cursor.owner.is_this())
}

/// The next message, if the word is its header, and its length is one of a message within the data.
#[inline(always)]
fn frame(geometry: Geometry, data: &[AtomicU64], word: u64, next: JoinPoint) -> Option<Frame<'_>> {
    let length = Head::message_length(word, next.sequence)?;
    // mutant: ring: a header may state a message that is too long
    if length > geometry.message_max() {
        return None;
    }
    let begin = geometry.index(next.position);
    let bytes = frame_bytes(length as u64);
    let words = data.get(begin + 1..begin + (bytes / WORD) as usize)?;
    Some(Frame {
        words,
        length,
        sequence: next.sequence,
        end: next.position.wrapping_add(bytes),
        flags: Head::flags(word),
    })
}

/// Bytes from a position to the watermark.
#[inline(always)]
fn ahead(words: &[AtomicU64], position: u64) -> u64 {
    // SYNC POINT: a reader that read a word stored after an announcement sees the announcement now.
    // mutant: ring ordering: validation may come before the read
    fence(Ordering::Acquire);
    let watermark = words[place::WATERMARK].load(Ordering::Relaxed);
    watermark.wrapping_sub(position)
}

/// Whether data at or after a position this far below the watermark was announced for overwriting.
#[inline(always)]
fn is_overrun(geometry: Geometry, ahead: u64) -> bool {
    // mutant: ring: readers check a block too far back
    ahead > geometry.capacity()
}
