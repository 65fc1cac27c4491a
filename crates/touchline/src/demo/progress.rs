//! The demo without a screen: a line a second, and the table at the end.

use crate::figures::{count, duration, rate};
use crate::paint::Paint;
use std::collections::BTreeMap;
use std::fmt::Write;
use touchline_transport::shm::{BoardView, HistogramView, Root, readers};

/// What was counted at one moment.
#[derive(Debug, Default)]
pub struct Picture {
    counters: BTreeMap<String, u64>,
    histograms: Vec<(String, HistogramView)>,
}

impl Picture {
    /// The gateway's board, and the boards of the readers.
    pub fn of(root: &Root, bus: &str) -> Picture {
        let mut picture = Picture::default();
        let gateway = BoardView::open(root, bus).ok().flatten();
        if let Some(gateway) = &gateway {
            let counters = gateway.counters();
            picture.counters = counters
                .map(|(what, value)| (what.name.clone(), value))
                .collect();
        }
        let readers = readers(root, bus).unwrap_or_default().into_iter();
        let readers = readers.filter_map(|reader| reader.board.ok());
        for board in gateway.into_iter().chain(readers) {
            let histograms = board.histograms();
            picture
                .histograms
                .extend(histograms.map(|(what, view)| (what.name.clone(), view)));
        }
        picture
    }

    /// A counter; 0 if there is none.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    fn p50_p99(&self, name: &str) -> String {
        let found = self.histograms.iter().find(|(known, _)| known == name);
        let at = |view: &HistogramView, share| view.value_at_quantile(share).map(duration);
        let times = found.and_then(|(_, view)| at(view, 0.5).zip(at(view, 0.99)));
        times.map_or("-".to_owned(), |(p50, p99)| format!("{p50} / {p99}"))
    }

    /// A line about the last `seconds`.
    pub fn line(&self, before: &Picture, second: u64, seconds: f64) -> String {
        let since = |name: &str| self.counter(name).saturating_sub(before.counter(name));
        format!(
            "{second:>4} s  {:>8} packets  {:>8} updates  {:>3} gaps  {:>3} of {} books live  packet {}\n",
            rate(since("packets_received"), seconds),
            rate(since("messages_published"), seconds),
            since("gaps"),
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
        for (name, view) in &self.histograms {
            let _ = write!(text, "  {name:<28}{:>12}", count(view.count()));
            let points = [0.5, 0.99, 0.999].map(|share| view.value_at_quantile(share));
            for value in points.into_iter().chain([view.max()]) {
                let _ = write!(text, "{:>10}", value.map_or("-".to_owned(), duration));
            }
            text.push('\n');
        }
        text
    }
}
