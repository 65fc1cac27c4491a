//! The image table: the latest state of each thing, beside the ring that carries its changes.
//!
//! ```text
//!   control page             a slot for each thing, all of one size
//!  ┌───────────────────────┬───────┬──────────┬─────────┬───────┬──────────┬─────────┬ ─ ─ ─
//!  │ sizes │ epoch │ used  │ stamp │ position │ content │ stamp │ position │ content │
//!  └───────────────────────┴───────┴──────────┴─────────┴───────┴──────────┴─────────┴ ─ ─ ─
//! ```
//!
//! Each slot is under a sequence lock: the stamp is odd while the writer is at it. The position is
//! the place in the ring's stream behind the last change that the content holds. So a reader that
//! begins at a mark of the ring and takes an image after that loses nothing and takes nothing twice:
//! it skips the changes of a thing up to its image's position.
//!
//! The writer changes contents in place, a few words at a time, and never waits. A reader that finds
//! a slot being written tries again, a bounded number of times.

use crate::Words;
use crate::atomic::{AtomicU64, Ordering, fence, spin_loop};
use std::fmt;
use std::ops::Range;

/// Words of the control page; the slots begin behind it.
const CONTROL_WORDS: usize = 512;
/// Words of a slot before its content.
const SLOT_HEAD: usize = 2;
const STAMP: usize = 0;
const POSITION: usize = 1;
/// Bit of the position's word, since positions are whole words: the slot holds something.
const HELD: u64 = 1;

mod place {
    pub const MAGIC: usize = 0;
    pub const SLOTS: usize = 1;
    pub const CONTENT: usize = 2;
    pub const EPOCH: usize = 16;
    pub const USED: usize = 17;
}

const MAGIC: u64 = u64::from_le_bytes(*b"TLimage1");

/// Attempts to read a slot that is being written. A write takes tens of nanoseconds; a slot that
/// stays odd for this long has lost its writer.
const ATTEMPTS_MAX: usize = 100_000;

/// Sizes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots.
    pub slots: usize,
    /// Words of content in a slot.
    pub content_words: usize,
}

impl Shape {
    /// Words of memory that such a table takes.
    pub const fn words(self) -> usize {
        CONTROL_WORDS + self.slots * self.slot_words()
    }

    /// Words from the beginning of the memory to the end of a slot.
    pub const fn words_through(self, slot: usize) -> usize {
        CONTROL_WORDS + (slot + 1) * self.slot_words()
    }

    const fn slot_words(self) -> usize {
        // Whole lines, so that two slots never share one.
        (SLOT_HEAD + self.content_words).next_multiple_of(8)
    }

    fn slot(self, words: &[AtomicU64], slot: usize) -> Option<&[AtomicU64]> {
        if slot >= self.slots {
            return None;
        }
        let begin = CONTROL_WORDS.checked_add(slot.checked_mul(self.slot_words())?)?;
        words.get(begin..begin.checked_add(SLOT_HEAD + self.content_words)?)
    }

    fn read(words: &[AtomicU64]) -> Result<Shape, Refused> {
        if words.len() < CONTROL_WORDS || words[place::MAGIC].load(Ordering::Acquire) != MAGIC {
            return Err(Refused::Foreign);
        }
        let word = |place: usize| words[place].load(Ordering::Relaxed) as usize;
        let shape = Shape {
            slots: word(place::SLOTS),
            content_words: word(place::CONTENT),
        };
        // Each factor is at most the memory's words, so their product cannot overflow unnoticed.
        let needed = shape
            .content_words
            .checked_add(SLOT_HEAD + 8)
            .and_then(|slot| slot.checked_mul(shape.slots));
        match needed {
            Some(_) if shape.words() <= words.len() => Ok(shape),
            _ => Err(Refused::Corrupt),
        }
    }
}

/// Why a table cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The memory holds no table of this version.
    Foreign,
    /// The memory holds a table that makes no sense, or is smaller than the table says.
    Corrupt,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Foreign => "not a table of images of this version",
            Refused::Corrupt => "the table of images is damaged; its writer must begin a new one",
        })
    }
}

impl std::error::Error for Refused {}

/// The writer of a table: exactly one.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    shape: Shape,
    used: usize,
}

impl<M: Words> Writer<M> {
    /// Begins a table, in zeroed memory or over what another writer has left.
    ///
    /// It belongs to no epoch of the ring until [`Writer::publish`] says so.
    pub fn create(memory: M, shape: Shape) -> Result<Writer<M>, Refused> {
        let words = memory.words();
        if words.len() < shape.words() {
            return Err(Refused::Corrupt);
        }
        words[place::EPOCH].store(0, Ordering::Relaxed);
        // SYNC POINT: who sees a slot emptied sees that the table belongs to no epoch.
        fence(Ordering::Release);
        let used = words[place::USED]
            .load(Ordering::Relaxed)
            .min(shape.slots as u64);
        words[place::USED].store(0, Ordering::Relaxed);
        words[place::SLOTS].store(shape.slots as u64, Ordering::Relaxed);
        words[place::CONTENT].store(shape.content_words as u64, Ordering::Relaxed);
        words[place::MAGIC].store(MAGIC, Ordering::Release);
        let writer = Writer {
            memory,
            shape,
            used: 0,
        };
        (0..used as usize).for_each(|slot| writer.empty(slot));
        Ok(writer)
    }

