//! The reading side: any number, none of which writes anything.

use super::Frame;
use super::cursors::{Cursors, SlotLease};
use super::geometry::{CONTROL_WORDS, Geometry, Refused, WORD, place};
use super::head::{Head, Kind, frame_bytes};
use super::join_point::JoinPoint;
use crate::Words;
use crate::atomic::{AtomicU64, Ordering, fence};
use crate::prefetch;

/// A reader of a ring.
#[derive(Debug)]
pub struct Reader<M: Words> {
    memory: M,
    geometry: Geometry,
    next: JoinPoint,
    cursor: Option<Cursor<M>>,
}

/// A named reader's cursor.
#[derive(Debug)]
struct Cursor<M: Words> {
    cursors: Cursors<M>,
    slot: usize,
    /// Its last taking of the slot.
    lease: Option<SlotLease>,
    /// The position that was last told.
    reported: u64,
}

/// A reader that leaves is not waited for.
impl<M: Words> Drop for Cursor<M> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease {
            self.cursors.free(self.slot, lease);
        }
    }
}

/// An overrun of a reader: what it lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// Bytes of the stream that were lost, frame heads included.
    pub bytes: u64,
    /// Messages that were lost.
    pub messages: u64,
}

/// An event of the ring: what a reader gets instead of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingEvent {
    /// The writer has overrun this reader, which continues at the last join point.
    Overrun(Overrun),
    /// Another writer continues the ring; nothing is lost. Its number from 1.
    Generation(u64),
    /// The memory contains data that no writer writes; the reader continues at the last join point, if there is one.
    Corrupt {
        /// Where, in the stream.
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

    /// Makes this a registered reader, with a slot of its own. It starts at the last join point again: the writer has
    /// not waited for it so far.
    pub fn registered(mut self, cursors: Cursors<M>, slot: usize) -> Reader<M> {
        self.cursor = Some(Cursor {
            cursors,
            slot,
            lease: None,
            reported: self.next.position,
        });
        self.take_slot();
        self
    }

    /// A second reader of the ring at the same place, for whom the writer does not wait.
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
    /// What `take` returns is handed out only if nothing of the message was overwritten meanwhile.
    /// So `take` may see any bytes at all, and must do nothing that cannot be forgotten.
    ///
    /// # Errors
    /// A [`RingEvent`], which is not always bad news.
    #[inline(always)]
    pub fn read<T>(&mut self, take: impl FnOnce(&Frame<'_>) -> T) -> Result<Option<T>, RingEvent> {
        let JoinPoint { position, sequence } = self.next;
        let index = self.geometry.index(position);
        // SYNC POINT: with the store of the head; the payload is visible.
        // mutant: ring ordering: the payload may be read before the head
        let word = self.data()[index].load(Ordering::Acquire);
        if word == 0 {
            return self.nothing(index);
        }
        let Some(frame) = self.frame(word) else {
            self.control(word)?;
            // Behind padding, which is never at the beginning of the data, so this ends.
            return self.read(take);
        };
        let (taken, end) = (take(&frame), frame.end);
        // mutant: ring: what was read is not validated
        if self.is_overrun() {
            return Err(self.overrun());
        }
        self.advance(end, sequence.wrapping_add(1));
        Ok(Some(taken))
    }

    /// Where this reader is.
    pub fn next(&self) -> JoinPoint {
        self.next
    }

    /// The last join point, which is where the writer is or was a moment ago.
    pub fn join_point(&self) -> Option<JoinPoint> {
        JoinPoint::read(self.memory.words()).map(|(join_point, _)| join_point)
    }

    /// Number of the writer that is at work.
    pub fn generation(&self) -> u64 {
        self.memory.words()[place::GENERATION].load(Ordering::Relaxed)
    }

    /// When the writer last stated that what it publishes is current.
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

    /// Goes to the last join point, and says what that skips.
    pub fn skip_to_join_point(&mut self) -> Overrun {
        let before = self.next;
        self.go_to_join_point();
        // The writer waits again for a reader that was left behind, from here on.
        self.take_slot();
        Overrun {
            bytes: self.next.position.wrapping_sub(before.position),
            // mutant: ring: one message more is lost than is told
            // mutant: ring: lost messages are counted by the half that heads carry
            messages: self.next.sequence.wrapping_sub(before.sequence),
        }
    }

    /// Walks over everything that is committed; `None` if that makes no sense.
    pub(super) fn skip_to_end(mut self) -> Option<JoinPoint> {
        loop {
            match self.read(|_| ()) {
                Ok(Some(())) | Err(RingEvent::Generation(_)) => {}
                // mutant: ring: the successor counts one message too many
                // mutant: ring: the successor begins at the last mark
                Ok(None) => return Some(self.next),
                Err(RingEvent::Overrun(_) | RingEvent::Corrupt { .. }) => return None,
            }
        }
    }

    #[inline(always)]
    fn data(&self) -> &[AtomicU64] {
        &self.memory.words()[CONTROL_WORDS..self.geometry.words()]
    }

    /// The next message, if the word is its head and it lies within the data.
    #[inline(always)]
    fn frame(&self, word: u64) -> Option<Frame<'_>> {
        let JoinPoint { position, sequence } = self.next;
        let length = Head::message_length(word, sequence)?;
        let bytes = frame_bytes(length as u64);
        let begin = self.geometry.index(position);
        let words = self
            .data()
            .get(begin + 1..begin + (bytes / WORD) as usize)?;
        Some(Frame {
            words,
            length,
            sequence,
            end: position.wrapping_add(bytes),
            flags: Head::flags(word),
        })
    }

    /// Whether something at or behind this position was announced to be overwritten.
    #[inline(always)]
    fn is_overrun(&self) -> bool {
        // SYNC POINT: a reader that read a word stored after an announcement sees the announcement now.
        // mutant: ring ordering: validation may come before the read
        fence(Ordering::Acquire);
        let watermark = self.memory.words()[place::WATERMARK].load(Ordering::Relaxed);
        let ahead = watermark.wrapping_sub(self.next.position);
        // mutant: ring: readers look a block too far back
        ahead > self.geometry.capacity()
    }

    #[inline(always)]
    fn advance(&mut self, position: u64, sequence: u64) {
        self.next = JoinPoint { position, sequence };
        if let Some(cursor) = &self.cursor {
            let step = self.geometry.capacity() / 32;
            if position.wrapping_sub(cursor.reported) >= step {
                self.tell();
            }
        }
    }

    /// Join points are made now and then; what this reader has read beyond the last one stays read.
    fn go_to_join_point(&mut self) {
        if let Some(join_point) = self.join_point()
            && (join_point.position.wrapping_sub(self.next.position) as i64) > 0
        {
            self.next = join_point;
        }
    }

    /// The writer waits for this reader, from the last join point on; it may not have waited so far.
    fn take_slot(&mut self) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        cursor.lease = Some(cursor.cursors.take(cursor.slot, self.next.position));
        // SYNC POINT: either the writer sees that the slot is taken, or its last join point is seen here. It
        // gives up nothing behind that join point before it has looked at the slots once more.
        // mutant: ring: a named reader begins where nobody waited for it
        fence(Ordering::SeqCst);
        self.go_to_join_point();
        self.tell();
    }

    #[inline(never)]
    fn tell(&mut self) {
        if let Some(cursor) = &mut self.cursor {
            // mutant: ring: a cursor tells more than was read
            cursor.reported = self.next.position;
            cursor.cursors.advance(cursor.slot, cursor.reported);
        }
    }

    /// No head: the end of the stream, unless the zero is that of a writer a lap ahead.
    #[inline(always)]
    fn nothing<T>(&mut self, index: usize) -> Result<Option<T>, RingEvent> {
        if self.is_overrun() {
            return Err(self.overrun());
        }
        // A message that comes is longer than one line: have the second one on its way, too.
        let data = self.data();
        if let Some(word) = data.get(index + 8) {
            prefetch::to_read(word);
        }
        Ok(None)
    }

    #[cold]
    fn overrun(&mut self) -> RingEvent {
        RingEvent::Overrun(self.skip_to_join_point())
    }

    /// A head that is not that of the next message: skips padding, tells everything else.
    #[cold]
    fn control(&mut self, word: u64) -> Result<(), RingEvent> {
        let JoinPoint { position, sequence } = self.next;
        let index = self.geometry.index(position);
        let payload = self.data().get(index + 1);
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
