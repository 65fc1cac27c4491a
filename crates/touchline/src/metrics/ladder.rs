//! A histogram of 7,424 narrow buckets on a ladder of few bounds.

use super::format::Samples;
use touchline_transport::shm::HistogramView;

/// The bounds: 1, 2 and 5 of each power of ten, from 100 to 10^10, in the histogram's own unit. Of
/// nanoseconds that is 100 ns to 10 s.
fn bounds() -> impl Iterator<Item = u64> {
    let decades = (2..10).map(|power| 10_u64.pow(power));
    let steps = decades.flat_map(|decade| [1, 2, 5].map(|step| step * decade));
    steps.chain([10_000_000_000])
}

/// Writes a histogram's samples, with its bounds and its sum in units of which one value is `scale`.
///
/// A narrow bucket counts up to a bound when its largest value does not exceed it, so what is said to
/// be within a bound is. The sum is that of the middles of the buckets, within 0.4 %.
pub fn write(samples: &mut Samples, bus: &str, view: &HistogramView, scale: Option<f64>) {
    let scaled = |value: f64| match scale {
        // Dividing by a power of ten rounds once, so that a tenth is 0.1; multiplying does it twice.
        Some(scale) => value / (1.0 / scale).round(),
        None => value,
    };
    let mut buckets = view.buckets().peekable();
    let mut count: u64 = 0;
    for bound in bounds() {
        while let Some(bucket) = buckets.next_if(|bucket| *bucket.values.end() <= bound) {
            count = count.saturating_add(bucket.count);
        }
        let le = scaled(bound as f64).to_string();
        samples.suffixed("_bucket", &[("bus", bus), ("le", &le)], count);
    }
    samples.suffixed("_bucket", &[("bus", bus), ("le", "+Inf")], view.count());
    let sum = view.mean().unwrap_or(0.0) * view.count() as f64;
    samples.suffixed("_sum", &[("bus", bus)], scaled(sum));
    samples.suffixed("_count", &[("bus", bus)], view.count());
}
