//! Market data for other tools: tables as CSV and Parquet, records of DBN, from the messages of a tape or of a capture.
//!
//! # Never
//! Knows a feed or a socket; keeps more than some packets and rows in memory; leaves a file that is not whole under its name;
//! rounds a number; leaves out a loss, or what a format has no place for, without saying it beside the file.
//!
//! # Path
//! A message enters at [`Exporter::message`]. The state of the books takes it, then the files: rows of [`tables`] by way of
//! `tabulate`, records by way of [`dbn`].
//!
//! # Tests
//! Files are read again by a reader here, and by the tools that they are for in `crates/touchline/tests`: counts and books equal
//! those of a replay.

#![forbid(unsafe_code)]

mod about;
pub mod column;
mod complete;
pub mod csv;
mod day;
pub mod dbn;
mod emptied;
mod error;
mod exporter;
mod files;
mod message;
#[cfg(feature = "parquet")]
pub mod parquet_file;
mod part_file;
mod received;
pub mod rows;
mod state;
pub mod tables;
mod tabulate;
pub mod tape;
mod writer;

pub use about::{Counts, LeftOut, Loss, Origin};
pub use complete::Written;
pub use error::Error;
pub use exporter::Exporter;
pub use files::Files;
pub use message::{Message, Stamp};
pub use part_file::PartFile;
pub use tables::Cause;
pub use writer::Format;
