//! A case of `bench feed`, and its result.

use super::consumer::Consumed;
use super::reception::Reception;
use super::text::OfGateway;
use hdrhistogram::Histogram;
use std::time::Duration;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::feed::SentReport;

/// One case: packets and schedule.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub packets: u64,
    /// Time from one packet to the next; zero is as fast as the kernel accepts them.
    pub every: Duration,
    /// Whether there is a consumer.
    pub consumed: bool,
    pub reception: Reception,
    pub keep_warm: bool,
}

/// Result of a case.
pub struct Outcome {
    pub case: Case,
    pub sent: SentReport,
    /// Counters of the gateway, by name.
    pub counted: Vec<(String, u64)>,
    /// Histograms of the gateway, by name, nanoseconds.
    pub histograms: Vec<(String, Histogram<u64>)>,
    pub consumed: Option<Consumed>,
    /// Times to the kernel's timestamp are empty over one interface, and of frames.
    pub of_gateway: OfGateway,
}

impl Outcome {
    /// A histogram of the gateway; empty without one of this name.
    pub fn histogram(&self, name: &str) -> Histogram<u64> {
        let found = self.histograms.iter().find(|(found, _)| found == name);
        found.map_or_else(latency_histogram, |(_, histogram)| histogram.clone())
    }

    /// A counter of the gateway.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counted.iter().find(|(counter, _)| counter == name);
        found.map_or(0, |(_, value)| *value)
    }

    /// Packets that were sent and not received by the gateway's sockets.
    pub fn lost(&self) -> u64 {
        let received = self.counter("packets_received");
        self.sent.packets.saturating_sub(received)
    }
}
