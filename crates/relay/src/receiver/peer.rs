//! The sender that is received.

use crate::head::{Epoch, Head, Source};

/// Timeouts that a sender of an older epoch waits for: its batches may only have been on their way for long.
const OLDER_TIMEOUTS: u64 = 10;

/// The sender, and how far its stream was taken.
#[derive(Debug)]
pub struct Peer {
    /// Origin of its data.
    pub source: Source,
    /// Its run.
    pub epoch: Epoch,
    /// Number of the next message.
    pub next: u64,
    /// When a batch of it came last.
    pub heard_ns: u64,
    /// Nothing came for too long, or the connection ended.
    pub is_silent: bool,
    /// The connection ended: whoever answers at its address is the next one.
    pub has_ended: bool,
    /// The publisher of its bus is gone or stalled.
    pub is_source_down: bool,
}

impl Peer {
    /// Begins with the batch of this head.
    pub fn new(head: &Head, now_ns: u64) -> Peer {
        Peer {
            source: head.source,
            epoch: head.epoch,
            next: head.first_sequence,
            heard_ns: now_ns,
            is_silent: false,
            has_ended: false,
            is_source_down: false,
        }
    }

    /// A batch of it came.
    #[inline]
    pub fn hear(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
        self.is_silent = false;
        self.has_ended = false;
    }

    /// Whether it sends, and its source publishes.
    pub fn is_live(&self) -> bool {
        !self.is_silent && !self.is_source_down
    }

    /// Whether the sender of this head is taken instead: at once if it is the same sender on a bus that was started again, or the
    /// connection ended; else when this one is silent.
    pub fn gives_way_to(&self, head: &Head, now_ns: u64, timeout_ns: u64) -> bool {
        let silent_ns = now_ns.saturating_sub(self.heard_ns);
        let is_newer = head.epoch > self.epoch;
        if head.source != self.source {
            return self.has_ended || silent_ns > timeout_ns;
        }
        if head.epoch.is_of_same_run(self.epoch) {
            return is_newer;
        }
        let wait_ns = if is_newer {
            timeout_ns
        } else {
            timeout_ns * OLDER_TIMEOUTS
        };
        self.has_ended || silent_ns > wait_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::HeadFlags;

    const TIMEOUT: u64 = 350;

    fn head(source: &str, epoch: u64) -> Head {
        Head {
            source: Source::named(source).expect("a name"),
            epoch: Epoch(epoch),
            first_sequence: 1,
            count: 0,
            hops: 0,
            flags: HeadFlags::NONE,
            sent_ns: 0,
        }
    }

    #[test]
    fn a_second_sender_waits_until_the_first_is_silent() {
        let first = Peer::new(&head("a", 5 << 12), 1_000);
        for (second, waits) in [
            (head("a", (5 << 12) + 1), Some(0)),
            (head("a", 5 << 12), None),
            (head("a", 6 << 12), Some(TIMEOUT + 1)),
            (head("a", 4 << 12), Some(10 * TIMEOUT + 1)),
            (head("b", 6 << 12), Some(TIMEOUT + 1)),
            (head("b", 4 << 12), Some(TIMEOUT + 1)),
        ] {
            let gives = |after| first.gives_way_to(&second, 1_000 + after, TIMEOUT);
            match waits {
                Some(after) => {
                    assert!(gives(after), "{second:?}");
                    assert!(after == 0 || !gives(after - 1), "{second:?}");
                }
                None => assert!(!gives(100 * TIMEOUT), "{second:?}"),
            }
        }
        let ended = Peer {
            has_ended: true,
            ..first
        };
        assert!(ended.gives_way_to(&head("a", 4 << 12), 1_000, TIMEOUT));
    }
}
