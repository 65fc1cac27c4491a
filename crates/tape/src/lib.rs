//! Recordings of market data: buses in a journal (a *tape*), and a tape that is read like a bus.
//!
//! # Never
//! Knows a venue; makes a publisher wait; reads a bus while a record waits for the disk; leaves out a loss: each one is a record.
//!
//! # Path
//! ```text
//! bus ─► Subscriber ─► Recorder ─► Journal ─► segments ─► Reader ─► items of a subscriber
//! sockets ─► raw::RawRecording ─► Journal, or pcapng ─► raw::Capture ─► packets of a capture
//! ```
//! [`Recorder`] takes the items of a subscriber and writes the messages as they were on the bus. [`Reader`] gives the same items.
//!
//! # Tests
//! `tests/tape`: a publisher, a recorder and a reader in one thread: books compared at each end of a batch, over segments, overruns,
//! restarts of either side, and a disk that stands still. The format is `docs/journal.md`.

mod closed_segments;
mod counters;
mod holders;
mod index;
mod last_run;
mod messages;
mod outcome;
mod publication;
pub mod raw;
mod reader;
mod recorder;
mod retention;
pub mod run;
mod state_bodies;
mod upkeep;

pub use counters::RecorderCounters;
pub use holders::Holder;
pub use index::{IndexFile, index_segments, verify_indexes};
pub use last_run::{LastRun, LastStream};
pub use messages::{Messages, MessagesMut};
pub use publication::Publication;
pub use reader::{Error, ReadOptions, Reader, Selection, TapePlace, Taped, buses};
pub use recorder::{Now, Recorder, Settings};
pub use retention::Retention;
