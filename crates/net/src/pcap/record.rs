//! Place of a record in the stream.

use super::LinkType;
use std::ops::Range;

/// A record whose bytes are still in the stream's buffer.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) capture_ns: u64,
    pub(crate) link: LinkType,
    pub(crate) original_len: u32,
    /// Positions for [`Stream::held`](super::stream::Stream::held).
    pub(super) held: Range<usize>,
}
