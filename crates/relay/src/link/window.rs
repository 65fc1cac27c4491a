//! Age of the data that a receiver of a connection still has to process, by the sender's clock: the queue in time.
//!
//! The receiver's probes name the latest answer that it has processed. The oldest answer without this acknowledgement
//! has the age of the queue, wherever the queue is: in this process, in either kernel, or in a device of the network.

use crate::head::Head;
use std::collections::VecDeque;

/// Most answers without an acknowledgement; beyond this no probe is answered.
const ANSWERS_MAX: usize = 64;
/// Shortest time between two answers.
const ANSWER_NS_MIN: u64 = 5_000_000;
/// Longest time after the begin or the end of a round of refreshes in which the queue may be long.
const SETTLE_NS_MAX: u64 = 5_000_000_000;
/// Time after which the sender gives up a receiver without acknowledgements.
const HELD_NS_MAX: u64 = 10_000_000_000;

/// Change of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The receiver is behind: the sender pauses its stream.
    Held,
    /// The receiver has caught up, and needs the present state.
    Resumed,
    /// The receiver has acknowledged nothing for ten seconds.
    GivenUp,
}

/// Answers on their way to one receiver.
#[derive(Debug)]
pub struct Window {
    /// Longest age of books at receivers, nanoseconds.
    lag_ns_max: u64,
    /// Probe and time of the answers without an acknowledgement, oldest first.
    answers: VecDeque<(u64, u64)>,
    /// The latest probe without an answer.
    probe: Option<u64>,
    answered_ns: u64,
    /// Shortest time until an acknowledgement.
    round_trip_ns_min: Option<u64>,
    held_ns: Option<u64>,
    settle_until_ns: u64,
}

impl Window {
    /// Makes a window before the first message.
    pub fn new(lag_ns_max: u64) -> Window {
        Window {
            lag_ns_max,
            answers: VecDeque::with_capacity(ANSWERS_MAX),
            probe: None,
            answered_ns: 0,
            round_trip_ns_min: None,
            held_ns: None,
            settle_until_ns: 0,
        }
    }

    /// Whether the stream to the receiver is paused.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held_ns.is_some()
    }

    /// Age of the queue.
    pub fn queued_ns(&self, now_ns: u64) -> u64 {
        let oldest = self.answers.front();
        oldest.map_or(0, |(_, at_ns)| now_ns.saturating_sub(*at_ns))
    }

    /// A probe arrived; it acknowledges an answer.
    pub fn probed(&mut self, head: &Head, now_ns: u64) {
        let acknowledged = head.first_sequence;
        let mut known = self.answers.iter();
        if let Some(at) = known.position(|(probe, _)| *probe == acknowledged) {
            let took_ns = now_ns.saturating_sub(self.answers[at].1);
            let least_ns = self.round_trip_ns_min.unwrap_or(self.lag_ns_max);
            self.round_trip_ns_min = Some(least_ns.min(took_ns));
            self.answers.drain(..=at);
        }
        self.probe = Some(head.sent_ns);
    }

    /// The probe to answer now, if there is one.
    pub fn answer(&mut self, now_ns: u64) -> Option<u64> {
        let is_early = now_ns.saturating_sub(self.answered_ns) < ANSWER_NS_MIN;
        if self.is_held() || is_early || self.answers.len() == ANSWERS_MAX {
            return None;
        }
        let probe = self.probe.take()?;
        self.answered_ns = now_ns;
        self.answers.push_back((probe, now_ns));
        Some(probe)
    }

    /// A round of refreshes begins or ends.
    pub fn refreshed(&mut self, now_ns: u64) {
        self.settle_until_ns = now_ns + SETTLE_NS_MAX;
    }

    /// Whether a refresh can be sent without a long queue.
    pub fn has_room(&self, now_ns: u64) -> bool {
        self.queued_ns(now_ns) <= self.limit_ns(4)
    }

    /// Updates the state by time.
    pub fn change(&mut self, now_ns: u64) -> Option<Change> {
        if let Some(held_ns) = self.held_ns {
            if self.answers.is_empty() {
                self.held_ns = None;
                return Some(Change::Resumed);
            }
            let is_lost = now_ns.saturating_sub(held_ns) > HELD_NS_MAX
                && self.queued_ns(now_ns) > HELD_NS_MAX;
            return is_lost.then_some(Change::GivenUp);
        }
        if self.has_room(now_ns) {
            self.settle_until_ns = 0;
        }
        // mutant: relay: the queue of a receiver has no limit in time
        if now_ns < self.settle_until_ns || self.queued_ns(now_ns) <= self.limit_ns(2) {
            return None;
        }
        self.held_ns = Some(now_ns);
        Some(Change::Held)
    }

    /// A part of the allowed lag, beyond the time that an empty link takes.
    fn limit_ns(&self, part: u64) -> u64 {
        self.round_trip_ns_min.unwrap_or(self.lag_ns_max) + self.lag_ns_max / part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::{Epoch, HeadFlags, Source};

    const MS: u64 = 1_000_000;

    fn probe(at_ms: u64, acknowledged_ms: u64) -> Head {
        Head {
            source: Source::ANY,
            epoch: Epoch(0),
            first_sequence: acknowledged_ms * MS,
            count: 0,
            hops: 0,
            flags: HeadFlags::PROBE,
            sent_ns: at_ms * MS,
        }
    }

    /// A receiver that acknowledges after 20 ms, and then nothing more.
    #[test]
    fn a_receiver_is_held_while_its_queue_is_long_and_given_up_in_the_end() {
        let mut window = Window::new(500 * MS);
        window.probed(&probe(1_000, 0), 5_000 * MS);
        assert_eq!(window.answer(5_000 * MS), Some(1_000 * MS));
        window.probed(&probe(1_060, 1_000), 5_020 * MS);
        assert_eq!(window.answer(5_020 * MS), Some(1_060 * MS));
        assert_eq!(window.answer(5_030 * MS), None, "answered already");
        assert!(window.has_room(5_165 * MS) && !window.has_room(5_166 * MS));
        assert_eq!(window.change(5_290 * MS), None);
        assert_eq!(window.change(5_291 * MS), Some(Change::Held));
        window.probed(&probe(1_300, 1_000), 5_300 * MS);
        assert_eq!(window.answer(5_400 * MS), None, "held");
        assert_eq!(window.change(15_291 * MS), None);
        assert_eq!(window.change(15_292 * MS), Some(Change::GivenUp));
        window.probed(&probe(1_400, 1_060), 15_300 * MS);
        assert_eq!(window.change(15_300 * MS), Some(Change::Resumed));
        assert_eq!(window.answer(15_300 * MS), Some(1_400 * MS));
    }

    #[test]
    fn a_queue_may_be_long_after_a_round_of_refreshes() {
        let mut window = Window::new(500 * MS);
        window.probed(&probe(1_000, 0), 5_000 * MS);
        window.answer(5_000 * MS);
        window.refreshed(6_000 * MS);
        assert_eq!(window.change(10_999 * MS), None);
        assert_eq!(window.change(11_000 * MS), Some(Change::Held));
    }
}
