//! Health of a channel: conditions that affect all its live books at once, and the published state.

use touchline_types::{ChannelState, Validity};

/// Reasons why no book of a channel is live, whatever its own validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Doubt {
    /// The feed timeout has passed without a packet.
    Silent = 1,
    /// The connection is lost.
    Down = 2,
    /// Packets are awaited, or packets behind them wait to be processed.
    Behind = 4,
    /// Packets contradict the processed ones, and no other packet arrived since.
    UnconfirmedJump = 8,
}

/// Health of a channel: current conditions, and the last published state.
#[derive(Debug, Default)]
pub struct ChannelHealth {
    doubts: u8,
    /// The published state differs from the current one.
    is_due: bool,
    told: ChannelState,
}

impl ChannelHealth {
    /// Sets a condition.
    #[inline]
    pub fn raise(&mut self, doubt: Doubt) {
        if !self.has(doubt) {
            self.change(doubt);
        }
    }

    /// Clears a condition.
    #[inline]
    pub fn clear(&mut self, doubt: Doubt) {
        if self.has(doubt) {
            self.change(doubt);
        }
    }

    #[cold]
    fn change(&mut self, doubt: Doubt) {
        self.doubts ^= doubt as u8;
        self.is_due = self.validity() != self.told.price;
    }

    /// Whether a condition is set.
    #[inline]
    #[must_use]
    pub fn has(&self, doubt: Doubt) -> bool {
        self.doubts & doubt as u8 != 0
    }

    /// Published validity of a live book of the channel.
    #[inline]
    #[must_use]
    pub fn validity(&self) -> Validity {
        const STALE: u8 = Doubt::Silent as u8 | Doubt::Down as u8;
        match self.doubts {
            0 => Validity::Live,
            doubts if doubts & STALE != 0 => Validity::Stale,
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
        self.told = ChannelState {
            price: validity,
            orders: validity,
            sequence,
        };
        Some(self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once_and_the_worst_doubt_counts() {
        let mut health = ChannelHealth::default();
        let told = |health: &mut ChannelHealth| health.take(7).map(|state| state.price);
        assert_eq!(told(&mut health), None, "it begins live");
        health.raise(Doubt::Behind);
        health.raise(Doubt::UnconfirmedJump);
        assert!(health.is_due());
        assert_eq!(told(&mut health), Some(Validity::Gapped));
        assert_eq!(told(&mut health), None, "once");
        health.raise(Doubt::Silent);
        assert_eq!(told(&mut health), Some(Validity::Stale));
        health.clear(Doubt::Behind);
        assert!(!health.has(Doubt::Behind) && health.has(Doubt::Silent));
        assert_eq!(told(&mut health), None, "stale as before");
        health.clear(Doubt::Silent);
        assert_eq!(told(&mut health), Some(Validity::Gapped));
        health.clear(Doubt::UnconfirmedJump);
        let state = health.take(9).expect("it is live again");
        let live = (Validity::Live, Validity::Live, 9);
        assert_eq!((state.price, state.orders, state.sequence), live);
    }

    #[test]
    fn what_comes_and_goes_between_two_looks_is_not_told() {
        let mut health = ChannelHealth::default();
        health.raise(Doubt::Down);
        health.clear(Doubt::Down);
        assert_eq!(health.take(1), None);
    }
}
