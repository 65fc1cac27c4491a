//! Cursors of named readers, which a lossless publication waits for.
//!
//! They lie in memory of their own: readers map the ring itself read-only. A cursor is a hint to the
//! writer and nothing else; a reader validates what it reads as in any ring.

use crate::Words;
use crate::atomic::{AtomicU64, Ordering};

/// Words of a slot: 128 bytes, so that neighbours do not share a pair of lines.
const SLOT_WORDS: usize = 16;
/// Word of a slot: odd where it is taken, and another number each time that it is.
const LEASE: usize = 0;
/// Word of a slot: everything below was read.
const POSITION: usize = 1;

/// The lease of a slot, so that two of them are not mistaken for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLease(u64);

/// One cursor for each named reader.
#[derive(Debug)]
pub struct Cursors<M> {
    memory: M,
}

impl<M: Words> Cursors<M> {
    /// Words of memory for this number of readers.
    pub const fn words_for(readers_max: usize) -> usize {
        readers_max * SLOT_WORDS
    }

    /// As many cursors as the memory holds.
    pub fn new(memory: M) -> Cursors<M> {
        Cursors { memory }
    }

    /// Their memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// How many readers there can be.
    pub fn slots(&self) -> usize {
        self.memory.words().len() / SLOT_WORDS
    }

    /// Takes a slot that is the caller's (see [`SlotLocks`](crate::segment::SlotLocks)).
    pub fn take(&self, slot: usize, position: u64) -> SlotLease {
        let Some(words) = self.slot(slot) else {
            return SlotLease(0);
        };
        let lease = words[LEASE].load(Ordering::Relaxed).wrapping_add(2) | 1;
        words[POSITION].store(position, Ordering::Relaxed);
        words[LEASE].store(lease, Ordering::Release);
        SlotLease(lease)
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
    /// Does nothing if it was taken again since: who judged its last holder must not free its next.
    pub fn free(&self, slot: usize, lease: SlotLease) {
        if let Some(words) = self.slot(slot) {
            let free = lease.0.wrapping_add(1);
            let relaxed = Ordering::Relaxed;
            // A reader that took the slot since keeps it.
            let _ = words[LEASE].compare_exchange(lease.0, free, Ordering::AcqRel, relaxed);
        }
    }

    /// The taking of a slot; `None` if it is free.
    pub fn lease(&self, slot: usize) -> Option<SlotLease> {
        let lease = self.slot(slot)?[LEASE].load(Ordering::Acquire);
        (lease & 1 == 1).then_some(SlotLease(lease))
    }

    /// What the reader in a slot has read, as far as it has said; `None` if the slot is free.
    pub fn position(&self, slot: usize) -> Option<u64> {
        self.lease(slot)?;
        let words = self.slot(slot)?;
        Some(words[POSITION].load(Ordering::Acquire))
    }

    /// The lowest position of all readers and its slot; `tail` if there is none behind it.
    pub fn slowest(&self, tail: u64) -> (u64, usize) {
        let mut slowest = (tail, usize::MAX);
        for slot in 0..self.slots() {
            let Some(words) = self.slot(slot) else { break };
            if words[LEASE].load(Ordering::Acquire) & 1 == 0 {
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
