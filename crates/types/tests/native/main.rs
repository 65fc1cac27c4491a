//! The native format from outside: the decoder reads the update that was written, and the bytes are those of the schema.

mod golden;
mod golden_quotes;
mod hostile;
mod quotes;
mod round_trip;
mod versions;

use touchline_types::native::{Decoder, Message, Scratch, Unfit};
use touchline_types::{
    BookKind, Level, LevelAction, LevelChange, OrderAction, OrderChange, OrderRow, Price, Quantity,
    Quote, QuoteChange, Side, Update,
};

/// A decoder and the memory that it needs.
struct Reader {
    decoder: Decoder,
    changes: Vec<LevelChange>,
    orders: Vec<OrderChange>,
    levels: Vec<Level>,
    quote_changes: Vec<QuoteChange>,
    quotes: Vec<Quote>,
}

impl Reader {
    /// Space for this number of entries of each kind, with contents that no test writes.
    fn with_room(entries: usize) -> Reader {
        let change = LevelChange {
            level: Level::UNKNOWN,
            book: BookKind::Implied,
            side: Side::Ask,
            action: LevelAction::Clear,
            index: 255,
        };
        let order = OrderChange {
            order_id: 0xdead,
            priority: 0xdead,
            price: Price::NULL,
            quantity: Quantity::NULL,
            side: Side::Ask,
            action: OrderAction::Delete,
            row: OrderRow::NONE,
        };
        Reader {
            decoder: Decoder::new(),
            changes: vec![change; entries],
            orders: vec![order; entries],
            levels: vec![Level::UNKNOWN; entries],
            quote_changes: vec![QuoteChange::NULL; entries],
            quotes: vec![Quote::NULL; entries],
        }
    }

    fn update<'s>(&'s mut self, message: &Message<'s>) -> Result<Option<Update<'s>>, Unfit> {
        let scratch = Scratch {
            changes: &mut self.changes,
            orders: &mut self.orders,
            levels: &mut self.levels,
            quote_changes: &mut self.quote_changes,
            quotes: &mut self.quotes,
        };
        self.decoder.update(message, scratch)
    }
}
