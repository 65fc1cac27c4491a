//! Stalled publisher: its messages are not handed out as live until it states that it is current. Messages of one that
//! has ended never are.
//!
//! A publisher that continues after a pause first finds old packets in its sockets. It publishes them in order, and
//! states no activity until it has caught up. So books are followed meanwhile as stale; when the statement arrives,
//! everything published before it is read before any book is live.

#[cfg(test)]
mod tests;

use super::{Joining, Subscriber};
use crate::SubscriptionEvent;
use touchline_types::native::{Body, Message, mark_stale};
use zerocopy::IntoBytes;

impl Subscriber {
    /// A stall of the publisher starts or ends.
    #[cold]
    pub(super) fn turn(&mut self) -> SubscriptionEvent {
        let is_stalled = !self.watch.is_stalled;
        self.watch.is_stalled = is_stalled;
        if is_stalled {
            if self.settings.live_only {
                // No book is live: live books arrive as a whole later.
                self.rows.forget_books();
            }
            return SubscriptionEvent::PublisherStalled;
        }
        self.joining = Some(Joining::new());
        SubscriptionEvent::PublisherResumed
    }

    /// Changes the message in the buffer so that it is not handed out as live.
    #[cold]
    pub(super) fn distrust_message(&mut self, length: usize) {
        let bytes = self.scratch.message.as_mut_bytes();
        let bytes = bytes.get_mut(..length).unwrap_or_default();
        let Ok(message) = Message::parse(bytes) else {
            return;
        };
        if matches!(message.body, Body::Reset) {
            // It makes every book live: the stall or the end is reported again after it.
            // mutant: live: a reset by a stalled publisher makes books live
            self.joining = Some(Joining::away());
        }
        mark_stale(bytes);
    }
}
