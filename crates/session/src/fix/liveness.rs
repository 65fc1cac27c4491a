//! Heartbeats and test requests.

/// Liveness of a connection: times of the last received and sent message, and a pending TestRequest.
///
/// Invariant: times never decrease during a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Liveness {
    /// Seconds; 0: none.
    heartbeat_s: u32,
    /// Silence after which a TestRequest is sent, if it is shorter than that of the interval.
    test_after_ns: u64,
    received_ns: u64,
    sent_ns: u64,
    /// A TestRequest was sent, and no message has arrived since.
    is_test_request_sent: bool,
}

/// Action after a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// No message was sent for an interval.
    Heartbeat,
    /// No message was received for 1.2 intervals, or for the time after which a TestRequest is sent.
    TestRequest,
    /// No message was received for 2.4 intervals.
    GiveUp,
}

impl Liveness {
    /// Starts a connection. A TestRequest is sent after `test_after_ns` without a message, or 1.2 intervals.
    pub fn begin(&mut self, heartbeat_s: u32, test_after_ns: u64, now_ns: u64) {
        *self = Liveness {
            heartbeat_s,
            test_after_ns,
            received_ns: now_ns,
            sent_ns: now_ns,
            is_test_request_sent: false,
        };
    }

    /// The interval, in seconds; 0: none.
    pub fn heartbeat_s(&self) -> u32 {
        self.heartbeat_s
    }

    /// Sets the agreed interval.
    pub fn agree(&mut self, heartbeat_s: u32) {
        self.heartbeat_s = heartbeat_s;
    }

    /// Records a received message.
    #[inline]
    pub fn received(&mut self, now_ns: u64) {
        assert!(now_ns >= self.received_ns, "liveness: time never goes back");
        self.received_ns = now_ns;
        self.is_test_request_sent = false;
    }

    /// Time of the last received message, or of the connection.
    pub fn received_ns(&self) -> u64 {
        self.received_ns
    }

    /// Records a sent message.
    #[inline]
    pub fn sent(&mut self, now_ns: u64) {
        assert!(now_ns >= self.sent_ns, "liveness: time never goes back");
        self.sent_ns = now_ns;
    }

    /// Records a TestRequest.
    pub fn test_requested(&mut self) {
        self.is_test_request_sent = true;
    }

    /// The due action. No heartbeat is sent between a TestRequest and its answer: the TestRequest counts as one.
    pub fn due(&self, now_ns: u64) -> Option<Sign> {
        let interval_ns = self.interval_ns()?;
        let silent_ns = now_ns.saturating_sub(self.received_ns);
        if silent_ns >= interval_ns * 12 / 5 {
            Some(Sign::GiveUp)
        } else if silent_ns >= self.test_ns(interval_ns) {
            (!self.is_test_request_sent).then_some(Sign::TestRequest)
        } else {
            let is_silent = now_ns.saturating_sub(self.sent_ns) >= interval_ns;
            (is_silent && !self.is_test_request_sent).then_some(Sign::Heartbeat)
        }
    }

    /// Time of the next action, by the monotonic clock.
    pub fn next_timeout(&self) -> Option<u64> {
        let interval_ns = self.interval_ns()?;
        if self.is_test_request_sent {
            return Some(self.received_ns.saturating_add(interval_ns * 12 / 5));
        }
        let test_ns = self.received_ns.saturating_add(self.test_ns(interval_ns));
        Some(test_ns.min(self.sent_ns.saturating_add(interval_ns)))
    }

    fn test_ns(&self, interval_ns: u64) -> u64 {
        self.test_after_ns.min(interval_ns * 6 / 5)
    }

    fn interval_ns(&self) -> Option<u64> {
        match self.heartbeat_s {
            0 => None,
            seconds => Some(u64::from(seconds) * 1_000_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn begun() -> Liveness {
        let mut liveness = Liveness::default();
        liveness.begin(10, u64::MAX, 100 * S);
        liveness
    }

    #[test]
    fn a_silent_counterparty_gets_a_test_request_and_is_disconnected() {
        let mut liveness = begun();
        liveness.sent(105 * S);
        assert_eq!(liveness.due(112 * S - 1), None);
        assert_eq!(liveness.due(112 * S), Some(Sign::TestRequest));
        liveness.test_requested();
        liveness.sent(112 * S);
        assert_eq!(liveness.due(123 * S), None, "the question was a sign");
        assert_eq!(liveness.due(124 * S), Some(Sign::GiveUp));
        liveness.received(123 * S);
        assert_eq!(liveness.due(124 * S), Some(Sign::Heartbeat));
    }

    /// Each answer starts the time again, and an answer that does not come ends the connection no earlier than without it.
    #[test]
    fn a_test_request_may_be_sent_long_before_the_interval() {
        let mut liveness = Liveness::default();
        liveness.begin(10, 2 * S, 100 * S);
        for round in 0..5 {
            let at_ns = (102 + 2 * round) * S;
            assert_eq!(liveness.next_timeout(), Some(at_ns));
            assert_eq!(liveness.due(at_ns - 1), None);
            assert_eq!(liveness.due(at_ns), Some(Sign::TestRequest));
            liveness.test_requested();
            liveness.sent(at_ns);
            liveness.received(at_ns);
        }
        liveness.test_requested();
        assert_eq!(liveness.due(134 * S - 1), None);
        assert_eq!(liveness.due(134 * S), Some(Sign::GiveUp));
    }

    #[test]
    fn a_heartbeat_is_sent_after_an_interval_without_messages() {
        let mut liveness = begun();
        assert_eq!(liveness.due(110 * S - 1), None);
        assert_eq!(liveness.due(110 * S), Some(Sign::Heartbeat));
        liveness.agree(0);
        assert_eq!(
            (liveness.due(9_000 * S), liveness.next_timeout()),
            (None, None)
        );
    }

    /// No action is due before the returned time, and one is due at it.
    #[test]
    fn the_next_timeout_is_the_earliest_one() {
        let mut liveness = begun();
        for step in 1..200 {
            let at_ns = liveness.next_timeout().expect("an interval");
            assert_eq!(liveness.due(at_ns - 1), None, "step {step}");
            match liveness.due(at_ns) {
                Some(Sign::Heartbeat) => liveness.sent(at_ns),
                Some(Sign::TestRequest) => {
                    liveness.test_requested();
                    liveness.sent(at_ns);
                }
                Some(Sign::GiveUp) => liveness.received(at_ns),
                None => panic!("nothing at {at_ns} in step {step}"),
            }
        }
    }

    #[test]
    #[should_panic(expected = "time never goes back")]
    fn a_decreasing_time_panics() {
        begun().received(99 * S);
    }
}
