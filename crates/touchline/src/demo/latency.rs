//! How long it takes from a packet in memory to a subscriber that has its updates.

use crate::figures::duration;
use crate::paint::Paint;
use hdrhistogram::Histogram;
use std::fmt::Write;
use touchline_gateway::replay::latency_histogram;
use touchline_net::clock::{Clock, ticks};
use touchline_transport::{Envelope, Subscribe};
use touchline_types::Update;

/// Histograms of the marks that each price-book update carries, from the receive call on.
#[derive(Debug)]
pub struct Latency {
    clock: Clock,
    decoded_ns: Histogram<u64>,
    applied_ns: Histogram<u64>,
    consumed_ns: Histogram<u64>,
}

impl Latency {
    /// Calibrates the clock, which takes 20 ms.
    pub fn new() -> Latency {
        Latency {
            clock: Clock::calibrated(),
            decoded_ns: latency_histogram(),
            applied_ns: latency_histogram(),
            consumed_ns: latency_histogram(),
        }
    }

    /// A table of quantiles.
    pub fn describe(&self, paint: Paint) -> String {
        let mut text = format!(
            "\n{}\n",
            paint.bold("Latency of price-book updates, from the packet in memory")
        );
        let head = format!(
            "  {:<22}{:>12}{:>12}{:>12}{:>12}",
            "", "p50", "p99", "p99.9", "max"
        );
        let _ = writeln!(text, "{}", paint.dim(head));
        for (name, histogram) in [
            ("decoded", &self.decoded_ns),
            ("in the books", &self.applied_ns),
            ("with the subscriber", &self.consumed_ns),
        ] {
            let at = |quantile| duration(histogram.value_at_quantile(quantile));
            let (p50, p99, p99_9) = (at(0.5), at(0.99), at(0.999));
            let max = duration(histogram.max());
            let _ = writeln!(text, "  {name:<22}{p50:>12}{p99:>12}{p99_9:>12}{max:>12}");
        }
        text
    }
}

impl Subscribe for Latency {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let Update::Book(_) = envelope.update else {
            return;
        };
        let stamps = envelope.stamps;
        let since_polled = |mark| self.clock.between_ns(stamps.polled, mark);
        self.consumed_ns.saturating_record(since_polled(ticks()));
        self.decoded_ns
            .saturating_record(since_polled(stamps.decoded));
        self.applied_ns
            .saturating_record(since_polled(stamps.applied));
    }
}
