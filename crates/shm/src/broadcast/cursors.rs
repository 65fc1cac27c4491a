//! Cursors of named readers, which a lossless publication waits for.
//!
//! They lie in memory of their own: readers map the ring itself read-only. A cursor is a hint to the
//! writer and nothing else; a reader validates what it reads as in any ring.

use crate::Words;
use crate::atomic::{AtomicU64, Ordering};

/// Words of a slot: 128 bytes, so that neighbours do not share a pair of lines.
const SLOT_WORDS: usize = 16;
/// Word of a slot: 0 where it is free.
const ACTIVE: usize = 0;
/// Word of a slot: everything below was read.
const POSITION: usize = 1;

/// One cursor for each named reader.
#[derive(Debug)]
pub struct Cursors<M> {
    memory: M,
}

impl<M: Words> Cursors<M> {
    /// Words of memory for so many readers.
    pub const fn words_for(readers_max: usize) -> usize {
        readers_max * SLOT_WORDS
    }

    /// As many cursors as the memory holds.
    pub fn new(memory: M) -> Cursors<M> {
        Cursors { memory }
    }

    /// How many readers there can be.
    pub fn slots(&self) -> usize {
        self.memory.words().len() / SLOT_WORDS
    }

    /// Takes a slot that is the caller's (see [`SlotLocks`](crate::segment::SlotLocks)).
    pub fn take(&self, slot: usize, position: u64) {
        if let Some(words) = self.slot(slot) {
            words[POSITION].store(position, Ordering::Relaxed);
            words[ACTIVE].store(1, Ordering::Release);
        }
    }

    /// Everything below `position` was read.
    #[inline]
    pub fn advance(&self, slot: usize, position: u64) {
        if let Some(words) = self.slot(slot) {
            // SYNC POINT: what was read is not overwritten before the writer sees this.
            words[POSITION].store(position, Ordering::Release);
        }
    }

    /// Frees a slot: of a reader that leaves, or that is dead, or that was waited for long enough.
    pub fn free(&self, slot: usize) {
        if let Some(words) = self.slot(slot) {
            words[ACTIVE].store(0, Ordering::Release);
        }
    }

    /// Whether a slot is taken.
    pub fn is_taken(&self, slot: usize) -> bool {
        self.slot(slot)
            .is_some_and(|words| words[ACTIVE].load(Ordering::Acquire) != 0)
    }

    /// What the reader in a slot has read, as far as it has said; `None` if the slot is free.
    pub fn position(&self, slot: usize) -> Option<u64> {
        let words = self.slot(slot).filter(|_| self.is_taken(slot))?;
        Some(words[POSITION].load(Ordering::Acquire))
    }

    /// The lowest position of all readers and its slot; `tail` if there is none behind it.
    pub fn slowest(&self, tail: u64) -> (u64, usize) {
        let mut slowest = (tail, usize::MAX);
        for slot in 0..self.slots() {
            let Some(words) = self.slot(slot) else { break };
            if words[ACTIVE].load(Ordering::Acquire) == 0 {
                continue;
            }
            // SYNC POINT: the reader is done with everything below.
            let position = words[POSITION].load(Ordering::Acquire);
            if (position.wrapping_sub(slowest.0) as i64) < 0 {
                slowest = (position, slot);
            }
        }
        slowest
    }

    fn slot(&self, slot: usize) -> Option<&[AtomicU64]> {
        let begin = slot.checked_mul(SLOT_WORDS)?;
        self.memory.words().get(begin..begin + SLOT_WORDS)
    }
}
