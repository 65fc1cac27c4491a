//! Requests of a feed to its link, and feedback of the books after a batch.

use touchline_types::Instrument;

/// Request of a feed to its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Request packets that every line lost, and pass them to [`crate::Feed::handle`].
    Retransmit {
        /// First packet, at least 1.
        first: u64,
        /// Last packet, not before the first.
        last: u64,
    },
}

/// Results of the books for a batch that its feed needs.
#[derive(Debug, Default)]
pub struct Feedback {
    /// Instruments whose order book is lost: there was no room for its orders.
    pub orders_overflowed: Vec<Instrument>,
    /// Instruments with an inconsistent change: an inserted level existed already, or a changed or deleted one did not.
    /// The change was applied, and the feed may request a snapshot.
    pub inconsistent: Vec<Instrument>,
}

impl Feedback {
    /// Allocates for `instruments_max` of each.
    #[must_use]
    pub fn new(instruments_max: usize) -> Feedback {
        Feedback {
            orders_overflowed: Vec::with_capacity(instruments_max),
            inconsistent: Vec::with_capacity(instruments_max),
        }
    }

    /// Whether there is no feedback.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.orders_overflowed.is_empty() && self.inconsistent.is_empty()
    }

    /// Clears the feedback.
    pub fn clear(&mut self) {
        self.orders_overflowed.clear();
        self.inconsistent.clear();
    }
}
