//! The demo without a screen: one line a second, and a table at the end.

use crate::format::{count, counted, duration, rate};
use crate::paint::Paint;
use crate::stat::points;
use crate::top::model::Sample;
use std::fmt::Write;
use std::time::Duration;
use touchline_transport::shm::{CountersView, ReaderView, Root, readers};

/// Counters at one moment.
#[derive(Debug, Default)]
pub struct Picture {
    gateway: Option<Sample>,
    readers: Vec<Sample>,
}

impl Picture {
    /// Reads the counters of the gateway and of the readers.
    pub fn of(root: &Root, bus: &str) -> Picture {
        let gateway = CountersView::open(root, bus).ok().flatten();
        let readers = readers(root, bus).unwrap_or_default().into_iter();
        let readers = readers.filter_map(|reader| reader.counters_file.ok());
        Picture {
            gateway: gateway.as_ref().map(Sample::take),
            readers: readers
                .map(|counters_file| Sample::take(&counters_file))
                .collect(),
        }
    }

    /// Packets that the gateway has received, if it has counted them within this time, all its books are live, and the readers have all
    /// that it has published.
    pub fn settled(root: &Root, bus: &str, within: Duration) -> Option<u64> {
        let gateway = CountersView::open(root, bus).ok().flatten()?;
        let is_new = gateway.age().is_some_and(|age| age < within);
        let is_ready = is_new && gateway.counter("ready") == Some(1);
        let is_read = |reader: &ReaderView| reader.lag_bytes == 0;
        let readers = readers(root, bus).ok().filter(|_| is_ready)?;
        let packets = gateway.counter("packets_received")?;
        readers.iter().all(is_read).then_some(packets)
    }

    /// A counter of the gateway; 0 if it does not exist.
    pub fn counter(&self, name: &str) -> u64 {
        let gateway = self.gateway.as_ref();
        gateway.map_or(0, |sample| sample.counter(name))
    }

    fn p50_p99(&self, name: &str) -> String {
        let mut histograms = self.gateway.iter().flat_map(|sample| &sample.histograms);
        let found = histograms.find(|(what, _)| what.name == name);
        match found.map(|(_, view)| points(view)) {
            Some([Some(p50), Some(p99), ..]) => {
                format!("p50 {}, p99 {}", duration(p50), duration(p99))
            }
            _ => "-".to_owned(),
        }
    }

    /// A line about the last `seconds`.
    pub fn line(&self, before: &Picture, second: u64, seconds: f64) -> String {
        let since = |name: &str| self.counter(name).saturating_sub(before.counter(name));
        format!(
            "{second:>4} s  {:>8} packets  {:>8} updates  {:>8}  {:>3} of {} books live  packet {}\n",
            rate(since("packets_received"), seconds),
            rate(since("messages_published"), seconds),
            counted(since("gaps"), "gap"),
            count(self.counter("books_live")),
            count(self.counter("books_known")),
            self.p50_p99("packet_ns"),
        )
    }

    /// All histograms.
    pub fn table(&self, paint: Paint) -> String {
        let mut text = format!("\n{}\n", paint.bold("Latency, stage by stage"));
        let head = format!(
            "  {:<28}{:>12}{:>10}{:>10}{:>10}{:>10}",
            "", "count", "p50", "p99", "p99.9", "max"
        );
        let _ = writeln!(text, "{}", paint.dim(head));
        let samples = self.gateway.iter().chain(&self.readers);
        for (what, view) in samples.flat_map(|sample| &sample.histograms) {
            let _ = write!(text, "  {:<28}{:>12}", what.name, count(view.count()));
            for value in points(view) {
                let _ = write!(text, "{:>10}", value.map_or("-".to_owned(), duration));
            }
            text.push('\n');
        }
        text
    }
}
