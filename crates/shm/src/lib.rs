//! Shared memory: one writer, any number of readers, in one process or in hundreds.
//!
//! [`broadcast`] is the ring that carries messages, [`last_value`] the table of the latest state of each item,
//! [`counters`] the counters that tools read while a process runs and after it has ended. All three are protocols over
//! [`Words`]; [`segment`] provides mapped files, and [`zeroed`] plain memory.
//!
//! # Never
//! Knows messages, books or instruments; trusts a length or an offset from shared memory; lets a
//! reader slow the writer, unless the publication is configured as lossless.
//!
//! # Path
//! A message enters at [`broadcast::Writer::claim`] and leaves at [`broadcast::Reader::read`].
//!
//! # Tests
//! The same code runs over plain memory, mapped files, loom, Miri and ThreadSanitizer; processes
//! are killed at random and at chosen points (`crates/lab/tests`).
#![allow(unsafe_code, reason = "mapped memory")]

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
pub mod memory;
mod prefetch;
mod process;
#[cfg(not(loom))]
pub mod segment;
mod words;

pub use process::Process;
pub use words::{Words, store_backwards, zeroed};
