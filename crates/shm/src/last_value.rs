//! Last-value table: the latest state of each item, beside the ring that carries the changes.
//!
//! ```text
//!   control page             a slot for each thing, all of one size
//!  ┌───────────────────────┬───────┬──────────┬─────────┬───────┬──────────┬─────────┬ ─ ─ ─
//!  │ sizes │ gener │ used  │ stamp │ position │ content │ stamp │ position │ content │
//!  └───────────────────────┴───────┴──────────┴─────────┴───────┴──────────┴─────────┴ ─ ─ ─
//! ```
//!
//! Each slot has a sequence lock: its stamp is odd while the writer changes it. The position is the ring position after
//! the last change in the content. A reader that starts at a join point of the ring and then copies a slot loses
//! nothing and receives nothing twice: it skips the changes of an item up to its slot's position.
//!
//! # Protocol
//!
//! The writer never waits. For a change of a slot:
//!
//! 1. count the slot as used, if it is the first change of this slot or of a later one;
//! 2. store an odd stamp, then a release fence;
//! 3. store the words of the content that change, and the position;
//! 4. store the next even stamp with release.
//!
//! A reader makes one attempt and returns its result. It never waits; the caller decides whether to try again:
//!
//! 1. load the stamp with acquire. Odd: a change is in progress, and the reader copies no words
//!    ([`Found::Busy`]).
//! 2. copy the words, then an acquire fence, then load the stamp again. Another stamp: the copy mixes
//!    two states and is discarded ([`Found::Overwritten`]).
//!
//! The fences pair: a reader that copied a word stored after the writer's release fence sees, after its
//! acquire fence, the odd stamp that was stored before it.
//!
//! # Crashes
//!
//! A writer that dies during a change leaves an odd stamp, so no reader ever copies that slot. The next writer resets
//! the table: it takes the table out of its generation, empties every used slot, and only then sets the number of used
//! slots to 0. A slot is counted before its first change, so every changed slot is emptied, whichever store was the
//! last one.

#[cfg(all(test, not(loom)))]
mod crash_tests;
mod reader;
mod shape;
mod writer;

pub use reader::{Change, Found, Reader};
pub use shape::{Refused, Shape};
pub use writer::Writer;

/// Words of a slot before its content.
const SLOT_HEAD: usize = 2;
const STAMP: usize = 0;
const POSITION: usize = 1;
/// Bit of the position's word, free because positions are whole words: the slot has content.
const HELD: u64 = 1;
