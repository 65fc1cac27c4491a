//! Sizes and offsets of the ring's memory.

use super::format::LAYOUT;
use crate::atomic::{AtomicU64, Ordering};
use std::fmt;

/// Bytes of a word.
pub const WORD: u64 = 8;
/// Words of the control page; the data follow it. Under loom only the used words exist, because the model checker
/// tracks each one.
pub const CONTROL_WORDS: usize = if cfg!(loom) { 37 } else { 512 };

/// Words of the control page, grouped by their users and frequency. Groups are 128 bytes apart, because adjacent lines
/// are prefetched in pairs.
pub mod place {
    /// Never changes while the file exists.
    pub const MAGIC: usize = 0;
    /// Number of the layout.
    pub const VERSION: usize = 1;
    /// Bytes of the data.
    pub const CAPACITY: usize = 2;
    /// Bytes of a block.
    pub const BLOCK: usize = 3;
    /// Version of the schema of the messages.
    pub const SCHEMA: usize = 4;
    /// Version of the program that writes, as text.
    pub const WRITER: [usize; 3] = [5, 6, 7];
    /// Words of the cursors beside a lossless ring; 0: none, or not stated by an earlier writer.
    pub const CURSORS: usize = 8;

    /// Read by every reader with every frame, written once a block.
    pub const WATERMARK: usize = 16;
    /// Number of writers so far, this one included.
    pub const GENERATION: usize = 17;

    /// Number of join points published; the last one is in the slot of this number's parity.
    pub const JOIN_POINTS: usize = 32;
    /// Two join points: position and sequence of the next frame, written alternately. One is always
    /// valid.
    pub const JOIN_POINT: [[usize; 2]; 2] = [[33, 34], [35, 36]];

    /// Time of the writer's last activity statement. 0 if it states none, as in rings of earlier
    /// writers.
    #[cfg(not(loom))]
    pub const ACTIVITY: usize = 48;
    /// Timeout of the statement, nanoseconds.
    #[cfg(not(loom))]
    pub const ACTIVITY_TIMEOUT: usize = 49;
}

pub const MAGIC: u64 = u64::from_le_bytes(*b"TLbroad1");

/// Size of a ring and granularity of its watermark.
///
/// A reader can lag by at least `capacity - block - message_max - 16` bytes before it is overrun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    capacity: u64,
    block: u64,
}

/// Reason why a ring cannot be created or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The capacity is not a power of two of at least 64 bytes and at most 2^40.
    Capacity(u64),
    /// The memory is smaller than the control page and the data.
    Memory {
        /// Needed words.
        needed: u64,
        /// Available words.
        there: u64,
    },
    /// The memory contains no ring, or one of another version.
    Foreign,
    /// The memory contains an inconsistent ring.
    Corrupt,
    /// The publication is lossless, and a new writer would overwrite data that a registered reader still needs.
    Full {
        /// The slowest reader's slot.
        slot: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Capacity(bytes) => write!(
                f,
                "a ring of {bytes} bytes; give a power of two from 64 to 2^40"
            ),
            Refused::Memory { needed, there } => write!(
                f,
                "the ring needs {} bytes and its memory has {}; it was truncated, or belongs to another ring",
                needed.saturating_mul(WORD),
                there.saturating_mul(WORD)
            ),
            Refused::Foreign => f.write_str("not a ring of this version"),
            Refused::Corrupt => f.write_str("the ring is damaged; its writer must begin a new one"),
            Refused::Full { slot } => write!(
                f,
                "the reader in slot {slot} has not read so far; wait for it, or free its slot"
            ),
        }
    }
}

impl std::error::Error for Refused {}

impl Geometry {
    /// A ring of `capacity` bytes of data, a power of two. Blocks are an eighth of it, at most 32 KiB.
    pub fn new(capacity: u64) -> Result<Geometry, Refused> {
        if !capacity.is_power_of_two() || !(64..=1 << 40).contains(&capacity) {
            return Err(Refused::Capacity(capacity));
        }
        let block = (capacity / 8).min(32 * 1024);
        Ok(Geometry { capacity, block })
    }

