//! Age of the books, by the clock of this host alone: probes that the sender answers in its stream.
//!
//! A probe contains the time of this host. The sender answers it in the stream, after every message that its bus had at
//! that moment. So after an answer the books contain everything that the source had published at the time of the probe,
//! independent of the length of the link, of its queues, of the buffers of both kernels, and of the clocks of the other
//! host. A missing answer proves nothing.

use std::collections::VecDeque;

/// Probes within the longest allowed lag.
const PROBES: u64 = 8;
/// Probes without an answer that are stored: a very late answer no longer proves freshness, but informs the sender of
/// its queue.
const STORED_MAX: usize = 1_024;

/// Probes on their way, and the latest answer.
///
/// Invariant: stored probes are ordered by time, and later than the answered one.
#[derive(Debug)]
pub struct Freshness {
    lag_ns_max: u64,
    sent: VecDeque<u64>,
    next_ns: u64,
    /// Time of the latest probe with an answer; 0 before the first answer.
    answered_ns: u64,
    is_lagging: bool,
}

impl Freshness {
    /// Makes the state before the first answer: books lag.
    pub fn new(lag_ns_max: u64) -> Freshness {
        Freshness {
            lag_ns_max,
            sent: VecDeque::with_capacity(STORED_MAX),
            next_ns: 0,
            answered_ns: 0,
            is_lagging: true,
        }
    }

    /// Another stream: its sender has answered nothing.
    pub fn restart(&mut self) {
        self.answered_ns = 0;
        self.is_lagging = true;
    }

    /// A new connection has no answer to the probes of the last one; the next probe is sent at once.
    pub fn connected(&mut self) {
        let last_ns = self.sent.back().copied().unwrap_or(self.answered_ns);
        self.sent.clear();
        self.next_ns = last_ns + 1;
    }

    /// Whether books may be older than allowed.
    #[inline]
    pub fn is_lagging(&self) -> bool {
        self.is_lagging
    }

    /// Longest possible age of the books, nanoseconds; 0 if no probe was answered.
    pub fn lag_ns(&self, now_ns: u64) -> u64 {
        match self.answered_ns {
            0 => 0,
            answered_ns => now_ns.saturating_sub(answered_ns),
        }
    }

    /// Time of the probe to send now, and of the latest one with an answer.
    pub fn probe(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns + self.lag_ns_max / PROBES;
        if self.sent.len() == STORED_MAX {
            self.sent.pop_front();
        }
        let is_later = self.sent.back().is_none_or(|last| *last < now_ns);
        assert!(
            is_later && self.answered_ns < now_ns,
            "a probe at {now_ns} ns is not later than those before"
        );
        self.sent.push_back(now_ns);
        Some((now_ns, self.answered_ns))
    }

    /// Whether a probe of this time was sent after `since_ns`, and still waits for its answer.
    pub fn is_due(&self, probe_ns: u64, since_ns: u64) -> bool {
        probe_ns > since_ns && self.sent.binary_search(&probe_ns).is_ok()
    }

    /// Takes the answer to the probe of this time. Answers to probes of other receivers are ignored.
    pub fn answer(&mut self, probe_ns: u64, now_ns: u64) {
        // mutant: relay: any answer proves that books are fresh
        let Ok(at) = self.sent.binary_search(&probe_ns) else {
            return;
        };
        self.sent.drain(..=at);
        self.answered_ns = probe_ns;
        self.is_lagging = self.lag_ns(now_ns) > self.lag_ns_max;
    }

    /// Updates the state by time; returns whether books lag since this call.
    #[inline]
    pub fn begins_to_lag(&mut self, now_ns: u64) -> bool {
        // mutant: relay: books that lag stay live
        if self.is_lagging || self.lag_ns(now_ns) <= self.lag_ns_max {
            return false;
        }
        self.is_lagging = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn only_an_answer_to_a_recent_probe_of_this_receiver_is_proof() {
        let mut freshness = Freshness::new(500 * MS);
        assert!(freshness.is_lagging());
        assert_eq!(freshness.probe(1_000 * MS), Some((1_000 * MS, 0)));
        assert_eq!(freshness.probe(1_062 * MS), None, "500 ms / 8 later");
        freshness.answer(999 * MS, 1_001 * MS);
        assert!(freshness.is_lagging(), "a probe of another receiver");
        freshness.answer(1_000 * MS, 1_501 * MS);
        assert!(freshness.is_lagging(), "an answer that is too late");
        assert_eq!(freshness.probe(1_600 * MS), Some((1_600 * MS, 1_000 * MS)));
        freshness.answer(1_600 * MS, 1_700 * MS);
        assert!(!freshness.is_lagging());
        assert!(!freshness.begins_to_lag(2_100 * MS));
        assert_eq!(freshness.lag_ns(2_100 * MS), 500 * MS);
        assert!(freshness.begins_to_lag(2_100 * MS + 1));
        assert!(!freshness.begins_to_lag(2_200 * MS), "reported once");
        freshness.answer(1_600 * MS, 2_200 * MS);
        assert!(freshness.is_lagging(), "the same answer again");
    }
}
