//! Histograms as text, from the process of the gateway to that of the benchmark.

use crate::output::Failure;
use hdrhistogram::Histogram;
use touchline_gateway::replay::latency_histogram;

/// A histogram as text, from process to process: values and their counts.
pub fn to_text(histogram: &Histogram<u64>) -> String {
    let pairs = histogram.iter_recorded();
    let pairs = pairs.map(|step| {
        let count = step.count_at_value();
        format!("{} {count}", step.value_iterated_to())
    });
    pairs.collect::<Vec<_>>().join(" ")
}

/// Reads the text of [`to_text`].
pub fn from_text(text: &str) -> Result<Histogram<u64>, Failure> {
    let wrong = |_| Failure::run(format!("the gateway's process printed {text:?}"));
    let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    let mut histogram = latency_histogram();
    for pair in numbers.map_err(wrong)?.chunks_exact(2) {
        histogram.saturating_record_n(pair[0], pair[1]);
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_passes_as_text() {
        let mut histogram = latency_histogram();
        for ns in [7, 7, 1_000, 123_456] {
            histogram.saturating_record(ns);
        }
        assert!(from_text(&to_text(&histogram)).is_ok_and(|read| read == histogram));
        assert!(from_text("").is_ok_and(|read| read.is_empty()));
        assert!(from_text("7 x").is_err());
    }
}
