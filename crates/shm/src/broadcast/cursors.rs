//! Cursors of registered readers, for which a lossless publication waits.
//!
//! They are in separate memory, because readers map the ring read-only. A cursor is only a hint to the writer; a reader
//! validates its reads as in any ring.

use crate::Words;
use crate::atomic::{AtomicU64, Ordering};

/// Words of a slot: 128 bytes, so that neighbours do not share a pair of lines.
const SLOT_WORDS: usize = 16;
/// Word of a slot: odd while it is taken, and a new number for each lease.
const LEASE: usize = 0;
/// Word of a slot: everything below it was read.
const POSITION: usize = 1;

/// Words of a slot: the reader of another user for which the writer holds it; zeros: its reader writes it itself.
const HOLDER: [usize; 2] = [2, 3];

/// Lease of a slot; distinguishes its holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLease(u64);

/// Cursors, one for each registered reader.
#[derive(Debug)]
pub struct Cursors<M> {
    memory: M,
}

impl<M: Words> Cursors<M> {
    /// Words of memory for this number of readers.
    pub const fn words_for(readers_max: usize) -> usize {
        readers_max * SLOT_WORDS
    }

    /// Readers for which this number of words has room.
    pub const fn slots_in(words: usize) -> usize {
        words / SLOT_WORDS
    }

    /// Cursors in this memory.
    pub fn new(memory: M) -> Cursors<M> {
        Cursors { memory }
    }

    /// Their memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Number of slots; a file has as many as its pages have room for.
    pub fn slots(&self) -> usize {
        Self::slots_in(self.memory.words().len())
    }

    /// Takes a slot that the caller has locked (see [`SlotLocks`](crate::segment::SlotLocks)).
    pub fn take(&self, slot: usize, position: u64) -> SlotLease {
        self.take_for([0; 2], slot, position)
    }

    /// [`Self::take`] by the writer, for a reader of another user, who does not write here.
    pub fn take_for(&self, holder: [u64; 2], slot: usize, position: u64) -> SlotLease {
        let Some(words) = self.slot(slot) else {
            return SlotLease(0);
        };
        for (place, value) in HOLDER.into_iter().zip(holder) {
            words[place].store(value, Ordering::Relaxed);
        }
        let lease = words[LEASE].load(Ordering::Relaxed).wrapping_add(2) | 1;
        words[POSITION].store(position, Ordering::Relaxed);
        words[LEASE].store(lease, Ordering::Release);
        SlotLease(lease)
    }

    /// Takes the slots that are taken in other cursors, at the same positions, as far as there are as many; in memory that no other process
    /// has yet.
    pub fn take_over<N: Words>(&self, from: &Cursors<N>) {
        for slot in 0..self.slots().min(from.slots()) {
            if let Some(position) = from.position(slot) {
                self.take_for(from.holder(slot), slot, position);
            }
        }
    }

    /// Records that everything below `position` was read.
    #[inline]
    pub fn advance(&self, slot: usize, position: u64) {
        if let Some(words) = self.slot(slot) {
            // SYNC POINT: the writer overwrites the data only after it sees this store.
            words[POSITION].store(position, Ordering::Release);
        }
    }

    /// Frees the slot of a reader that has left, has died, or was waited for long enough. No effect
    /// if the slot was taken again since: the lease belongs to another reader then.
    pub fn free(&self, slot: usize, lease: SlotLease) {
        if let Some(words) = self.slot(slot) {
            let free = lease.0.wrapping_add(1);
            let relaxed = Ordering::Relaxed;
            // A reader that has taken the slot since keeps it.
            let _ = words[LEASE].compare_exchange(lease.0, free, Ordering::AcqRel, relaxed);
        }
    }

    /// Lease of a slot; `None` if it is free.
    pub fn lease(&self, slot: usize) -> Option<SlotLease> {
        let lease = self.slot(slot)?[LEASE].load(Ordering::Acquire);
        (lease & 1 == 1).then_some(SlotLease(lease))
    }

    /// The reader of another user for which the writer holds a slot, or held it before it was freed; zeros: none.
    pub fn holder(&self, slot: usize) -> [u64; 2] {
        let words = self.slot(slot);
        words.map_or([0; 2], |words| {
            HOLDER.map(|place| words[place].load(Ordering::Relaxed))
        })
    }

    /// The slot that the writer holds for this reader of another user.
    pub fn slot_of(&self, holder: [u64; 2]) -> Option<usize> {
        let is_held = |slot: &usize| self.lease(*slot).is_some() && self.holder(*slot) == holder;
        (0..self.slots()).find(is_held)
    }

    /// Frees the slots that an earlier writer held for readers of other users.
    pub fn free_held(&self) {
        for slot in 0..self.slots() {
            if let Some(lease) = self.lease(slot)
                && self.holder(slot) != [0; 2]
            {
                self.free(slot, lease);
            }
        }
    }

    /// Reported position of the reader in a slot; `None` if the slot is free.
    pub fn position(&self, slot: usize) -> Option<u64> {
        self.lease(slot)?;
        let words = self.slot(slot)?;
        Some(words[POSITION].load(Ordering::Acquire))
    }

    /// Lowest position of all readers, and its slot; `tail` if no reader lags.
    pub fn slowest(&self, tail: u64) -> (u64, usize) {
        let mut slowest = (tail, usize::MAX);
        for slot in 0..self.slots() {
            let Some(words) = self.slot(slot) else { break };
            if words[LEASE].load(Ordering::Acquire) & 1 == 0 {
                continue;
            }
            // SYNC POINT: the reader has finished reading everything below.
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
