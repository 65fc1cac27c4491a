//! Reading side: any number of readers, which neither write nor wait.

use super::shape::place;
use super::{HELD, POSITION, Refused, SLOT_HEAD, STAMP, Shape};
use crate::Words;
use crate::atomic::{AtomicU64, Ordering, fence};
use std::ops::Range;

/// Result of one attempt to read a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The content as of this position of the ring.
    Content {
        /// Position after its last change.
        position: u64,
    },
    /// Empty slot: the present writer did not write it yet.
    Nothing,
    /// A change is in progress, so the reader copied no words. A running writer ends the change within microseconds, a stopped one when
    /// it continues, a dead one never.
    Busy(Change),
    /// The writer changed the slot during the copy, which was discarded.
    Overwritten,
}

/// A change that was in progress during a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    slot: usize,
    /// The odd stamp.
    stamp: u64,
}

/// A reader of a table.
#[derive(Debug)]
pub struct Reader<M> {
    memory: M,
    shape: Shape,
}

impl<M: Words> Reader<M> {
    /// Attaches to a table.
    ///
    /// # Errors
    /// The memory contains no table, or one that does not fit it.
    pub fn attach(memory: M) -> Result<Reader<M>, Refused> {
        let shape = Shape::read(memory.words())?;
        Ok(Reader { memory, shape })
    }

    /// Generation of the ring that the table belongs to; 0 while it is being reset.
    pub fn generation(&self) -> u64 {
        // mutant: image ordering: the ring may be read before the epoch of the tables
        self.memory.words()[place::GENERATION].load(Ordering::Acquire)
    }

    /// Number of slots in use; all slots behind them are empty, and some of them may be empty too.
    pub fn used(&self) -> usize {
        // mutant: image ordering: slots may be unused before their epoch is over
        let used = self.memory.words()[place::USED].load(Ordering::Acquire);
        (used as usize).min(self.shape.slots)
    }

    /// First slot that may be empty because it was refused its memory; `None` if each empty slot was never written. To be read
    /// before the slots.
    pub fn refused_from(&self) -> Option<usize> {
        let stated = self.memory.words()[place::REFUSED].load(Ordering::Acquire);
        stated.checked_sub(1).map(|slot| slot as usize)
    }

    /// The table's sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The table's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Copies as much of a slot's content as fits. One attempt without waiting.
    pub fn read(&self, slot: usize, room: &mut [u64]) -> Found {
        self.read_by(slot, |content| copy(content, room, 0..usize::MAX))
    }

    /// Copies the first words of a slot, and then the ranges that these select, each to the same offset in `room`: the
    /// unused part of a long slot costs nothing. One attempt, as [`read`](Reader::read).
    ///
    /// `parts` may receive words of two different states; its result is discarded then.
    pub fn read_parts<const N: usize>(
        &self,
        slot: usize,
        room: &mut [u64],
        first: usize,
        parts: impl FnOnce(&[u64]) -> [Range<usize>; N],
    ) -> Found {
        self.read_by(slot, |content| {
            copy(content, room, 0..first);
            let wanted = parts(room.get(..first).unwrap_or_default());
            wanted
                .into_iter()
                .for_each(|part| copy(content, room, part));
        })
    }

    /// Whether this change is still in progress. One load.
    pub fn is_in_progress(&self, change: Change) -> bool {
        self.shape
            .slot(self.memory.words(), change.slot)
            .is_some_and(|words| words[STAMP].load(Ordering::Relaxed) == change.stamp)
    }

    #[inline]
    fn read_by(&self, slot: usize, copy: impl FnOnce(&[AtomicU64])) -> Found {
        // A slot that is not in use may have no memory: in a full file system the first touch of it ends the mapping.
        // mutant: image: a reader touches slots that are not in use
        let used = self.used();
        let words = self.shape.slot(self.memory.words(), slot);
        let Some(words) = words.filter(|_| slot < used) else {
            return Found::Nothing;
        };
        let (head, content) = words.split_at(SLOT_HEAD);
        // SYNC POINT: pairs with the store of the even stamp.
        // mutant: image ordering: the content may be read before the stamp
        let stamp = head[STAMP].load(Ordering::Acquire);
        // The last slot in use is counted before its first change: empty, it is in that change.
        let is_new = slot + 1 == used && head[POSITION].load(Ordering::Relaxed) & HELD == 0;
        // mutant: image: a slot is copied during a change
        if stamp & 1 != 0 || is_new {
            return Found::Busy(Change { slot, stamp });
        }
        copy(content);
        let position = head[POSITION].load(Ordering::Relaxed);
        // SYNC POINT: a reader that read a word of a later change sees its odd stamp now.
        // mutant: image ordering: the second check may happen before the copy
        fence(Ordering::Acquire);
        // mutant: image: a copy is returned without the second check of the stamp
        if head[STAMP].load(Ordering::Relaxed) != stamp {
            return Found::Overwritten;
        }
        match position & HELD {
            0 => Found::Nothing,
            _ => Found::Content {
                position: position & !HELD,
            },
        }
    }
}

/// Copies a range of a slot's content to the same offset, as far as both extend.
#[inline]
fn copy(content: &[AtomicU64], room: &mut [u64], part: Range<usize>) {
    let end = part.end.min(content.len()).min(room.len());
    let part = part.start.min(end)..end;
    for (to, from) in room[part.clone()].iter_mut().zip(&content[part]) {
        *to = from.load(Ordering::Relaxed);
    }
}
