//! Shared memory: one writer, any number of readers, in one process or in hundreds.
//!
//! [`broadcast`] is the ring that carries messages, [`last_value`] the table that holds the latest state
//! of each thing, [`counters`] the numbers that tools read while a process runs and after it died.
//! All three are protocols over [`Words`]; [`segment`] gives them mapped files, and [`zeroed`] plain
//! memory.
//!
//! # Never
//! Knows what a message, a book or an instrument is; trusts a length or an offset that it read from
//! shared memory; lets a reader slow the writer, unless the publication is lossless by setting.
//!
//! # Path
//! [`broadcast::Writer::claim`] takes a message in, [`broadcast::Reader::read`] gives it out.
//!
//! # Tests
//! The same lines run over plain memory, over mapped files, under loom, Miri and ThreadSanitizer;
//! processes are killed at random and at chosen points (`crates/lab/tests`).

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("Touchline runs on 64-bit Linux alone, x86-64 or aarch64: docs/install.md");

pub mod atomic;
pub mod broadcast;
#[cfg(not(loom))]
pub mod clock;
pub mod counters;
#[cfg(all(test, not(loom)))]
mod crash_injection;
pub mod last_value;
mod prefetch;
#[cfg(not(loom))]
pub mod segment;
mod words;

pub use words::{Words, zeroed};
