//! Incidents: events of the path's thread with details beyond counters.
//!
//! The path returns them as values; the gateway passes them to the logging thread through a queue that never blocks and
//! allocates nothing after start.

use std::net::SocketAddrV4;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use touchline_feed::DifferingCopy;

/// An incident for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// Reception has started in mid-session.
    Joined {
        /// Number of packets before the first received one.
        missed: u64,
    },
    /// Lost sequence numbers of the venue.
    Gap(GapReport),
    /// Copies of a packet have different bytes.
    CopiesDiffer(CopiesReport),
    /// The host's wall clock was set.
    ClockStepped {
        /// By this much, nanoseconds.
        step_ns: i64,
    },
    /// A connection to this host was made.
    Connected {
        /// Name and port.
        host: String,
    },
    /// A connection failed.
    ConnectionFailed(ConnectionError),
    /// The venue or the network ended the connection.
    ConnectionLost(ConnectionError),
    /// The session closed the connection.
    ConnectionClosed(ConnectionError),
    /// The session is closed by its hours.
    SessionClosed {
        /// Start of the next one, nanoseconds since 1970.
        until_ns: u64,
    },
    /// Connections, or a book of one, fail for the same reason again and again.
    FailureRepeated(RepeatedFailure),
    /// The venue rejected a request or a message.
    Rejected {
        /// Its message, with its reason.
        message: String,
    },
}

/// Gaps since the last report: the newest, and totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapReport {
    /// First lost number of the newest gap.
    pub first: u64,
    /// Last lost number of the newest gap.
    pub last: u64,
    /// Lost numbers of all gaps.
    pub packets: u64,
    /// Number of gaps.
    pub gaps: u64,
}

/// Packets whose bytes differ from those of another copy, since the last report: the newest, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiesReport {
    /// Line of the newest, which came later than its other copy.
    pub line: &'static str,
    /// Host that sent it.
    pub source: SocketAddrV4,
    /// Its sequence number.
    pub number: u64,
    /// Packets since the last report.
    pub packets: u64,
}

/// Reason for a missing connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// Name and port of the venue.
    pub host: String,
    /// Reason, as text.
    pub reason: String,
    /// Time until the next attempt, milliseconds.
    pub retry_ms: u64,
}

/// The same failure, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedFailure {
    /// Name and port of the venue.
    pub host: String,
    /// Reason, as text.
    pub reason: String,
    /// Times in a row.
    pub count: u32,
    /// The venue's message that caused it; empty if none did.
    pub message: String,
}

/// Sending side, on the path.
#[derive(Clone, Debug)]
pub struct IncidentSender(SyncSender<Incident>);

/// Receiving side, for the log.
#[derive(Debug)]
pub struct Incidents(Receiver<Incident>);

/// Capacity of the queue. The log reads it fifty times a second; each timer adds at most one incident of each kind.
const WAITING_MAX: usize = 256;

/// A queue of incidents.
pub fn incidents() -> (IncidentSender, Incidents) {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    (IncidentSender(sender), Incidents(receiver))
}

impl IncidentSender {
    /// Queues an incident. If the log is too slow it is dropped; the counters still count it.
    pub fn send(&self, incident: Incident) {
        match self.0.try_send(incident) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
}

impl Incidents {
    /// The next incident, if there is one.
    pub fn next(&self) -> Option<Incident> {
        self.0.try_recv().ok()
    }
}

impl CopiesReport {
    /// A packet of this source, merged with earlier unreported ones.
    pub fn after(
        before: Option<CopiesReport>,
        DifferingCopy { line, number }: DifferingCopy,
        source: SocketAddrV4,
    ) -> CopiesReport {
        CopiesReport {
            line,
            source,
            number,
            packets: before.map_or(0, |before| before.packets) + 1,
        }
    }
}

impl GapReport {
    /// A gap merged with earlier unreported ones.
    pub fn after(before: Option<GapReport>, first: u64, last: u64) -> GapReport {
        let packets = last.saturating_sub(first).saturating_add(1);
        GapReport {
            first,
            last,
            packets: before
                .map_or(0, |gaps| gaps.packets)
                .saturating_add(packets),
            gaps: before.map_or(0, |gaps| gaps.gaps) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_one_moment_are_one_report() {
        let one = GapReport::after(None, 5, 7);
        assert_eq!((one.first, one.last, one.packets, one.gaps), (5, 7, 3, 1));
        let two = GapReport::after(Some(one), 9, 9);
        assert_eq!((two.first, two.last, two.packets, two.gaps), (9, 9, 4, 2));
    }

    #[test]
    fn a_slow_log_drops_incidents_and_does_not_block_the_path() {
        let (sender, incidents) = incidents();
        for first in 0..1_000 {
            sender.send(Incident::Gap(GapReport::after(None, first, first)));
        }
        let firsts = std::iter::from_fn(|| incidents.next()).map(|incident| match incident {
            Incident::Gap(gap) => gap.first,
            other => panic!("{other:?}"),
        });
        assert_eq!(firsts.collect::<Vec<_>>(), (0..256).collect::<Vec<_>>());
        drop(incidents);
        sender.send(Incident::Gap(GapReport::after(None, 1, 1)));
    }
}
