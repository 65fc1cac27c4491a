//! What a feed wants done outside of the path, and what the books tell it after a batch.

use touchline_types::Instrument;

/// Request: what a feed wants done by its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Ask for packets that every line lost again, and hand them to [`crate::Feed::handle`].
    Retransmit {
        /// First packet, at least 1.
        first: u64,
        /// Last packet, not before the first.
        last: u64,
    },
}

/// What the books found in a batch that its feed must know.
#[derive(Debug, Default)]
pub struct Feedback {
    /// Instruments whose order book is lost: the books ran out of room for their orders.
    pub orders_overflowed: Vec<Instrument>,
    /// Instruments of whose price book a level was there already, or was not: the book is as the change said, and the
    /// feed may ask for a whole one.
    pub inconsistent: Vec<Instrument>,
}

impl Feedback {
    /// Room for `instruments_max` of each, taken now.
    #[must_use]
    pub fn new(instruments_max: usize) -> Feedback {
        Feedback {
            orders_overflowed: Vec::with_capacity(instruments_max),
            inconsistent: Vec::with_capacity(instruments_max),
        }
    }

    /// Whether there is nothing to tell.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.orders_overflowed.is_empty() && self.inconsistent.is_empty()
    }

    /// It was told.
    pub fn clear(&mut self) {
        self.orders_overflowed.clear();
        self.inconsistent.clear();
    }
}
