//! Log-linear buckets: exact up to 255, then 128 for each power of two, up to the largest `u64`.
//!
//! A bucket is at most 1/128 of its lowest value wide, so every reported value is exact within 0.79 %.

use std::ops::RangeInclusive;

/// Bits of a value that its bucket keeps, besides the first.
const PRECISION_BITS: u32 = 7;

/// Buckets of a histogram.
pub const BUCKETS: usize = ((64 - PRECISION_BITS as usize) + 1) << PRECISION_BITS;

/// Bucket of a value, below [`BUCKETS`]. A few instructions without a branch.
#[inline]
pub fn bucket_of(value: u64) -> usize {
    const EXACT: u64 = (2 << PRECISION_BITS) - 1;
    let shift = EXACT.leading_zeros() - (value | EXACT).leading_zeros();
    ((shift as usize) << PRECISION_BITS) + (value >> shift) as usize
}

/// Values of a bucket.
fn values_of(bucket: usize) -> RangeInclusive<u64> {
    let shift = (bucket >> PRECISION_BITS).saturating_sub(1);
    let first = ((bucket - (shift << PRECISION_BITS)) as u64) << shift;
    first..=first + ((1 << shift) - 1)
}

/// A nonempty bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Range of its values.
    pub values: RangeInclusive<u64>,
    /// Number of values.
    pub count: u64,
}

/// Content of a histogram at one moment. A value recorded during the read is included or not,
/// independently of others.
///
/// Values are exact within 0.79 %; the smallest is rounded down, others are rounded up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramView {
    buckets: Box<[u64]>,
    count: u64,
}

impl HistogramView {
    /// From [`BUCKETS`] numbers, or fewer.
    pub(super) fn new(buckets: impl Iterator<Item = u64>) -> Self {
        let buckets: Box<[u64]> = buckets.take(BUCKETS).collect();
        // Saturating, because the numbers come from shared memory.
        let count = buckets
            .iter()
            .fold(0, |sum: u64, &count| sum.saturating_add(count));
        Self { buckets, count }
    }

    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Nonempty buckets in the order of their values.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        let filled = |(_, count): &(usize, &u64)| **count != 0;
        self.buckets
            .iter()
            .enumerate()
            .filter(filled)
            .map(|(bucket, &count)| Bucket {
                values: values_of(bucket),
                count,
            })
    }

    /// Smallest value, rounded down; `None` if there are no values.
    pub fn min(&self) -> Option<u64> {
        Some(*self.buckets().next()?.values.start())
    }

    /// Largest value, rounded up; `None` if there are no values.
    pub fn max(&self) -> Option<u64> {
        Some(*self.buckets().next_back()?.values.end())
    }

    /// Mean, within 0.4 %; `None` if there are no values.
    pub fn mean(&self) -> Option<f64> {
        let middle = |values: RangeInclusive<u64>| {
            *values.start() as f64 + (values.end() - values.start()) as f64 / 2.0
        };
        let (mut sum, mut count) = (0.0, 0.0);
        for bucket in self.buckets() {
            sum += middle(bucket.values) * bucket.count as f64;
            count += bucket.count as f64;
        }
        (count > 0.0).then(|| sum / count)
    }

    /// Value at a quantile from 0.0 to 1.0, rounded up; `None` if there are no values.
    pub fn value_at_quantile(&self, share: f64) -> Option<u64> {
        let rank = (share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut rest = rank.clamp(1, self.count.max(1));
        for bucket in self.buckets() {
            if rest <= bucket.count {
                return Some(*bucket.values.end());
            }
            rest -= bucket.count;
        }
        self.max()
    }

    /// Values added after an earlier view of the same histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.buckets.iter().copied().chain(std::iter::repeat(0));
        Self::new(
            self.buckets
                .iter()
                .zip(before)
                .map(|(now, then)| now.saturating_sub(then)),
        )
    }
}

#[cfg(all(test, not(miri)))] // arithmetic, of thousands of buckets
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let values = values_of(bucket);
            assert_eq!(*values.start(), next, "bucket {bucket}");
            assert_eq!(bucket_of(*values.start()), bucket);
            assert_eq!(bucket_of(*values.end()), bucket);
            let width = values.end() - values.start();
            assert!(
                width <= values.start() / 128,
                "bucket {bucket} is wider than 0.79 %"
            );
            next = values.end().wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the largest value");
    }

    #[test]
    fn an_empty_histogram_has_no_values() {
        let view = HistogramView::new([0; BUCKETS].into_iter());
        assert_eq!((view.count(), view.min(), view.max()), (0, None, None));
        assert_eq!((view.mean(), view.value_at_quantile(0.5)), (None, None));
    }

    #[test]
    fn minimum_and_maximum_are_reported() {
        let mut buckets = vec![0; BUCKETS];
        buckets[bucket_of(u64::MAX)] = u64::MAX;
        buckets[bucket_of(0)] = 1;
        let view = HistogramView::new(buckets.into_iter());
        assert_eq!((view.min(), view.max()), (Some(0), Some(u64::MAX)));
        assert_eq!(view.count(), u64::MAX);
        for share in [f64::NAN, -1.0, 0.0] {
            assert_eq!(view.value_at_quantile(share), Some(0), "{share}");
        }
        for share in [0.5, 1.0, 2.0, f64::INFINITY] {
            assert_eq!(view.value_at_quantile(share), Some(u64::MAX), "{share}");
        }
    }
}
