//! Times of events, and latencies.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_transport::clock::{Clock, ticks};
use touchline_types::Timestamps;

/// Ticks of the host's fine clock, the same in every process of the host; 0 if it was not read. Only differences are
/// meaningful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

/// Times of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time stated by the venue, nanoseconds since 1970 UTC; 0 if not stated.
    pub exchange_ns: u64,
    /// Receive time of its packet on this host, nanoseconds since 1970 UTC; 0 if unknown.
    pub receive_ns: u64,
    /// Time of publication on the bus; 0 for kept values and for tops.
    pub published: Ticks,
}

/// Trace of the message of the last event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Time stated by the venue, nanoseconds since 1970 UTC; 0 if not stated.
    pub exchange_ns: u64,
    /// Receive time of its packet on this host, nanoseconds since 1970 UTC; 0 if unknown.
    pub receive_ns: u64,
    /// The venue's number of the packet.
    pub packet: u64,
    /// Sending time of the packet, nanoseconds since 1970 UTC.
    pub sending_ns: u64,
    /// The receive call returned the packet. This and the next three are 0 if the publisher does not trace.
    pub polled: Ticks,
    /// The packet was decoded.
    pub decoded: Ticks,
    /// The books were updated.
    pub applied: Ticks,
    /// The message was published on the bus.
    pub published: Ticks,
    /// Whether the value is a kept value, read from a table instead of the stream.
    pub is_kept: bool,
    /// Whether the event is one of an instrument that precedes the event of a change of all books.
    pub is_of_all: bool,
}

/// Latency of an event up to now. Unknown parts are `None`: a recording has no time on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// From receipt of the packet, by the system's clock.
    pub wire_to_here: Option<Duration>,
    /// From publication on the bus, by the fine clock.
    pub published_to_here: Option<Duration>,
}

impl Times {
    #[inline]
    pub(crate) fn of(timestamps: &Timestamps) -> Times {
        Times {
            exchange_ns: timestamps.exchange_ns,
            receive_ns: timestamps.packet.receive_ns,
            published: Ticks(timestamps.published),
        }
    }
}

impl Trace {
    /// Times of the message.
    pub fn times(&self) -> Times {
        Times {
            exchange_ns: self.exchange_ns,
            receive_ns: self.receive_ns,
            published: self.published,
        }
    }

    #[inline]
    pub(crate) fn of(sequence: u64, timestamps: &Timestamps, is_kept: bool) -> Trace {
        Trace {
            sequence,
            exchange_ns: timestamps.exchange_ns,
            receive_ns: timestamps.packet.receive_ns,
            packet: timestamps.packet.sequence,
            sending_ns: timestamps.packet.sending_ns,
            polled: Ticks(timestamps.polled),
            decoded: Ticks(timestamps.decoded),
            applied: Ticks(timestamps.applied),
            published: Ticks(timestamps.published),
            is_kept,
            is_of_all: false,
        }
    }
}

impl Latency {
    /// Latency up to now. The first call of a process takes 20 ms more, after the clocks are read, to calibrate the
    /// fine clock.
    pub(crate) fn of(times: &Times) -> Latency {
        let (now, unix_ns) = (ticks(), unix_ns());
        let since = |from: u64, to: u64| (from > 0).then(|| to as i64 - from as i64);
        let wire = since(times.receive_ns, unix_ns).filter(|ns| ns.abs() <= RECORDED_NS);
        let published = times.published.0;
        Latency {
            // The clocks of a network card and of the host may differ slightly in either direction.
            wire_to_here: wire.map(|ns| Duration::from_nanos(ns.max(0) as u64)),
            published_to_here: (published > 0)
                .then(|| Duration::from_nanos(clock().between_ns(published, now))),
        }
    }
}

/// A receive time further away than this belongs to a recording.
const RECORDED_NS: i64 = 60_000_000_000;

/// The calibrated clock of this process.
pub(crate) fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    // Calibrated before it is stored: a child that is forked meanwhile would wait for a thread that it does not have.
    match CLOCK.get() {
        Some(clock) => clock,
        None => {
            let calibrated = Clock::calibrated();
            CLOCK.get_or_init(|| calibrated)
        }
    }
}

fn unix_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// `wire to here 1.4 µs, published to here 310 ns`; unknown parts are left out.
impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("wire to here", self.wire_to_here),
            ("published to here", self.published_to_here),
        ];
        let known = parts
            .into_iter()
            .filter_map(|(what, took)| Some((what, took?)));
        let mut separator = "";
        for (what, took) in known {
            write!(f, "{separator}{what} {took:.1?}")?;
            separator = ", ";
        }
        match separator {
            "" => f.write_str("latency unknown"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_latency_is_absent_for_recordings_and_present_for_live_data() {
        let times = Times {
            receive_ns: 1_000,
            published: Ticks(ticks()),
            ..Times::default()
        };
        let latency = Latency::of(&times);
        assert_eq!(latency.wire_to_here, None);
        assert!(
            latency
                .published_to_here
                .is_some_and(|took| took < Duration::from_secs(10))
        );
        let now = Times {
            receive_ns: unix_ns(),
            ..Times::default()
        };
        let latency = Latency::of(&now);
        assert!(
            latency
                .wire_to_here
                .is_some_and(|took| took < Duration::from_secs(10))
        );
        assert_eq!(latency.published_to_here, None);
        assert!(
            latency.to_string().starts_with("wire to here "),
            "{latency}"
        );
        assert_eq!(Latency::default().to_string(), "latency unknown");
    }
}
