//! A publisher that has its bus and does nothing: what it publishes is not handed out as live, until it has
//! stated that it is current.
//!
//! A publisher that goes on after a pause finds old packets in its sockets first. It publishes them in their
//! order, and states nothing until it has caught up. So books are followed meanwhile, as stale ones, and when the
//! statement comes, everything that was published before it is read before any book is live.

#[cfg(test)]
mod tests;

use super::{Joining, Subscriber};
use crate::SubscriptionEvent;
use touchline_types::native::{Body, Message, mark_stale};
use zerocopy::IntoBytes;

impl Subscriber {
    /// The publisher is stalled from here on, or is no more.
    #[cold]
    pub(super) fn turn(&mut self) -> SubscriptionEvent {
        let is_stalled = !self.watch.is_stalled;
        self.watch.is_stalled = is_stalled;
        if is_stalled {
            if self.settings.live_only {
                // Nothing is live: whatever will be comes whole.
                self.rows.forget_books();
            }
            return SubscriptionEvent::PublisherStalled;
        }
        self.joining = Some(Joining::again());
        SubscriptionEvent::PublisherResumed
    }

    /// The message in the buffer is not to be handed out as live.
    #[cold]
    pub(super) fn distrust_message(&mut self, length: usize) {
        let bytes = self.scratch.message.as_mut_bytes();
        let bytes = bytes.get_mut(..length).unwrap_or_default();
        let Ok(message) = Message::parse(bytes) else {
            return;
        };
        if matches!(message.body, Body::Reset) {
            // It makes every book live: what holds is said again behind it.
            // mutant: live: a reset by a stalled publisher makes books live
            self.joining = Some(Joining::stalled());
        }
        // mutant: live: what a stalled publisher sends is live
        mark_stale(bytes);
    }
}
