//! Health of a channel: conditions that affect all its live books at once, and the published state.

use touchline_types::{ChannelState, Validity};

/// Reasons why no book of a channel is live, even if its own validity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    /// The feed timeout has passed without a packet.
    FeedTimeout = 1,
    /// The connection is lost.
    Disconnected = 2,
    /// Packets are awaited, or packets behind them wait to be processed.
    Waiting = 4,
    /// Packets contradict the processed ones, and no other packet arrived since.
    UnconfirmedJump = 8,
    /// No packet of any group of the channel came for longer than its groups ever pause.
    ChannelSilent = 16,
}

/// Health of a channel: current conditions, and the last published state.
#[derive(Debug, Default)]
pub struct ChannelHealth {
    conditions: u8,
    /// The published state differs from the current one.
    is_due: bool,
    published: ChannelState,
}

impl ChannelHealth {
    /// Sets a condition.
    #[inline]
    pub fn raise(&mut self, condition: Condition) {
        if !self.has(condition) {
            self.change(condition);
        }
    }

    /// Clears a condition.
    #[inline]
    pub fn clear(&mut self, condition: Condition) {
        if self.has(condition) {
            self.change(condition);
        }
    }

    #[cold]
    fn change(&mut self, condition: Condition) {
        self.conditions ^= condition as u8;
        self.is_due = self.validity() != self.published.price;
    }

    /// Whether a condition is set.
    #[inline]
    #[must_use]
    pub fn has(&self, condition: Condition) -> bool {
        self.conditions & condition as u8 != 0
    }

    /// Whether any condition is set.
    #[inline]
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.conditions != 0
    }

    /// Published validity of a live book of the channel.
    #[inline]
    #[must_use]
    pub fn validity(&self) -> Validity {
        const STALE: u8 = Condition::FeedTimeout as u8
            | Condition::Disconnected as u8
            | Condition::ChannelSilent as u8;
        match self.conditions {
            0 => Validity::Live,
            conditions if conditions & STALE != 0 => Validity::Stale,
            // mutant: feed: books look fresh while packets are awaited
            _ => Validity::Gapped,
        }
    }

    /// Whether the published state differs from the current one.
    #[inline]
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// The state to publish, if it differs from the last published one; `sequence` is the number of the last packet in
    /// the books.
    pub fn take(&mut self, sequence: u64) -> Option<ChannelState> {
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        let validity = self.validity();
        self.published = ChannelState {
            price: validity,
            orders: validity,
            sequence,
        };
        Some(self.published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_published_once_with_the_worst_condition() {
        let mut health = ChannelHealth::default();
        let published = |health: &mut ChannelHealth| health.take(7).map(|state| state.price);
        assert_eq!(published(&mut health), None, "a new channel is live");
        health.raise(Condition::Waiting);
        health.raise(Condition::UnconfirmedJump);
        assert!(health.is_due());
        assert_eq!(published(&mut health), Some(Validity::Gapped));
        assert_eq!(published(&mut health), None, "once");
        health.raise(Condition::FeedTimeout);
        assert_eq!(published(&mut health), Some(Validity::Stale));
        health.clear(Condition::Waiting);
        assert!(!health.has(Condition::Waiting) && health.has(Condition::FeedTimeout));
        assert_eq!(published(&mut health), None, "stale as before");
        health.clear(Condition::FeedTimeout);
        assert_eq!(published(&mut health), Some(Validity::Gapped));
        health.clear(Condition::UnconfirmedJump);
        let state = health.take(9).expect("it is live again");
        let live = (Validity::Live, Validity::Live, 9);
        assert_eq!((state.price, state.orders, state.sequence), live);
    }

    #[test]
    fn a_condition_that_is_set_and_cleared_between_two_calls_is_not_published() {
        let mut health = ChannelHealth::default();
        health.raise(Condition::Disconnected);
        health.clear(Condition::Disconnected);
        assert_eq!(health.take(1), None);
    }
}
