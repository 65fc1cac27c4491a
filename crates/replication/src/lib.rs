//! Copies of a journal on other hosts, over TCP with or without TLS: the [`Port`] on the journal's host sends the
//! journal, and a [`Receiver`] writes a copy. The messages and the verification of a copy are those of
//! [`touchline_journal::replica`].
//!
//! # Never
//! Reads a clock, waits or writes a log: the caller passes the time to a round, and takes events as values. Touches the
//! journal's writer.
//!
//! # Path
//! Records enter a [`Port::round`] from the files of the journal, and leave [`Receiver::round`] to the disk of the copy.
//!
//! # Tests
//! Both sides over connections of this host, step by step, with a clock of the test; hostile connections to the port.

#![forbid(unsafe_code)]

mod counters;
mod lag;
mod port;
mod receiver;
#[cfg(test)]
mod tests;

pub use counters::{CopyCounters, SourceCounters};
pub use port::{Port, SourceEvent};
pub use receiver::{CopyEvent, Error, Receiver};
