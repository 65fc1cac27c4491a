//! Zeros ahead of the records: a segment has its space when it is made, and the journal thread writes zeros to it afterwards,
//! one slice in each round. A sync of a record then has no blocks of the file to initialize, and takes about half the time.
//!
//! No rule of the journal depends on these zeros, as allocated space reads as zeros. So a start or a change of segments
//! does not wait for them, and a record waits for one slice at most.

use crate::format::HEADER_BYTES;
use std::collections::VecDeque;

/// Unit of the device's writes: a slice starts behind the unit that has the last record.
const PAGE_BYTES: u64 = 4096;
/// Largest slice.
const SLICE_BYTES_MAX: u64 = 256 << 10;
/// Slices of a small segment.
const SLICES: u64 = 64;

/// Part of a segment that gets zeros next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Index of the segment.
    pub index: u64,
    pub from: u64,
    pub to: u64,
}

/// Segments whose space still lacks written zeros, oldest first, each with the offset from which it lacks them.
#[derive(Debug)]
pub(crate) struct ZeroAhead {
    segments: VecDeque<(u64, u64)>,
    file_bytes: u64,
    slice_bytes: u64,
}

impl ZeroAhead {
    /// For segments of that many bytes.
    pub fn new(file_bytes: u64) -> Self {
        let slice_bytes = (file_bytes / SLICES).next_multiple_of(PAGE_BYTES);
        Self {
            segments: VecDeque::new(),
            file_bytes,
            slice_bytes: slice_bytes.min(SLICE_BYTES_MAX),
        }
    }

    /// A segment was made.
    pub fn add(&mut self, index: u64) {
        self.segments.push_back((index, HEADER_BYTES as u64));
    }

    /// Next slice to fill, for a writer whose next record is at this offset of this segment. The slice contains no
    /// record.
    pub fn next(&mut self, index: u64, offset: u64) -> Option<Slice> {
        while let Some((segment, from)) = self.segments.front_mut() {
            // mutant: simulation: zeros are written over records
            if *segment == index {
                *from = offset.next_multiple_of(PAGE_BYTES).max(*from);
            }
            if *segment < index || *from >= self.file_bytes {
                self.segments.pop_front();
                continue;
            }
            let slice = Slice {
                index: *segment,
                from: *from,
                to: self.file_bytes.min(*from + self.slice_bytes),
            };
            *from = slice.to;
            return Some(slice);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(index: u64, from: u64, to: u64) -> Option<Slice> {
        Some(Slice { index, from, to })
    }

    /// Zeros stay behind the page of the last record, go on in the next segment, and leave one that the writer has left.
    #[test]
    fn zeros_are_written_behind_the_records_only() {
        let mut zeros = ZeroAhead::new(5 * PAGE_BYTES);
        zeros.add(1);
        zeros.add(2);
        assert_eq!(zeros.next(1, 4_096 + 40), slice(1, 8_192, 12_288));
        assert_eq!(zeros.next(1, 8_192), slice(1, 12_288, 16_384));
        assert_eq!(zeros.next(1, 16_385), slice(2, 4_096, 8_192));
        zeros.add(3);
        assert_eq!(zeros.next(3, 4_096), slice(3, 4_096, 8_192));
        assert_eq!(zeros.next(3, 20_000), None);
    }

    #[test]
    fn a_large_segment_has_slices_of_a_quarter_of_a_mebibyte() {
        let mut zeros = ZeroAhead::new(1 << 30);
        zeros.add(7);
        let slice = zeros.next(7, 4_096).expect("a slice");
        assert_eq!(slice.to - slice.from, SLICE_BYTES_MAX);
    }
}
