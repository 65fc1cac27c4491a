//! Which side of the book, and which book.

coded! {
    /// The side of an order, a level or a quote.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Side {
        /// Buyers; the best is the highest price.
        Bid = 0,
        /// Sellers; the best is the lowest price.
        Ask = 1,
    }
}

impl Side {
    /// Both, bids first.
    pub const BOTH: [Side; 2] = [Side::Bid, Side::Ask];

    /// 0 for bids, 1 for asks.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Outright interest, or interest that the venue derives from other instruments' books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum BookKind {
    /// Orders in this instrument.
    Direct = 0,
    /// Derived by the venue's implication engine; never mixed into the direct book.
    Implied = 1,
}
