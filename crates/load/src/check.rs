//! Every message is checked: torn, lost, doubled, out of order; and how late it came.

use crate::message;
use crate::schedule::Schedule;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// What a reader has received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Messages, each once, warm-up included.
    pub messages: u64,
    /// Those of them that are measured.
    pub measured: u64,
    /// Messages that never came, of all up to the highest number that came.
    pub lost: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Messages that came behind a later one.
    pub reordered: u64,
    /// Messages that are parts of several, or none at all.
    pub torn: u64,
    /// One more than the highest number that came.
    pub next: u64,
    /// When the last message came, by the shared clock.
    pub last_ns: u64,
}

/// Gaps that are remembered, so that a message that comes late is told from one that comes twice.
const GAPS_MAX: usize = 100_000;

/// Checks the messages of a step.
#[derive(Debug)]
pub struct Checker {
    received: Received,
    /// First of those that are measured.
    measured_from: u64,
    /// Ranges of numbers that have not come.
    gaps: Vec<(u64, u64)>,
    latency_ns: Histogram<u64>,
}

impl Checker {
    /// A checker that has seen nothing.
    pub fn new(schedule: &Schedule) -> Checker {
        Checker {
            received: Received::default(),
            measured_from: schedule.warmup,
            gaps: Vec::with_capacity(GAPS_MAX),
            latency_ns: Histogram::new_with_bounds(1, 3_600_000_000_000, 3)
                .expect("the bounds are in range"),
        }
    }

    /// Takes a message that came at this time.
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

    /// A message that is not the next one: behind a gap, out of a gap, or one that came before.
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

    /// Whether the last message of the schedule has come.
    #[inline]
    pub fn has_seen(&self, total: u64) -> bool {
        self.received.next >= total
    }

    /// What came.
    pub fn received(&self) -> &Received {
        &self.received
    }

    /// How late measured messages came: from when they were due, nanoseconds.
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
    fn loss_order_and_doubles_are_told_apart() {
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
    fn a_torn_message_counts_and_is_not_received() {
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
