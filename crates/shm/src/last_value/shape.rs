//! Sizes and offsets of a table, as in its control page.

use super::SLOT_HEAD;
use crate::atomic::{AtomicU64, Ordering};
use std::fmt;

/// Words of the control page; the slots follow it.
const CONTROL_WORDS: usize = 512;
/// Content of a table without slots, at most: 8 MiB. The memory bounds that of other tables.
const CONTENT_WORDS_MAX: usize = 1 << 20;

pub(super) mod place {
    pub const MAGIC: usize = 0;
    pub const SLOTS: usize = 1;
    pub const CONTENT: usize = 2;
    pub const GENERATION: usize = 16;
    pub const USED: usize = 17;
    /// 0, or 1 more than the first slot that was refused its memory.
    pub const REFUSED: usize = 18;
}

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"TLimage1");

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
        // Whole lines, so that slots never share one. `next_multiple_of` would divide.
        (SLOT_HEAD + self.content_words + 7) & !7
    }

    /// The words of a slot, if the memory has it. The table fits its memory, so no product overflows.
    #[inline]
    pub(super) fn slot(self, words: &[AtomicU64], slot: usize) -> Option<&[AtomicU64]> {
        if slot >= self.slots {
            return None;
        }
        let begin = CONTROL_WORDS + slot * self.slot_words();
        words.get(begin..)?.get(..SLOT_HEAD + self.content_words)
    }

    /// Reads the sizes from a table's memory.
    ///
    /// # Errors
    /// The memory contains no table, or one that does not fit it.
    pub fn read(words: &[AtomicU64]) -> Result<Shape, Refused> {
        let shape = Shape::stated(words)?;
        match shape.words() <= words.len() {
            true => Ok(shape),
            false => Err(Refused::Corrupt),
        }
    }

    /// Reads the sizes from the first words of a table, which may not fit its memory.
    ///
    /// # Errors
    /// The words are not of a table, its sizes overflow, or it has no slots and a content that no memory bounds.
    pub fn stated(words: &[AtomicU64]) -> Result<Shape, Refused> {
        if words.len() < CONTROL_WORDS || words[place::MAGIC].load(Ordering::Acquire) != MAGIC {
            return Err(Refused::Foreign);
        }
        let word = |place: usize| words[place].load(Ordering::Relaxed) as usize;
        let shape = Shape {
            slots: word(place::SLOTS),
            content_words: word(place::CONTENT),
        };
        // A reader has room for the content of a slot, although the table may have none.
        if shape.slots == 0 && shape.content_words > CONTENT_WORDS_MAX {
            return Err(Refused::Corrupt);
        }
        let needed = shape
            .content_words
            .checked_add(SLOT_HEAD + 8)
            .and_then(|slot| slot.checked_mul(shape.slots))
            .and_then(|slots| slots.checked_add(CONTROL_WORDS));
        needed.map(|_| shape).ok_or(Refused::Corrupt)
    }
}

/// Reason why a table cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The memory contains no table of this version.
    Foreign,
    /// The memory contains an inconsistent table, or is smaller than the table states.
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
