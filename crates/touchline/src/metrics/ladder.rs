//! Prometheus buckets of a histogram: few bounds for 7,424 narrow buckets.

use super::format::{Kind, Page, Samples};
use super::names::{self, Unit};
use touchline_client::monitor::{CountersView, HistogramView};

/// Bounds: 1, 2 and 5 times each power of ten, from 100 to 10^10, in the histogram's unit; in
/// nanoseconds 100 ns to 10 s.
fn bounds() -> impl Iterator<Item = u64> {
    let decades = (2..10).map(|power| 10_u64.pow(power));
    let steps = decades.flat_map(|decade| [1, 2, 5].map(|step| step * decade));
    steps.chain([10_000_000_000])
}

/// Writes a histogram's samples, in base units.
///
/// A narrow bucket counts toward a bound if its largest value does not exceed the bound, so the count of a bound is
/// never too high. The sum uses the middles of the buckets and is exact within 0.4 %.
pub fn write(samples: &mut Samples, labels: &[(&str, &str)], view: &HistogramView, unit: Unit) {
    let mut buckets = view.buckets().peekable();
    let mut count: u64 = 0;
    for bound in bounds() {
        while let Some(bucket) = buckets.next_if(|bucket| *bucket.values.end() <= bound) {
            count = count.saturating_add(bucket.count);
        }
        let le = unit.base(bound as f64).to_string();
        samples.suffixed("_bucket", &[labels, &[("le", &le)]].concat(), count);
    }
    samples.suffixed(
        "_bucket",
        &[labels, &[("le", "+Inf")]].concat(),
        view.count(),
    );
    let sum = view.mean().unwrap_or(0.0) * view.count() as f64;
    samples.suffixed("_sum", labels, unit.base(sum));
    samples.suffixed("_count", labels, view.count());
}

/// Every histogram of a counters file; `of` is the prefix of its name.
pub fn write_histograms(
    page: &mut Page,
    of: &str,
    labels: &[(&str, &str)],
    counters_file: &CountersView,
) {
    for (what, view) in counters_file.histograms() {
        let (name, unit) = names::of_histogram(of, what);
        let help = format!("{} The sum is estimated, within 0.4 %.", what.help);
        if let Some(mut samples) = page.family(&name, Kind::Histogram, &help) {
            write(&mut samples, labels, &view, unit);
        }
    }
}
