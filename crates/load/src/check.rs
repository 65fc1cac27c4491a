//! Verification of every message: torn, lost, duplicated, out of order; and its latency.

use crate::message;
use crate::schedule::Schedule;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Received messages of a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Messages, each once, warm-up included.
    pub messages: u64,
    /// Measured messages among them.
    pub measured: u64,
    /// Lost messages, of all up to the highest received number.
    pub lost: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Messages received after a later one.
    pub reordered: u64,
    /// Messages with parts of several, or invalid ones.
    pub torn: u64,
    /// Highest received number plus one.
    pub next: u64,
    /// Time of the last message, by the shared clock.
    pub last_ns: u64,
}

/// Gaps stored to distinguish a late message from a duplicate.
const GAPS_MAX: usize = 100_000;

/// Verifies the messages of a step.
#[derive(Debug)]
pub struct Checker {
    received: Received,
    /// First measured message.
    measured_from: u64,
    /// Gaps: ranges of sequence numbers that did not arrive.
    gaps: Vec<(u64, u64)>,
    latency_ns: Histogram<u64>,
}

impl Checker {
    /// A checker before the first message.
    pub fn new(schedule: &Schedule) -> Checker {
        Checker {
            received: Received::default(),
            measured_from: schedule.warmup,
            gaps: Vec::with_capacity(GAPS_MAX),
            latency_ns: Histogram::new_with_bounds(1, 3_600_000_000_000, 3)
                .expect("the bounds are in range"),
        }
    }

    /// Processes a message received at this time.
    #[inline]
    pub fn take(&mut self, bytes: &[u8], now_ns: u64) {
        let Some((sequence, due_ns)) = message::read(bytes) else {
            self.received.torn += 1;
            return;
        };
        if sequence != self.received.next && !self.is_new(sequence) {
            return;
        }
        let received = &mut self.received;
        received.next = received.next.max(sequence + 1);
        received.messages += 1;
        received.last_ns = now_ns;
        if sequence >= self.measured_from {
            received.measured += 1;
            self.latency_ns
                .saturating_record(now_ns.saturating_sub(due_ns).max(1));
        }
    }

    /// A message that is not the next one: after a gap, out of a gap, or a duplicate.
    #[cold]
    fn is_new(&mut self, sequence: u64) -> bool {
        let received = &mut self.received;
        if sequence > received.next {
            received.lost += sequence - received.next;
            if self.gaps.len() < GAPS_MAX {
                self.gaps.push((received.next, sequence));
            }
            return true;
        }
        let of = |(from, to): &(u64, u64)| (*from..*to).contains(&sequence);
        let Some(at) = self.gaps.iter().rposition(of) else {
            received.duplicates += 1;
            return false;
        };
        received.reordered += 1;
        received.lost -= 1;
        let (from, to) = self.gaps.remove(at);
        if sequence + 1 < to {
            self.gaps.insert(at, (sequence + 1, to));
        }
        if from < sequence {
            self.gaps.insert(at, (from, sequence));
        }
        true
    }

    /// Whether the last message of the schedule has arrived.
    #[inline]
    pub fn has_seen(&self, total: u64) -> bool {
        self.received.next >= total
    }

    /// Counts so far.
    pub fn received(&self) -> &Received {
        &self.received
    }

    /// Latency of the measured messages, from their due time, nanoseconds.
    pub fn latency_ns(&self) -> &Histogram<u64> {
        &self.latency_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::schedule::Profile;

    fn checked(sequences: &[u64]) -> Checker {
        let schedule = Schedule::new(Profile::Steady, 10, 0.2, 1.0);
        let mut checker = Checker::new(&schedule);
        let mut message = Message::default();
        for sequence in sequences {
            message.set(*sequence, 100);
            checker.take(message.bytes(), 150 + sequence);
        }
        checker
    }

    #[test]
    fn a_complete_stream_has_no_fault() {
        let checker = checked(&[0, 1, 2, 3]);
        let expected = Received {
            messages: 4,
            measured: 2,
            next: 4,
            last_ns: 153,
            ..Received::default()
        };
        assert_eq!(*checker.received(), expected);
        assert_eq!(checker.latency_ns().max(), 53);
        assert!(checker.has_seen(4) && !checker.has_seen(5));
    }

    #[test]
    fn losses_reordering_and_duplicates_are_distinguished() {
        let faults = |sequences: &[u64]| {
            let checker = checked(sequences);
            let received = checker.received();
            (received.lost, received.duplicates, received.reordered)
        };
        assert_eq!(faults(&[0, 1, 5, 6]), (3, 0, 0));
        assert_eq!(faults(&[0, 1, 5, 3, 6]), (2, 0, 1));
        assert_eq!(faults(&[0, 1, 5, 3, 3, 5]), (2, 2, 1));
        assert_eq!(faults(&[0, 4, 3, 2, 1, 5]), (0, 0, 3));
        assert_eq!(faults(&[0, 0]), (0, 1, 0));
        // The first messages of all were lost.
        assert_eq!(faults(&[7]), (7, 0, 0));
    }

    #[test]
    fn a_torn_message_is_counted_and_not_received() {
        let mut checker = checked(&[0]);
        let mut message = Message::default();
        message.set(1, 100);
        let mut bytes = *message.bytes();
        bytes[40] ^= 1;
        checker.take(&bytes, 200);
        checker.take(&[], 200);
        assert_eq!(
            (checker.received().torn, checker.received().messages),
            (2, 1)
        );
    }
}
