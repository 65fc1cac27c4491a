//! Journal: framed records in segment files, for orders that must not be lost and for recordings.
//!
//! A record is appended to a ring in shared memory, the *tail*; a thread of the journal copies it to a segment file and
//! syncs. Every frame has checksums of head and body that are bound to its place, and states how many bytes before it
//! were not yet durable: so the end left by a crash is distinguished from damage. A journal is always a prefix of the
//! appended records.
//!
//! # Never
//! Appends to the segment of an earlier run; makes a file shorter; uses a file again; syncs again after a sync that
//! failed; interprets the body of a user's record.
//!
//! # Path
//! A record enters at [`Journal::append`] and leaves at [`read`].
//!
//! # Tests
//! A crash model with a disk that tears, reorders and loses sectors (`src/model.rs`), which must find the mutants of its
//! rules (`cargo xtask mutants simulation`); a second reader in the tests; every truncation of a sample, and a flipped bit in each of its bytes.

#![forbid(unsafe_code)]

mod appender;
mod chain;
mod closed;
mod compress;
mod compressed;
mod core;
mod cut;
mod disk;
mod error;
mod failure;
mod folder;
mod follow;
pub mod format;
mod held;
mod in_memory;
mod journal;
mod judge;
mod lock;
mod make;
mod mark;
#[cfg(test)]
mod model;
mod oldest;
mod reader;
pub mod records;
pub mod replica;
mod simulated;
mod simulated_disk;
mod source_status;
mod start;
mod tail;
mod walk;
mod zeros;

pub use appender::{Appended, Appender, Record, Refused};
pub use chain::{Chain, ChainHead, ChainReader, chain};
pub use closed::{ClosedSegment, index_path, segment_numbers};
pub use compress::{CompressedSegment, compress, compress_one, plain_segments};
pub use error::Error;
pub use folder::{FileId, SegmentFile};
pub use follow::Follow;
pub use held::{cut_below, sync_segment};
pub use journal::{Journal, Mode, Options};
pub use judge::{SegmentInfo, SegmentState, Verdict};
pub use lock::{Writer, writer};
pub use mark::CopyNumber;
pub use oldest::{OldSegment, begin_of, bytes_of_segments, remove_oldest};
pub use reader::{
    Entry, Repair, Report, is_journal, read, read_from, read_segments, repair, verify,
};
pub use simulated::SimulatedJournal;
pub use start::StartReport;
pub use tail::{Identity, State, Tail};
/// The directory of the bus that has the tail, and its lock: arguments of [`Journal::open`].
pub use touchline_shm::segment::{Root, WriterLock};
