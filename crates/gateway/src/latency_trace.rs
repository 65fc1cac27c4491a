//! Latency trace: times at which a packet passed the stages of the path, and their histograms.
//!
//! ```text
//!  card or kernel      poll            events           books         published
//!       receive ──────► polled ───────► decoded ───────► applied ─────► done
//!          wire_to_polled   polled_to_decoded  decoded_to_applied  applied_to_published
//!                          └──────────────── packet (application level) ───────────────┘
//!          └──────────────────── wire_to_published (network level) ────────────────────┘
//! ```
//!
//! The trace consists of time stamp counter readings that the path takes anyway; it is processed after the packet's
//! last update.

use touchline_net::TimestampSource;
use touchline_types::CounterInfo;

const fn histogram(name: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo {
        name,
        unit: "ns",
        help,
    }
}

/// Histograms in the order of the path, for first copies of incremental packets.
pub const HISTOGRAMS: &[CounterInfo] = &[
    histogram(
        "wire_to_polled_ns",
        "From the card's or the kernel's timestamp to the packet polled.",
    ),
    histogram(
        "polled_to_decoded_ns",
        "From a packet polled to its first events: arbitration and decoding.",
    ),
    histogram(
        "decoded_to_applied_ns",
        "From a packet's events to the books that have applied them.",
    ),
    histogram(
        "applied_to_published_ns",
        "From the books to all updates of the packet published.",
    ),
    histogram(
        "packet_ns",
        "From a packet polled to its updates published: the application level.",
    ),
    histogram(
        "wire_to_published_ns",
        "From the card's or the kernel's timestamp to the updates published: the network level, up to the gateway.",
    ),
];

const WIRE_TO_POLLED: usize = 0;
const POLLED_TO_DECODED: usize = 1;
const DECODED_TO_APPLIED: usize = 2;
const APPLIED_TO_PUBLISHED: usize = 3;
const PACKET: usize = 4;
const WIRE_TO_PUBLISHED: usize = 5;

/// Latency trace of one packet, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct LatencyTrace {
    /// Return of the receive call.
    pub polled: u64,
    /// Decoded; the value of an earlier packet if this one gave no events.
    pub decoded: u64,
    /// Books updated; the value of an earlier packet if this one changed no book.
    pub applied: u64,
    /// All updates published.
    pub done: u64,
    /// Time since it was received when it was polled, nanoseconds; `None` without a timestamp of
    /// card or kernel.
    pub waited_ns: Option<u64>,
}

impl LatencyTrace {
    /// Time since a packet was received when it was polled, by the wall clock.
    pub fn waited_ns(timestamp: TimestampSource, receive_ns: u64, polled_ns: u64) -> Option<u64> {
        match timestamp {
            TimestampSource::Hardware | TimestampSource::Kernel => {
                Some(polled_ns.saturating_sub(receive_ns))
            }
            TimestampSource::Poll | TimestampSource::Capture => None,
        }
    }

    /// Calls `record` for each histogram with a value of this packet, in nanoseconds.
    #[inline]
    pub fn values(&self, between_ns: impl Fn(u64, u64) -> u64, mut record: impl FnMut(usize, u64)) {
        let packet_ns = between_ns(self.polled, self.done);
        if self.decoded >= self.polled {
            record(POLLED_TO_DECODED, between_ns(self.polled, self.decoded));
            if self.applied >= self.decoded {
                record(DECODED_TO_APPLIED, between_ns(self.decoded, self.applied));
                record(APPLIED_TO_PUBLISHED, between_ns(self.applied, self.done));
            }
        }
        record(PACKET, packet_ns);
        if let Some(waited_ns) = self.waited_ns {
            record(WIRE_TO_POLLED, waited_ns);
            record(WIRE_TO_PUBLISHED, waited_ns + packet_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(trace: &LatencyTrace) -> Vec<(&'static str, u64)> {
        let mut values = Vec::new();
        trace.values(
            |from, to| to - from,
            |at, ns| values.push((HISTOGRAMS[at].name, ns)),
        );
        values
    }

    const WHOLE: LatencyTrace = LatencyTrace {
        polled: 100,
        decoded: 130,
        applied: 170,
        done: 220,
        waited_ns: Some(1_000),
    };

    #[test]
    fn the_stages_add_up_to_the_packet_and_the_packet_to_the_network() {
        let expected = [
            ("polled_to_decoded_ns", 30),
            ("decoded_to_applied_ns", 40),
            ("applied_to_published_ns", 50),
            ("packet_ns", 120),
            ("wire_to_polled_ns", 1_000),
            ("wire_to_published_ns", 1_120),
        ];
        assert_eq!(recorded(&WHOLE), expected);
    }

    #[test]
    fn a_stage_that_a_packet_did_not_pass_takes_no_value() {
        let without_books = LatencyTrace {
            applied: 90,
            waited_ns: None,
            ..WHOLE
        };
        let expected = [("polled_to_decoded_ns", 30), ("packet_ns", 120)];
        assert_eq!(recorded(&without_books), expected);
        let without_trace = LatencyTrace {
            decoded: 0,
            applied: 0,
            ..without_books
        };
        assert_eq!(recorded(&without_trace), [("packet_ns", 120)]);
        assert_eq!(LatencyTrace::waited_ns(TimestampSource::Poll, 5, 9), None);
        assert_eq!(
            LatencyTrace::waited_ns(TimestampSource::Kernel, 5, 9),
            Some(4)
        );
        assert_eq!(
            LatencyTrace::waited_ns(TimestampSource::Hardware, 9, 5),
            Some(0)
        );
    }
}
