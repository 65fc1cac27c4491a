//! Kinds of messages that a subscriber may leave out.

use std::ops::BitOr;
use touchline_types::native::Body;
use touchline_types::native::layout::Block;
use touchline_types::native::layout::{
    BookSnapshot, BookUpdate, InstrumentState, OrderUpdate, OrdersSnapshot, Statistics, TopOfBook,
    Trade, TradingStatus,
};

/// Kinds of messages. What concerns the channel or the subscription, and definitions, is of no kind: every
/// subscriber gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Tops of book, each as it changes: of publications that give tops. At join the top of each image.
    pub const TOPS: Kinds = Kinds(1 << 0);
    /// Price books: whole ones and changes.
    pub const BOOKS: Kinds = Kinds(1 << 1);
    /// Order books: whole ones and changes.
    pub const ORDERS: Kinds = Kinds(1 << 2);
    /// Trades.
    pub const TRADES: Kinds = Kinds(1 << 3);
    /// Figures of a session or a day.
    pub const STATISTICS: Kinds = Kinds(1 << 4);
    /// Trading states.
    pub const STATUS: Kinds = Kinds(1 << 5);
    /// None of them.
    pub const NONE: Kinds = Kinds(0);
    /// All of them.
    pub const ALL: Kinds = Kinds(0x3F);

    /// Whether some kind is in both.
    #[inline]
    pub const fn has_any(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// Templates that are left out, a bit for each.
    pub(super) fn left_out(self) -> u64 {
        let templates = [
            (Kinds::TOPS, TopOfBook::TEMPLATE_ID),
            (Kinds::BOOKS, BookSnapshot::TEMPLATE_ID),
            (Kinds::BOOKS, BookUpdate::TEMPLATE_ID),
            // A top is of a book: how far that may be trusted concerns both.
            (Kinds::BOOKS | Kinds::TOPS, InstrumentState::TEMPLATE_ID),
            (Kinds::ORDERS, OrdersSnapshot::TEMPLATE_ID),
            (Kinds::ORDERS, OrderUpdate::TEMPLATE_ID),
            (Kinds::TRADES, Trade::TEMPLATE_ID),
            (Kinds::STATISTICS, Statistics::TEMPLATE_ID),
            (Kinds::STATUS, TradingStatus::TEMPLATE_ID),
        ];
        let out = templates
            .into_iter()
            .filter(|(kinds, _)| !self.has_any(*kinds));
        out.fold(0, |mask, (_, template)| mask | 1 << template)
    }
}

impl BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

/// Whether a message changes books or what holds for all of them.
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