    /// Words of memory that such a ring takes.
    pub const fn words(self) -> usize {
        CONTROL_WORDS + (self.capacity / WORD) as usize
    }

    /// Bytes of data.
    pub const fn capacity(self) -> u64 {
        self.capacity
    }

    /// Bytes of a block, the unit of the watermark.
    pub const fn block(self) -> u64 {
        self.block
    }

    /// The longest message in bytes: an eighth of the data, and less than 16 MiB.
    pub const fn message_max(self) -> usize {
        let eighth = self.capacity / 8;
        let limit = if eighth < super::head::LENGTH_MAX {
            eighth
        } else {
            super::head::LENGTH_MAX
        };
        limit as usize
    }

    /// The data of a ring in this memory.
    #[inline(always)]
    pub fn data(self, words: &[AtomicU64]) -> &[AtomicU64] {
        &words[CONTROL_WORDS..self.words()]
    }

    /// Index among the data of the word at a position.
    #[inline]
    pub const fn index(self, position: u64) -> usize {
        ((position & (self.capacity - 1)) / WORD) as usize
    }

    /// Bytes from a position to the end of the data.
    #[inline]
    pub const fn until_end(self, position: u64) -> u64 {
        self.capacity - (position & (self.capacity - 1))
    }

    /// Position behind a message of this length whose predecessor ends at `position`: a message that does not fit before the end of the data
    /// comes behind padding.
    pub const fn behind(self, position: u64, length: usize) -> u64 {
        let frame = super::head::frame_bytes(length as u64);
        let rest = self.until_end(position);
        let begin = match frame > rest {
            true => position.wrapping_add(rest),
            false => position,
        };
        begin.wrapping_add(frame)
    }

    /// The first whole block at or above a position.
    #[inline]
    pub fn block_end(self, position: u64) -> u64 {
        // mutant: ring: the block that a frame begins in is announced, not the one it ends in
        position.wrapping_add(self.block - 1) & !(self.block - 1)
    }

    /// Checks that memory is large enough for this ring.
    pub fn fits(self, words: &[AtomicU64]) -> Result<(), Refused> {
        if words.len() < self.words() {
            return Err(Refused::Memory {
                needed: self.words() as u64,
                there: words.len() as u64,
            });
        }
        Ok(())
    }

    /// Writes the header to memory. The magic comes last: memory that has it is complete.
    pub fn write_header(self, words: &[AtomicU64]) {
        words[place::VERSION].store(LAYOUT, Ordering::Relaxed);
        words[place::CAPACITY].store(self.capacity, Ordering::Relaxed);
        words[place::BLOCK].store(self.block, Ordering::Relaxed);
        words[place::MAGIC].store(MAGIC, Ordering::Release);
    }

    /// Reads the header and checks that it is consistent and fits the memory.
    pub fn read(words: &[AtomicU64]) -> Result<Geometry, Refused> {
        let geometry = Geometry::stated(words)?;
        geometry.fits(words)?;
        Ok(geometry)
    }

    /// Reads the header, the first words of a ring, and checks that it is consistent.
    pub fn stated(words: &[AtomicU64]) -> Result<Geometry, Refused> {
        if words.len() < CONTROL_WORDS {
            return Err(Refused::Foreign);
        }
        let word = |place: usize| words[place].load(Ordering::Relaxed);
        let known = words[place::MAGIC].load(Ordering::Acquire) == MAGIC;
        if !known || word(place::VERSION) != LAYOUT {
            return Err(Refused::Foreign);
        }
        let geometry = Geometry::new(word(place::CAPACITY)).map_err(|_| Refused::Corrupt)?;
        if word(place::BLOCK) != geometry.block {
            return Err(Refused::Corrupt);
        }
        Ok(geometry)
    }
}
