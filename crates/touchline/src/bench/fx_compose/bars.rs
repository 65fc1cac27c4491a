//! A histogram as lines of text.

use hdrhistogram::Histogram;

/// Longest bar.
const BAR: f64 = 40.0;

/// A line for each doubling of the latency.
pub fn bars(what: &str, histogram: &Histogram<u64>) -> Vec<String> {
    let total = histogram.len().max(1) as f64;
    let mut lines = vec![format!("{what}, {} composites:", histogram.len())];
    let (mut from, mut left) = (0, histogram.len());
    for to in (10..63).map(|bits| 1_u64 << bits) {
        let count = histogram.count_between(from, to - 1);
        let share = count as f64 / total;
        // Nothing has come yet, or everything has.
        if left < histogram.len() || count > 0 {
            lines.push(format!(
                "  below {:>9.1} µs {count:>8} {:>5.1} % {}",
                to as f64 / 1_000.0,
                100.0 * share,
                "#".repeat((BAR * share).ceil() as usize)
            ));
        }
        from = to;
        left = left.saturating_sub(count);
        if left == 0 {
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every latency is in one line, and lines begin and end where the latencies do.
    #[test]
    fn each_latency_is_in_one_line() {
        let mut histogram = Histogram::new(3).expect("three digits");
        for latency in [3_000, 3_000, 40_000, 10_000_000] {
            histogram.record(latency).expect("within range");
        }
        let lines = bars("wake-up", &histogram);
        let count = |line: &String| {
            let words = line.split_whitespace().nth(3);
            words.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
        };
        assert_eq!(lines[0], "wake-up, 4 composites:");
        assert_eq!(lines[1..].iter().map(count).sum::<u64>(), 4, "{lines:?}");
        assert_eq!(count(&lines[1]), 2, "{lines:?}");
        assert_eq!(lines.last().map(count), Some(1), "{lines:?}");
    }
}