    /// From now on the table belongs to this epoch of the ring.
    pub fn publish(&mut self, epoch: u64) {
        self.memory.words()[place::EPOCH].store(epoch, Ordering::Release);
    }

    /// Changes the content of a slot in place: readers see all of it or nothing of it.
    ///
    /// `position` is the place in the ring behind the change. Gives what `change` returns, `None` if
    /// there is no such slot.
    #[inline]
    pub fn change<T>(
        &mut self,
        slot: usize,
        position: u64,
        change: impl FnOnce(&[AtomicU64]) -> T,
    ) -> Option<T> {
        let changed = self.write(slot, position | HELD, change)?;
        if slot >= self.used {
            self.use_slot(slot);
        }
        Some(changed)
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
        // Odd from here on, also where a dead writer has left it odd.
        let stamp = head[STAMP].load(Ordering::Relaxed) | 1;
        head[STAMP].store(stamp, Ordering::Relaxed);
        // SYNC POINT: who reads a word that is stored from here on sees the odd stamp.
        fence(Ordering::Release);
        let changed = change(content);
        head[POSITION].store(position, Ordering::Relaxed);
        // SYNC POINT: who reads the even stamp sees the whole change.
        head[STAMP].store(stamp.wrapping_add(1), Ordering::Release);
        Some(changed)
    }

    /// The table's sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The table's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    fn use_slot(&mut self, slot: usize) {
        self.used = slot + 1;
        self.memory.words()[place::USED].store(self.used as u64, Ordering::Release);
    }

    /// Stamps only ever grow, also over this: a reader that began before cannot mistake it.
    fn empty(&self, slot: usize) {
        self.write(slot, 0, |content| {
            for word in content {
                word.store(0, Ordering::Relaxed);
            }
        });
    }
}

/// Copies a part of a slot's content to the same place, as far as it is there and there is room.
#[inline]
fn copy(content: &[AtomicU64], room: &mut [u64], part: Range<usize>) {
    let end = part.end.min(content.len()).min(room.len());
    let part = part.start.min(end)..end;
    for (to, from) in room[part.clone()].iter_mut().zip(&content[part]) {
        *to = from.load(Ordering::Relaxed);
    }
}

/// What a reader found in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The content, as it was behind this position of the ring.
    Content {
        /// Behind the last change that it holds.
        position: u64,
    },
    /// Nothing: this writer has written nothing there.
    Nothing,
    /// It is being written, and was so for longer than a living writer takes.
    Busy,
}

/// A reader of a table.
#[derive(Debug)]
pub struct Reader<M> {
    memory: M,
    shape: Shape,
}

impl<M: Words> Reader<M> {
    /// Attaches to a table.
    pub fn attach(memory: M) -> Result<Reader<M>, Refused> {
        let shape = Shape::read(memory.words())?;
        Ok(Reader { memory, shape })
    }

    /// The epoch of the ring that the table belongs to; 0 while it is being begun.
    pub fn epoch(&self) -> u64 {
        self.memory.words()[place::EPOCH].load(Ordering::Acquire)
    }

    /// Slots in use: everything behind them is empty.
    pub fn used(&self) -> usize {
        let used = self.memory.words()[place::USED].load(Ordering::Acquire);
        (used as usize).min(self.shape.slots)
    }

    /// The table's sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The table's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Copies the content of a slot, as far as there is room.
    pub fn read(&self, slot: usize, room: &mut [u64]) -> Found {
        self.read_by(slot, |content| copy(content, room, 0..usize::MAX))
    }

    /// Copies the first words of a slot, and then of the others those that the first ones ask for, each
    /// to its own place in `room`: what a long slot does not use need not be waited for.
    ///
    /// `parts` may be given words that never stood together; its answer does not matter then.
    pub fn read_parts<const N: usize>(
        &self,
        slot: usize,
        room: &mut [u64],
        first: usize,
        parts: impl Fn(&[u64]) -> [Range<usize>; N],
    ) -> Found {
        self.read_by(slot, |content| {
            copy(content, room, 0..first);
            let wanted = parts(room.get(..first).unwrap_or_default());
            wanted
                .into_iter()
                .for_each(|part| copy(content, room, part));
        })
    }

    #[inline]
    fn read_by(&self, slot: usize, mut copy: impl FnMut(&[AtomicU64])) -> Found {
        let Some(words) = self.shape.slot(self.memory.words(), slot) else {
            return Found::Nothing;
        };
        let (head, content) = words.split_at(SLOT_HEAD);
        for _ in 0..ATTEMPTS_MAX {
            // SYNC POINT: with the store of the even stamp.
            let stamp = head[STAMP].load(Ordering::Acquire);
            copy(content);
            let position = head[POSITION].load(Ordering::Relaxed);
            // SYNC POINT: who has read a word of a later change sees its odd stamp now.
            fence(Ordering::Acquire);
            if stamp & 1 == 0 && head[STAMP].load(Ordering::Relaxed) == stamp {
                return match position & HELD {
                    0 => Found::Nothing,
                    _ => Found::Content {
                        position: position & !HELD,
                    },
                };
            }
            spin_loop();
        }
        Found::Busy
    }
}
