//! Counters and histograms that tools read while a process runs and after it has ended.
//!
//! ```text
//!   header            descriptors               values             histograms
//!  ┌───────────────┬─────────────────────────┬──────────────────┬─────────────────────────┬ ─ ─
//!  │ sizes, origin │ name, unit, help │ ...  │ one word each    │ buckets, a word each    │
//!  └───────────────┴─────────────────────────┴──────────────────┴─────────────────────────┴ ─ ─
//! ```
//!
//! The file is self-describing: a tool needs no list of counters. One process writes; counting is a load and a store.
//! Readers read each value at its own moment. [`WriterLock::holder`](crate::segment::WriterLock) tells whether the
//! writer lives.
//!
//! A table may grow: the header contains offsets and sizes, so that a reader can read a file with a
//! longer header, longer descriptors or longer histograms.

mod histogram;
mod layout;
mod reader;
#[cfg(all(test, not(miri)))] // tens of thousands of words a table, and one thread: hours there
mod tests;
mod writer;

pub use histogram::{BUCKETS, Bucket, HistogramView, bucket_of};
pub use layout::{Corrupt, words_needed, words_stated};
pub use reader::{Description, Reader};
pub use writer::{Refused, Writer};

/// The longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// The longest unit, in bytes.
pub const UNIT_BYTES_MAX: usize = 16;
/// The longest help, in bytes.
pub const HELP_BYTES_MAX: usize = 176;

/// Descriptor of a counter or histogram, in printable ASCII; its number is its index in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// Name, as in output and documentation. Not empty, and unique among its kind.
    pub name: &'a str,
    /// Unit of a count or of a histogram's values. Values in `ticks` are of the writer's clock:
    /// [`Origin::ns_per_tick`].
    pub unit: &'a str,
    /// One sentence.
    pub help: &'a str,
}

/// Writing process of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// The process that writes or wrote.
    pub pid: u32,
    /// When it started, nanoseconds since 1970-01-01 UTC.
    pub start_unix_ns: u64,
    /// Length of a tick of its clock in nanoseconds. Finite and above 0.
    pub ns_per_tick: f64,
}
