//! Writing side: exactly one writer per ring.

use super::claim::Pace;
use super::cursors::Cursors;
use super::geometry::{Geometry, Refused, WORD, place};
use super::head::{Flags, Kind, frame_bytes};
use super::join_point::JoinPoint;
use super::{Claim, Reader};
use crate::Words;
use crate::atomic::{AtomicU64, Ordering, fence};
use crate::prefetch;
use std::fmt;

/// The writer of a ring.
///
/// The caller guarantees that there is no other writer; [`WriterLock`](crate::segment::WriterLock) does so for a mapped
/// file.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    geometry: Geometry,
    /// Position of the next frame.
    next: JoinPoint,
    /// Join points published so far.
    join_points: u64,
    /// Position of the last join point.
    join_point_at: u64,
    /// Everything below was announced for overwriting.
    watermark: u64,
    /// A frame that ends at or below this position needs no further check: it has room in one piece, the header behind
    /// it is announced, and it is not too long.
    limit: u64,
    generation: u64,
    /// The registered readers that must not be overrun, if the publication is lossless.
    registered: Option<Cursors<M>>,
    /// Highest watermark that the slowest of them allowed at the last check.
    allowed: u64,
    /// Bytes of the staged message.
    staged: Option<usize>,
    /// How the next lines are made ready.
    pub(super) pace: Pace,
}

/// A staged message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Its size, bytes.
    pub length: usize,
    /// Position after it, once committed.
    pub end: u64,
}

/// Reason why a message has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// The message is longer than the maximum of this ring.
    TooLong {
        /// The maximum, bytes.
        message_max: usize,
    },
    /// The publication is lossless, and a registered reader still needs the data to be
    /// overwritten.
    Full {
        /// The slowest reader's slot.
        slot: usize,
    },
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRoom::TooLong { message_max } => {
                write!(f, "the message is longer than {message_max} bytes")
            }
            NoRoom::Full { slot } => write!(f, "the reader in slot {slot} has not read so far"),
        }
    }
}

impl std::error::Error for NoRoom {}

impl<M: Words> Writer<M> {
    /// Creates a ring in zeroed memory.
    pub fn create(memory: M, geometry: Geometry) -> Result<Writer<M>, Refused> {
        let first = JoinPoint {
            position: 0,
            sequence: 1,
        };
        Writer::create_at(memory, geometry, first)
    }

    /// Creates a ring in zeroed memory at another position of the stream than its start.
    pub fn create_at(
        memory: M,
        geometry: Geometry,
        first: JoinPoint,
    ) -> Result<Writer<M>, Refused> {
        geometry.fits(memory.words())?;
        let first = JoinPoint {
            position: first.position & !(WORD - 1),
            ..first
        };
        memory.words()[place::WATERMARK].store(first.position, Ordering::Relaxed);
        // mutant: ring: the header is written before the payload
        let writer = Writer::begin(memory, geometry, first, (first, 0, 0), None)?;
        // Last: a writer that dies before this has left no ring.
        geometry.write_header(writer.memory.words());
        Ok(writer)
    }

    /// Continues a ring whose writer has ended, behind its last committed frame.
    pub fn resume(memory: M) -> Result<Writer<M>, Refused> {
        Writer::resume_for(memory, None)
    }

    /// [`Self::resume`] for a lossless publication: the restart does not overrun lagging readers.
    ///
    /// # Errors
    /// [`Refused::Full`] until the slowest reader has made room; wait for it, or free its slot.
    pub fn resume_lossless(memory: M, registered: Cursors<M>) -> Result<Writer<M>, Refused> {
        // mutant: ring: the successor overruns registered readers
        Writer::resume_for(memory, Some(registered))
    }

    fn resume_for(memory: M, registered: Option<Cursors<M>>) -> Result<Writer<M>, Refused> {
        let geometry = Geometry::read(memory.words())?;
        let (join_point, join_points) = JoinPoint::read(memory.words()).ok_or(Refused::Corrupt)?;
        let generations = memory.words()[place::GENERATION].load(Ordering::Relaxed);
        let next = Writer::end_of(&memory)?;
        Writer::begin(
            memory,
            geometry,
            next,
            (join_point, join_points, generations),
            registered,
        )
    }

    /// Whether [`Writer::resume`] would accept this memory; changes nothing.
    pub fn can_resume(memory: &M) -> bool {
        Writer::end_of(memory).is_ok()
    }

