//! When messages without a receive time were received.

/// The recorder's clock, and how far the receive times of packets are from it: packets of captures keep their times on a tape of today.
#[derive(Debug, Default)]
pub struct Received {
    recorded_ns: i64,
    offset_ns: i64,
}

impl Received {
    /// The next messages were recorded at this time; 0 is unknown, as of captures.
    pub fn recorded_at(&mut self, ns: u64) {
        self.recorded_ns = i64::try_from(ns).unwrap_or(0);
    }

    /// Packets of another unit follow.
    pub fn begin(&mut self) {
        self.offset_ns = 0;
    }

    /// A message with this receive time; 0 is unknown.
    pub fn note(&mut self, receive_ns: u64) {
        if let Ok(ns @ 1..) = i64::try_from(receive_ns) {
            self.offset_ns = ns - self.recorded_ns;
        }
    }

    /// Estimated receive time of a message without one; `None` without a clock.
    pub fn now(&self) -> Option<i64> {
        let ns = self.recorded_ns.saturating_add(self.offset_ns);
        (ns > 0).then_some(ns)
    }
}
