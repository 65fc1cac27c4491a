//! Writing side: exactly one writer, which never waits.

use super::shape::{MAGIC, place};
use super::{HELD, POSITION, Refused, SLOT_HEAD, STAMP, Shape};
use crate::Words;
use crate::atomic::{AtomicU64, Ordering, fence};
use crate::prefetch;

/// The writer of a table: exactly one.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    shape: Shape,
    used: usize,
}

impl<M: Words> Writer<M> {
    /// Creates a table in zeroed memory, or resets one of the same shape that another writer left.
    ///
    /// It belongs to no generation of the ring until [`Writer::publish`] sets one.
    ///
    /// # Errors
    /// The memory is too small.
    pub fn create(memory: M, shape: Shape) -> Result<Writer<M>, Refused> {
        let words = memory.words();
        if words.len() < shape.words() {
            return Err(Refused::Corrupt);
        }
        // First: a reader that sees an emptied slot also sees, by the fence of that change, that the table belongs to
        // no generation.
        // mutant: image: a table that is being emptied belongs to its last epoch
        words[place::GENERATION].store(0, Ordering::Relaxed);
        let used = words[place::USED]
            .load(Ordering::Relaxed)
            .min(shape.slots as u64);
        words[place::SLOTS].store(shape.slots as u64, Ordering::Relaxed);
        words[place::CONTENT].store(shape.content_words as u64, Ordering::Relaxed);
        words[place::REFUSED].store(0, Ordering::Relaxed);
        words[place::MAGIC].store(MAGIC, Ordering::Release);
        let writer = Writer {
            memory,
            shape,
            used: 0,
        };
        // mutant: image: used slots are forgotten before they are empty
        (0..used as usize).for_each(|slot| writer.empty(slot));
        // Last: the successor of a writer that dies before this empties the slots again.
        writer.memory.words()[place::USED].store(0, Ordering::Release);
        Ok(writer)
    }

    /// Assigns the table to this generation of the ring. A reader that sees the generation sees everything done before.
    pub fn publish(&mut self, generation: u64) {
        // mutant: image ordering: a generation may be visible before its message in the ring
        self.memory.words()[place::GENERATION].store(generation, Ordering::Release);
    }

    /// States the first slot that was refused its memory, before the message that needed it is published; `None` once all slots say
    /// what they missed.
    pub fn state_refused(&mut self, slot: Option<usize>) {
        let stated = slot.map_or(0, |slot| slot as u64 + 1);
        // SYNC POINT: a reader of the new value sees the slots that were written before.
        self.memory.words()[place::REFUSED].store(stated, Ordering::Release);
    }

    /// Changes the content of a slot in place: readers see the whole change or none of it.
    ///
    /// `position` is the ring position after the change. Returns the result of `change`, `None` if there is no such
    /// slot.
    #[inline]
    pub fn change<T>(
        &mut self,
        slot: usize,
        position: u64,
        change: impl FnOnce(&[AtomicU64]) -> T,
    ) -> Option<T> {
        // mutant: image: a slot is counted after its first change
        if slot >= self.used {
            self.use_slot(slot)?;
        }
        self.write(slot, position | HELD, change)
    }

    #[inline]
    fn write<T>(
        &self,
        slot: usize,
        position: u64,
        change: impl FnOnce(&[AtomicU64]) -> T,
    ) -> Option<T> {
        let words = self.shape.slot(self.memory.words(), slot)?;
        let (head, content) = words.split_at(SLOT_HEAD);
        // Odd from here on, also if a dead writer has left it odd.
        // mutant: image: a dead writer's stamp is even during the change of its successor
        let stamp = head[STAMP].load(Ordering::Relaxed) | 1;
        // mutant: image: a writer does not mark a slot as changing
        head[STAMP].store(stamp, Ordering::Relaxed);
        // mutant: image ordering: the odd stamp has no fence behind it
        // SYNC POINT: a reader of a word that is stored from here on sees the odd stamp.
        fence(Ordering::Release);
        let changed = change(content);
        head[POSITION].store(position, Ordering::Relaxed);
        // SYNC POINT: a reader of the even stamp sees the whole change.
        // mutant: image ordering: the even stamp may be seen before the change
        head[STAMP].store(stamp.wrapping_add(1), Ordering::Release);
        Some(changed)
    }

    /// The content of a slot as this writer left it; `None` if there is no such slot.
    #[inline]
    pub fn content(&self, slot: usize) -> Option<&[AtomicU64]> {
        let words = self.shape.slot(self.memory.words(), slot)?;
        Some(&words[SLOT_HEAD..])
    }

    /// Fetches a slot for writing, so that it is in the caches when it changes.
    pub fn warm(&self, slot: usize) {
        const LINE_WORDS: usize = 8;
        let words = self.shape.slot(self.memory.words(), slot);
        let words = words.unwrap_or_default();
        for line in (0..words.len()).step_by(LINE_WORDS) {
            prefetch::to_write(words, line);
        }
    }

    /// The table's sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The table's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Counts a slot before its first change: a writer that dies in between leaves a counted empty slot, never a
    /// changed slot that its successor does not empty.
    #[cold]
    fn use_slot(&mut self, slot: usize) -> Option<()> {
        let words = self.memory.words();
        self.shape.slot(words, slot)?;
        self.used = slot + 1;
        words[place::USED].store(self.used as u64, Ordering::Relaxed);
        // No store of the change may come before this.
        fence(Ordering::Release);
        Some(())
    }

    /// Empties a slot. Its stamp only increases, so that a reader that started before cannot accept
    /// a mixed copy.
    fn empty(&self, slot: usize) {
        self.write(slot, 0, |content| {
            for word in content {
                word.store(0, Ordering::Relaxed);
            }
        });
    }
}