    /// The end of the stream of a ring whose writer has ended.
    fn end_of(memory: &M) -> Result<JoinPoint, Refused> {
        let reader = Reader::attach(memory)?;
        let counted = [place::GENERATION, place::JOIN_POINTS];
        let is_counted = |place: usize| memory.words()[place].load(Ordering::Relaxed) != 0;
        // A ring has had a writer: zeros were written over its control words, and readers know other positions.
        // mutant: ring: a ring whose control words are zero is continued
        if !counted.into_iter().all(is_counted) {
            return Err(Refused::Corrupt);
        }
        // A writer announces whole words: with parts of one, a frame's last word could lie above the watermark.
        let watermark = memory.words()[place::WATERMARK].load(Ordering::Relaxed);
        // mutant: ring: a watermark within a word is continued
        if !watermark.is_multiple_of(WORD) {
            return Err(Refused::Corrupt);
        }
        reader.skip_to_end().ok_or(Refused::Corrupt)
    }

    fn begin(
        memory: M,
        geometry: Geometry,
        next: JoinPoint,
        (join_point, join_points, generations): (JoinPoint, u64, u64),
        registered: Option<Cursors<M>>,
    ) -> Result<Writer<M>, Refused> {
        let watermark = memory.words()[place::WATERMARK].load(Ordering::Relaxed);
        // SYNC POINT: a reader of a word stored from here on sees the watermark, even if the previous writer raised it.
        // mutant: ring ordering: a successor relies on the fence of a dead writer
        fence(Ordering::Release);
        let mut writer = Writer {
            memory,
            geometry,
            next,
            join_points,
            join_point_at: join_point.position,
            watermark,
            limit: next.position,
            generation: generations.wrapping_add(1),
            registered,
            allowed: watermark,
            staged: None,
            pace: Pace::new((geometry.capacity() / WORD) as usize),
        };
        match writer.make_room(WORD as usize) {
            Ok(()) => {}
            Err(NoRoom::Full { slot }) => return Err(Refused::Full { slot }),
            Err(NoRoom::TooLong { .. }) => return Err(Refused::Corrupt),
        }
        // The activity statement of the previous writer does not apply to this one.
        #[cfg(not(loom))]
        super::Activity::default().store(writer.memory.words());
        writer.memory.words()[place::GENERATION].store(writer.generation, Ordering::Relaxed);
        writer.generation_frame();
        writer.publish_join_point();
        Ok(writer)
    }

    /// Makes a new publication lossless: no registered reader is overrun. A continued one uses
    /// [`Writer::resume_lossless`].
    pub fn lossless(mut self, registered: Cursors<M>) -> Writer<M> {
        self.allowed = self.watermark;
        self.registered = Some(registered);
        self
    }

    /// Stages a message of `length` bytes: a claim that is kept until [`Writer::commit_staged`], so that other memory,
    /// which readers match by the message's position, can be written in between.
    ///
    /// The order of stores is that of a claim: the overwrite is announced and the head behind the message zeroed here,
    /// before the payload is written; its header is stored at the commit. A writer that dies in between leaves words
    /// behind a zero header, as one that dies during a payload.
    ///
    /// # Errors
    /// The message has no room; no message is staged then.
    ///
    /// # Panics
    /// A message is staged already.
    #[inline(always)]
    pub fn stage(&mut self, length: usize) -> Result<(), NoRoom> {
        assert!(self.staged.is_none(), "one message is staged at a time");
        self.make_room(length)?;
        // mutant: ring: the head behind a staged message is not zeroed
        self.frame(length).zero_next_head();
        self.staged = Some(length);
        Ok(())
    }

    /// The staged message; `None` if none is staged.
    #[inline(always)]
    pub fn staged(&self) -> Option<Staged> {
        let length = self.staged?;
        let end = self.next.position.wrapping_add(frame_bytes(length as u64));
        Some(Staged { length, end })
    }

    /// The payload of the staged message in place: store with relaxed ordering, the commit orders it. Empty if none is
    /// staged.
    #[inline(always)]
    pub fn staged_words(&self) -> &[AtomicU64] {
        let begin = self.geometry.index(self.next.position) + 1;
        let words = self.staged.unwrap_or(0).div_ceil(8);
        &self.geometry.data(self.memory.words())[begin..begin + words]
    }

