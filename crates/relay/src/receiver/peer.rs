//! The current sender.

use crate::head::{Epoch, Head, Source};

/// Number of timeouts before a sender with an older epoch is accepted: its batches may only be late.
const OLDER_TIMEOUTS: u64 = 10;

/// Most messages that may be lost at once, at any rate.
const JUMP_MAX: u64 = 1 << 24;
/// Shortest time of a message: ten million a second.
const MESSAGE_NS_MIN: u64 = 100;

/// The sender, and the progress of its stream.
#[derive(Debug)]
pub struct Peer {
    /// Origin of its data.
    pub source: Source,
    /// Epoch.
    pub epoch: Epoch,
    /// Number of the next message.
    pub next: u64,
    /// Time of its last batch.
    pub heard_ns: u64,
    /// Time of the sender's last batch whose numbers are not below the next one.
    pub in_order_ns: u64,
    /// Sending time of the last batch, by the sender's clock.
    pub sent_ns: u64,
    /// The link timeout has passed, or the connection ended.
    pub is_silent: bool,
    /// The connection ended: the next sender at its address is accepted.
    pub has_ended: bool,
    /// The publisher of its bus has ended or is stalled.
    pub is_source_down: bool,
}

impl Peer {
    /// Starts with a batch of this header.
    pub fn new(head: &Head, now_ns: u64) -> Peer {
        Peer {
            source: head.source,
            epoch: head.epoch,
            next: head.first_sequence,
            heard_ns: now_ns,
            in_order_ns: now_ns,
            sent_ns: head.sent_ns,
            is_silent: false,
            has_ended: false,
            is_source_down: false,
        }
    }

    /// A batch of it arrived.
    #[inline]
    pub fn hear(&mut self, head: &Head, now_ns: u64) {
        self.heard_ns = now_ns;
        self.sent_ns = head.sent_ns;
        self.is_silent = false;
        self.has_ended = false;
    }

    /// Whether its stream can have this number now: more is a wrong or forged batch, not a loss.
    pub fn can_have_reached(&self, first_sequence: u64, now_ns: u64) -> bool {
        let silent_ns = now_ns.saturating_sub(self.heard_ns);
        let reach = JUMP_MAX + silent_ns / MESSAGE_NS_MIN;
        first_sequence <= self.next.saturating_add(reach)
    }

    /// Whether the peer sends, and its source publishes.
    pub fn is_live(&self) -> bool {
        !self.is_silent && !self.is_source_down
    }

    /// Whether the sender of this header replaces the current one: at once if it is the same sender after a restart of
    /// its bus, or the connection ended; otherwise after the link timeout.
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
    fn a_second_sender_waits_for_the_timeout_of_the_first() {
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
