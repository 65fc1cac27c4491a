//! The broadcast ring: one writer, any number of readers, frames of any length.
//!
//! ```text
//!   control page                         data, a power of two of bytes
//!  ┌───────────────────────────────┬──────┬──────┬───────────┬──────┬ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┬─────┐
//!  │ geometry │ watermark │ tail   │ head │ payload          │ head │ payload           │ pad │
//!  └───────────────────────────────┴──────┴──────┴───────────┴──────┴ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┴─────┘
//!                                    8 bytes, stored last
//! ```
//!
//! A position counts the bytes of the stream from its start and never decreases; its lowest bits
//! are the offset in the data. A frame is a header of one word and the payload, padded to words. A
//! frame does not wrap: the rest at the end of the data is filled by a frame that readers skip.
//!
//! # Protocol
//!
//! The writer, for the frame at position `p` that ends at `e`:
//!
//! 1. *announce*: if `e + 8` is above the watermark, raise the watermark to the next whole block, then
//!    a release fence. Blocks are coarse, so this line stays in the readers' caches.
//! 2. zero the head at `e`, because the frame after this one does not exist yet, and write the payload.
//! 3. *commit*: store the header at `p` with release. It contains length, kind, and the low half of the
//!    frame's sequence number.
//!
//! A reader holds one position, and loads the head there with acquire:
//!
//! 1. zero: no frame yet. Otherwise read the payload.
//! 2. *validate*: an acquire fence, then the watermark. If it is at most `p` + capacity, none of the words
//!    read had been announced for overwriting, so they are the committed ones. Otherwise the reader is
//!    *overrun*: it discards the words and receives the number of lost messages.
//!
//! The fences pair: a reader that has read a word stored after the writer's release fence sees,
//! after its acquire fence, the watermark stored before it.
//!
//! Step 2 of the writer makes every crash harmless. At each instant the ring is a chain of committed frames that ends
//! in a zero header, with any content in the memory behind it. The next writer walks to that zero and continues there; it
//! overwrites half-written frames.
//!
//! The writer never loads a word that readers write (a lossless publication does, once per block), and readers write
//! nothing to the ring.

#[cfg(not(loom))]
mod activity;
mod claim;
#[cfg(all(test, not(loom)))]
mod crash_tests;
mod cursors;
mod format;
mod frame;
mod geometry;
mod head;
mod join_point;
mod reader;
mod writer;

#[cfg(not(loom))]
pub use activity::Activity;
pub use claim::Claim;
pub use cursors::{Cursors, SlotLease};
pub use format::{Format, LAYOUT};
pub use frame::Frame;
pub use geometry::{Geometry, Refused};
pub use head::{BATCH_END, Flags};
pub use join_point::JoinPoint;
pub use reader::{Overrun, Reader, RingEvent};
pub use writer::{NoRoom, Staged, Writer};