    /// Makes the staged message visible and returns the position after it.
    ///
    /// # Panics
    /// No message is staged.
    #[inline(always)]
    pub fn commit_staged(&mut self, flags: Flags) -> u64 {
        let length = self.staged.take().expect("a message is staged");
        self.frame(length).commit(flags)
    }

    /// Claims room for a message of `length` bytes.
    ///
    /// # Panics
    /// A message is staged: the claim would use its room.
    #[inline(always)]
    pub fn claim(&mut self, length: usize) -> Result<Claim<'_>, NoRoom> {
        assert!(
            self.staged.is_none(),
            "nothing is staged where room is claimed"
        );
        self.make_room(length)?;
        let claim = self.frame(length);
        claim.zero_next_head();
        Ok(claim)
    }

    /// Publishes a message: claim, write, commit. Returns the position after it.
    #[inline(always)]
    pub fn publish(&mut self, message: &[u8], flags: Flags) -> Result<u64, NoRoom> {
        let mut claim = self.claim(message.len())?;
        claim.write(message);
        Ok(claim.commit(flags))
    }

    /// States that everything published is current, and when the statement expires.
    #[cfg(not(loom))]
    pub fn state_activity(&mut self, activity: super::Activity) {
        activity.store(self.memory.words());
    }

    /// Position of the next frame, and number of the next message.
    #[inline]
    pub fn next(&self) -> JoinPoint {
        self.next
    }

    /// Position of the last join point: a reader that the writer registers there loses no message behind it.
    pub fn join_point(&self) -> u64 {
        self.join_point_at
    }

    /// The lowest position whose data is not announced for overwriting.
    pub fn oldest(&self) -> u64 {
        self.watermark.wrapping_sub(self.geometry.capacity())
    }

    /// Number of writers that this ring has had, this one included.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The ring's sizes.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The cursors of a lossless publication.
    pub fn registered(&self) -> Option<&Cursors<M>> {
        self.registered.as_ref()
    }

    /// Other memory for the cursors: their readers come when they find it, and are waited for from then on.
    pub fn move_cursors(&mut self, registered: Cursors<M>) {
        self.registered = Some(registered);
    }

    /// The ring's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The next frame, with a payload of this size. There is room for it.
    #[inline(always)]
    fn frame(&mut self, length: usize) -> Claim<'_> {
        debug_assert!(
            self.has_room(length),
            "a frame of {length} bytes lies in one piece, and below the watermark with the head behind it"
        );
        let data = self.geometry.data(self.memory.words());
        Claim::new(data, &mut self.next, &mut self.pace, length)
    }

    /// Whether the next frame, with a payload of this size, and the head behind it are announced.
    fn has_room(&self, length: usize) -> bool {
        let frame = frame_bytes(length as u64);
        let end = self.next.position.wrapping_add(frame + WORD);
        let is_announced = (end.wrapping_sub(self.watermark) as i64) <= 0;
        is_announced && frame <= self.geometry.until_end(self.next.position)
    }

    /// Fetches the next bytes for writing, so that they are in the caches when a message comes; not the first lines, which
    /// a waiting reader polls and prefetches.
    pub fn warm(&self, bytes: u64) {
        const LINE: u64 = 64;
        let data = self.geometry.data(self.memory.words());
        for offset in (3 * LINE..bytes).step_by(LINE as usize) {
            let position = self.next.position.wrapping_add(offset);
            prefetch::to_write(data, self.geometry.index(position));
        }
    }

    /// Provides room for a message of this size, in one piece and announced.
    #[inline(always)]
    fn make_room(&mut self, length: usize) -> Result<(), NoRoom> {
        // The limit may be behind the position: the rest is 0 then. The frame ends at the next whole word, and no length wraps.
        let left = (self.limit.wrapping_sub(self.next.position) as i64).max(0) as u64;
        // mutant: ring: a frame ends behind its limit
        if (length as u64).saturating_add(WORD - 1) < left {
            return Ok(());
        }
        self.look_for_room(length)
    }

    /// [`Self::make_room`] with all checks; sets the limit up to which the next frames need none.
    #[inline(never)]
    fn look_for_room(&mut self, length: usize) -> Result<(), NoRoom> {
        // The maximum length is checked first: the frame size of an arbitrary length could wrap.
        if length > self.geometry.message_max()
            || frame_bytes(length as u64) > self.geometry.until_end(self.next.position)
        {
            self.pad(length)?;
        }
        self.announce(frame_bytes(length as u64))?;
        let position = self.next.position;
        let announced = self.watermark.wrapping_sub(WORD).wrapping_sub(position);
        let longest = WORD + (self.geometry.message_max() as u64 & !(WORD - 1));
        let in_one_piece = self.geometry.until_end(position);
        let left = announced.min(in_one_piece).min(longest);
        self.limit = position.wrapping_add(left);
        Ok(())
    }

    /// Announces that a frame of this size, and the header behind it, will be written.
    #[inline(always)]
    fn announce(&mut self, frame: u64) -> Result<(), NoRoom> {
        // mutant: ring: the head behind a frame is not announced
        let end = self.next.position.wrapping_add(frame + WORD);
        // Positions may wrap: "above the watermark" means less than half the number range ahead.
        if (end.wrapping_sub(self.watermark) as i64) > 0 {
            self.raise(self.geometry.block_end(end))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn raise(&mut self, watermark: u64) -> Result<(), NoRoom> {
        assert!(
            (watermark.wrapping_sub(self.watermark) as i64) > 0,
            "the watermark of a ring only rises: readers trust what lies below it"
        );
        self.wait_for_none(watermark)?;
        self.watermark = watermark;
        // mutant: ring ordering: the announcement has no fence behind it
        self.memory.words()[place::WATERMARK].store(watermark, Ordering::Relaxed);
        // SYNC POINT: a reader of a word that is stored from here on sees the watermark.
        fence(Ordering::Release);
        self.publish_join_point();
        Ok(())
    }

    /// Checks that every registered reader has read the data below a watermark.
    fn wait_for_none(&mut self, watermark: u64) -> Result<(), NoRoom> {
        let Some(registered) = &self.registered else {
            return Ok(());
        };
        if (watermark.wrapping_sub(self.allowed) as i64) <= 0 {
            return Ok(());
        }
        // SYNC POINT: a reader that takes a slot unseen starts at the last join point or later.
        // mutant: ring ordering: the writer checks the slots before its join point is visible
        fence(Ordering::SeqCst);
        // mutant: ring: a registered reader is not waited for
        let (position, slot) = registered.slowest(self.join_point_at);
        self.allowed = position.wrapping_add(self.geometry.capacity());
        if (watermark.wrapping_sub(self.allowed) as i64) > 0 {
            return Err(NoRoom::Full { slot });
        }
        Ok(())
    }

    /// Pads the rest of the data if the message does not fit.
    #[cold]
    fn pad(&mut self, length: usize) -> Result<(), NoRoom> {
        let message_max = self.geometry.message_max();
        if length > message_max {
            return Err(NoRoom::TooLong { message_max });
        }
        let rest = self.geometry.until_end(self.next.position);
        self.announce(rest)?;
        let frame = self.frame((rest - WORD) as usize);
        frame.zero_next_head();
        frame.commit_control(Kind::Padding);
        Ok(())
    }

    /// Writes the frame that announces a new writer. There is room for it.
    fn generation_frame(&mut self) {
        let generation = self.generation;
        let frame = self.frame(WORD as usize);
        frame.zero_next_head();
        frame.words()[0].store(generation, Ordering::Relaxed);
        frame.commit_control(Kind::Generation);
    }

    /// Publishes a join point at this position.
    fn publish_join_point(&mut self) {
        self.join_points = self.join_points.wrapping_add(1);
        self.next.publish(self.memory.words(), self.join_points);
        self.join_point_at = self.next.position;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::words::zeroed;

    fn writer() -> Writer<std::sync::Arc<[AtomicU64]>> {
        let geometry = Geometry::new(4096).expect("a power of two");
        Writer::create(zeroed(geometry.words()), geometry).expect("room")
    }

    #[test]
    #[should_panic = "the watermark of a ring only rises"]
    fn a_watermark_does_not_fall() {
        let mut writer = writer();
        let _ = writer.raise(writer.watermark);
    }

    #[test]
    fn a_frame_that_is_not_announced_is_found() {
        let mut writer = writer();
        assert!(writer.has_room(WORD as usize));
        writer.watermark = writer.next.position + 2 * WORD;
        assert!(!writer.has_room(WORD as usize), "the head behind it");
        writer.watermark = writer.next.position + 2 * writer.geometry.capacity();
        assert!(writer.has_room(WORD as usize));
        writer.next.position = writer.geometry.capacity() - WORD;
        assert!(!writer.has_room(WORD as usize), "it begins again at 0");
    }
}
