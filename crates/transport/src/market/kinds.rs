//! Message kinds that a subscriber selects.

use std::ops::BitOr;
use touchline_types::native::Body;
use touchline_types::native::layout::Block;
use touchline_types::native::layout::{
    BookSnapshot, BookUpdate, InstrumentState, OrderUpdate, OrdersSnapshot, QuoteSnapshot,
    QuoteUpdate, Statistics, TopOfBook, Trade, TradingStatus,
};

/// Set of message kinds. Definitions and messages about the channel or the subscription belong to no kind: every
/// subscriber receives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Tops of book at each change, on publications that publish tops. At join the top of each slot.
    pub const TOPS: Kinds = Kinds(1 << 0);
    /// Price books: whole ones and changes.
    pub const BOOKS: Kinds = Kinds(1 << 1);
    /// Order books: whole ones and changes.
    pub const ORDERS: Kinds = Kinds(1 << 2);
    /// Trades.
    pub const TRADES: Kinds = Kinds(1 << 3);
    /// Statistics of a session or a day.
    pub const STATISTICS: Kinds = Kinds(1 << 4);
    /// Trading statuses.
    pub const STATUS: Kinds = Kinds(1 << 5);
    /// Quotes of providers: all of them and changes.
    pub const QUOTES: Kinds = Kinds(1 << 6);
    /// No kind.
    pub const NONE: Kinds = Kinds(0);
    /// All of them.
    pub const ALL: Kinds = Kinds(0x7F);

    /// Whether the sets overlap.
    #[inline]
    pub const fn has_any(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// Templates that are left out, one bit each.
    pub(super) const fn left_out(self) -> u64 {
        let templates = [
            (Kinds::TOPS, TopOfBook::TEMPLATE_ID),
            (Kinds::BOOKS, BookSnapshot::TEMPLATE_ID),
            (Kinds::BOOKS, BookUpdate::TEMPLATE_ID),
            // A top belongs to a book: the validity concerns both.
            (
                Kinds(Kinds::BOOKS.0 | Kinds::TOPS.0),
                InstrumentState::TEMPLATE_ID,
            ),
            (Kinds::ORDERS, OrdersSnapshot::TEMPLATE_ID),
            (Kinds::ORDERS, OrderUpdate::TEMPLATE_ID),
            (Kinds::TRADES, Trade::TEMPLATE_ID),
            (Kinds::STATISTICS, Statistics::TEMPLATE_ID),
            (Kinds::STATUS, TradingStatus::TEMPLATE_ID),
            (Kinds::QUOTES, QuoteUpdate::TEMPLATE_ID),
            (Kinds::QUOTES, QuoteSnapshot::TEMPLATE_ID),
        ];
        let (mut mask, mut at) = (0, 0);
        while at < templates.len() {
            let (kinds, template) = templates[at];
            if !self.has_any(kinds) {
                mask |= 1 << template;
            }
            at += 1;
        }
        mask
    }
}

impl BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

/// Whether a message changes books or the state of all of them.
pub(super) fn is_of_books(body: &Body<'_>) -> bool {
    matches!(
        body,
        Body::BookUpdate(_)
            | Body::BookSnapshot(_)
            | Body::InstrumentState(_)
            | Body::TopOfBook(_)
            | Body::OrderUpdate(_)
            | Body::OrdersSnapshot(_)
            | Body::Reset
            | Body::Gap(_)
            | Body::Channel(_)
            | Body::Download(_)
    )
}
