//! Benchmark harness: statistics from full histograms, and the conditions of the measurement.

pub mod across;
pub mod conditions;
pub mod dealers;
pub mod endless;
pub mod feed;
pub mod ipc;
pub mod market;
pub mod receive;
pub mod session;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::io;
use std::path::Path;

/// Result of one benchmark for one subject.
#[derive(Debug)]
pub struct Statistics {
    /// Name of the benchmark.
    pub bench: &'static str,
    /// Measured subject: `touchline-cme`, `aeron-ipc`, ...
    pub subject: String,
    /// Mean bytes of payload.
    pub payload_bytes: u64,
    /// Nanoseconds.
    pub histogram: Histogram<u64>,
}

/// Quantiles of a line of JSON, with their names, as feed handlers are compared by: the low ones show the floor, the high ones the host.
pub const DISTRIBUTION: [(&str, f64); 9] = [
    ("p1", 0.01),
    ("p5", 0.05),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
];

/// Quantiles of a row, with their names.
const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

impl Statistics {
    /// Statistics of a subject without a payload.
    pub fn new(bench: &'static str, subject: impl Into<String>, histogram: Histogram<u64>) -> Self {
        Statistics {
            bench,
            subject: subject.into(),
            payload_bytes: 0,
            histogram,
        }
    }

    /// The same with payloads of this many bytes on average.
    pub fn of_bytes(self, payload_bytes: u64) -> Self {
        Statistics {
            payload_bytes,
            ..self
        }
    }

    /// The statistics as JSON.
    pub fn to_json(&self) -> Value {
        let mut line = json!({
            "bench": self.bench,
            "subject": self.subject,
            "payload_bytes": self.payload_bytes,
            "unit": "ns",
            "count": self.histogram.len(),
            "min": self.histogram.min(),
            "mean": self.histogram.mean(),
        });
        for (name, quantile) in DISTRIBUTION.into_iter().chain(QUANTILES) {
            line[name] = json!(self.histogram.value_at_quantile(quantile));
        }
        line["max"] = json!(self.histogram.max());
        line
    }
}

impl Statistics {
    /// Writes the whole distribution as `BENCH-SUBJECT.hgrm` into a folder: value, share, count and
    /// 1/(1-share) in the columns that HdrHistogram's tools print and plot.
    pub fn write_distribution(&self, folder: &Path) -> io::Result<()> {
        let mut text = String::from("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
        let mut total = 0;
        for step in self.histogram.iter_quantiles(5) {
            let (value, share) = (step.value_iterated_to(), step.quantile_iterated_to());
            total += step.count_since_last_iteration();
            let _ = write!(text, "{value:>12} {share:>14.12} {total:>10}");
            if share < 1.0 {
                let _ = write!(text, " {:>14.2}", 1.0 / (1.0 - share));
            }
            text.push('\n');
        }
        std::fs::write(
            folder.join(format!("{}-{}.hgrm", self.bench, self.subject)),
            text,
        )
    }
}

/// Row of the table with the head [`Statistics::HEAD`].
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<28} {:>11} {:>8}",
            self.subject,
            self.histogram.len(),
            self.histogram.min()
        )?;
        for (_, quantile) in QUANTILES {
            write!(f, " {:>8}", self.histogram.value_at_quantile(quantile))?;
        }
        write!(f, " {:>11}", self.histogram.max())
    }
}

impl Statistics {
    /// Head of the table.
    pub const HEAD: &str = "subject                            count      min      p50      p90      p99    p99.9   p99.99         max";
}

/// Host of a benchmark.
#[derive(Clone, Debug)]
pub struct Host {
    cpu: String,
    cores: usize,
    kernel: String,
}

impl Host {
    /// The current host.
    pub fn here() -> Host {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpus = read("/proc/cpuinfo");
        let cpu = cpus
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let cpu = cpu.map_or("unknown", |line| line.trim_start_matches([' ', '\t', ':']));
        Host {
            cpu: cpu.to_owned(),
            cores: cores(&cpus),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }

    /// The host's part of a JSON line.
    pub fn to_json(&self) -> Value {
        json!({"cpu": self.cpu, "cores": self.cores, "kernel": self.kernel})
    }
}

/// Processors in the text of /proc/cpuinfo. The standard library counts those on which the calling thread may run, and a
/// benchmark binds it to one.
fn cores(cpuinfo: &str) -> usize {
    let processors = cpuinfo.lines().filter(|line| line.starts_with("processor"));
    processors.count().max(1)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} cores, Linux {}",
            self.cpu, self.cores, self.kernel
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_has_every_required_field() {
        let mut histogram = Histogram::new(3).unwrap();
        for value in 1..=1000 {
            histogram.record(value).unwrap();
        }
        let statistics = Statistics {
            bench: "event",
            subject: "x".into(),
            payload_bytes: 7,
            histogram,
        };
        let line = statistics.to_json();
        for (name, value) in [
            ("count", 1000),
            ("min", 1),
            ("p1", 10),
            ("p5", 50),
            ("p25", 250),
            ("p50", 500),
            ("p75", 750),
            ("p95", 950),
            ("p99", 990),
            ("p99_9", 999),
            ("max", 1000),
        ] {
            assert_eq!(line[name], value, "{name}");
        }
        assert!(Host::here().to_json()["cores"].as_u64().unwrap() > 0);
        assert_eq!(statistics.to_string().len(), Statistics::HEAD.len());
    }

    #[test]
    fn every_processor_of_the_host_is_counted() {
        let text = "processor\t: 0\nmodel name\t: x\n\nprocessor\t: 1\nmodel name\t: x\n";
        assert_eq!((cores(text), cores("")), (2, 1));
    }

    #[test]
    fn columns_stay_separated_for_large_numbers() {
        let mut histogram = Histogram::new(3).unwrap();
        histogram
            .record_n(60_000_000_000, 1_000_000_000_000)
            .unwrap();
        let statistics = Statistics {
            bench: "event",
            subject: "a-subject-with-a-name-of-36-letters-x".into(),
            payload_bytes: 7,
            histogram,
        };
        let line = statistics.to_string();
        let columns = Statistics::HEAD.split_whitespace().count();
        assert_eq!(line.split_whitespace().count(), columns, "{line}");
    }
}
