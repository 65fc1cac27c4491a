//! The state of a channel: what holds for all its instruments at once.

use crate::{Validity, worse_of};

/// Validity of a channel as a whole, and how far it has come.
///
/// A channel that is silent, or waits for lost packets, says so in one message, however many
/// instruments it has. Readers show of each book the worse of its own validity and this:
/// [`price_of`](ChannelState::price_of), [`orders_of`](ChannelState::orders_of).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// Validity of its price books: no live price book may be trusted further.
    pub price: Validity,
    /// Validity of its order books.
    pub orders: Validity,
    /// The venue's number of the last packet that the books hold; 0 where the venue numbers none.
    pub sequence: u64,
}

impl ChannelState {
    /// A channel of which nothing was said: books are what they are by themselves.
    pub const LIVE: ChannelState = ChannelState {
        price: Validity::Live,
        orders: Validity::Live,
        sequence: 0,
    };

    /// A channel whose state cannot be read: no book may be trusted.
    pub const UNKNOWN: ChannelState = ChannelState {
        price: Validity::Stale,
        orders: Validity::Stale,
        sequence: 0,
    };

    /// Validity of a price book of the channel that is `own` by itself.
    #[inline]
    pub const fn price_of(&self, own: Validity) -> Validity {
        worse_of(own, self.price)
    }

    /// Validity of an order book of the channel that is `own` by itself.
    #[inline]
    pub const fn orders_of(&self, own: Validity) -> Validity {
        worse_of(own, self.orders)
    }
}

impl Default for ChannelState {
    fn default() -> ChannelState {
        ChannelState::LIVE
    }
}
