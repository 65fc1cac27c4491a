//! Incidents: what happened on the thread of the path, with details that counters do not have.
//!
//! The path returns them as values; the gateway hands them to the thread that writes the log, through a queue that never
//! waits and takes no memory after start.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Something that a log tells with its details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// Numbers of the venue are lost.
    Gap(GapReport),
    /// A connection to this host was made.
    Connected {
        /// Name and port.
        host: String,
    },
    /// A connection could not be made.
    ConnectionFailed(ConnectionError),
    /// The venue or the network ended the connection.
    ConnectionLost(ConnectionError),
    /// The session closed the connection.
    ConnectionClosed(ConnectionError),
}

/// Gaps of one moment: the newest, and how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapReport {
    /// First lost number of the newest gap.
    pub first: u64,
    /// Last lost number of the newest gap.
    pub last: u64,
    /// Numbers lost in all of them.
    pub packets: u64,
    /// How many gaps.
    pub gaps: u64,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// Name and port of the venue.
    pub host: String,
    /// What happened, for people.
    pub reason: String,
    /// Until the next attempt, milliseconds.
    pub retry_ms: u64,
}

/// The side of the path.
#[derive(Clone, Debug)]
pub struct IncidentSender(SyncSender<Incident>);

/// The side of the log.
#[derive(Debug)]
pub struct Incidents(Receiver<Incident>);

/// Incidents that wait for the log. It takes them fifty times a second; there is at most one of each kind a timer.
const WAITING_MAX: usize = 256;

/// A queue of incidents.
pub fn incidents() -> (IncidentSender, Incidents) {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    (IncidentSender(sender), Incidents(receiver))
}

impl IncidentSender {
    /// Hands one over. Where the log does not keep up it is dropped: the counters have it.
    pub fn send(&self, incident: Incident) {
        match self.0.try_send(incident) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
}

impl Incidents {
    /// The next one, if one is there.
    pub fn next(&self) -> Option<Incident> {
        self.0.try_recv().ok()
    }
}

impl GapReport {
    /// A gap, after those that were not reported yet.
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
    fn a_log_that_does_not_keep_up_loses_incidents_and_nobody_waits() {
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
