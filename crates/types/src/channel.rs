//! State of a channel, common to all its instruments.

use crate::{Validity, worse_of};

/// Validity of a channel as a whole, and its position.
///
/// A channel after the feed timeout, or one that waits for lost packets, needs one message for all its instruments.
/// Readers show for each book the worse of its own validity and this:
/// [`price_of`](ChannelState::price_of), [`orders_of`](ChannelState::orders_of).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// Upper bound of the validity of its price books.
    pub price: Validity,
    /// Upper bound of the validity of its order books.
    pub orders: Validity,
    /// The venue's number of the last packet in the books; 0 if the venue numbers none.
    pub sequence: u64,
}

impl ChannelState {
    /// A channel without a state: each book has its own validity.
    pub const LIVE: ChannelState = ChannelState {
        price: Validity::Live,
        orders: Validity::Live,
        sequence: 0,
    };

    /// A channel whose state cannot be read: no book is live.
    pub const UNKNOWN: ChannelState = ChannelState {
        price: Validity::Stale,
        orders: Validity::Stale,
        sequence: 0,
    };

    /// The state as a reader sees it whose publisher has ended or is stalled: no book is live.
    pub const fn stale(self) -> ChannelState {
        ChannelState {
            price: worse_of(self.price, Validity::Stale),
            orders: worse_of(self.orders, Validity::Stale),
            sequence: self.sequence,
        }
    }

    /// Validity of a price book whose own validity is `own`.
    #[inline]
    pub const fn price_of(&self, own: Validity) -> Validity {
        worse_of(own, self.price)
    }

    /// Validity of an order book whose own validity is `own`.
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
