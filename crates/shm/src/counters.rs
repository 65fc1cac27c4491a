//! Numbers that tools read while a process runs, and after it died.
//!
//! ```text
//!   header            descriptors               values             histograms
//!  ┌───────────────┬─────────────────────────┬──────────────────┬─────────────────────────┬ ─ ─
//!  │ sizes, origin │ name, unit, help │ ...  │ one word each    │ buckets, a word each    │
//!  └───────────────┴─────────────────────────┴──────────────────┴─────────────────────────┴ ─ ─
//! ```
//!
//! The file describes itself: a tool needs no list of what a process counts. One process writes; to it, counting is a
//! load and a store. Readers take values as they are at that moment, each for itself.
//! [`WriterLock::holder`](crate::segment::WriterLock) says whether the writer lives.
//!
//! A table may grow: places and sizes stand in the header, so that a reader finds its way in a file
//! whose header, descriptors or histograms have become longer.

mod histogram;
mod layout;
mod reader;
#[cfg(all(test, not(miri)))] // tens of thousands of words a table, and one thread: hours there
mod tests;
mod writer;

pub use histogram::{BUCKETS, Bucket, HistogramView, bucket_of};
pub use layout::{Corrupt, words_needed};
pub use reader::{Description, Reader};
pub use writer::{Refused, Writer};

/// The longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// The longest unit, in bytes.
pub const UNIT_BYTES_MAX: usize = 16;
/// The longest help, in bytes.
pub const HELP_BYTES_MAX: usize = 176;

/// What a counter or a histogram is. All three are printable ASCII; its number is its place in the
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// Name, as in output and documents. Not empty, and different from all others of its kind.
    pub name: &'a str,
    /// What one count is, or what a histogram's values are. Values in `ticks` are of the writer's
    /// clock: [`Origin::ns_per_tick`].
    pub unit: &'a str,
    /// One sentence.
    pub help: &'a str,
}

/// Whose numbers these are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// The process that writes or wrote.
    pub pid: u32,
    /// When it started, nanoseconds since 1970-01-01 UTC.
    pub start_unix_ns: u64,
    /// Length of a tick of its clock in nanoseconds. Finite and above 0.
    pub ns_per_tick: f64,
}
