//! Buffers for the entries of an update.

use touchline_types::native::Scratch;
use touchline_types::{
    BookKind, Level, LevelAction, LevelChange, OrderAction, OrderChange, OrderRow, Price, Quantity,
    Quote, QuoteChange, Side,
};

/// Buffers for the entries of one update, which a decoder fills.
#[derive(Debug)]
pub struct Room {
    changes: Box<[LevelChange]>,
    levels: Box<[Level]>,
    orders: Box<[OrderChange]>,
    quote_changes: Box<[QuoteChange]>,
    quotes: Box<[Quote]>,
}

impl Room {
    /// Allocates buffers: changes and levels of books, changes and orders of order books, and quotes.
    pub fn new(changes_max: usize, orders_max: usize, quotes_max: usize) -> Room {
        Room {
            changes: vec![NO_CHANGE; changes_max].into(),
            levels: vec![Level::UNKNOWN; changes_max].into(),
            orders: vec![NO_ORDER; orders_max].into(),
            quote_changes: vec![QuoteChange::NULL; quotes_max].into(),
            quotes: vec![Quote::NULL; quotes_max].into(),
        }
    }

    /// The buffers in the decoder's form, the same ones for each message.
    #[inline(always)]
    pub fn lend(&mut self) -> Scratch<'_> {
        Scratch {
            changes: &mut self.changes,
            orders: &mut self.orders,
            levels: &mut self.levels,
            quote_changes: &mut self.quote_changes,
            quotes: &mut self.quotes,
        }
    }
}

const NO_CHANGE: LevelChange = LevelChange {
    level: Level::UNKNOWN,
    book: BookKind::Direct,
    side: Side::Bid,
    action: LevelAction::Clear,
    index: 0,
};

const NO_ORDER: OrderChange = OrderChange {
    order_id: 0,
    priority: 0,
    price: Price::NULL,
    quantity: Quantity::NULL,
    side: Side::Bid,
    action: OrderAction::Delete,
    row: OrderRow::NONE,
};
