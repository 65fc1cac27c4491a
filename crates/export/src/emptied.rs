//! Lists that a message for all instruments empties: no step of a book says it.

use crate::column::{NULL, NULL_U64};
use crate::files::Files;
use crate::message::Message;
use crate::state::State;
use crate::tables::{BookUpdateRow, ORDER_CLEAR, OrderUpdateRow, Table};
use crate::tabulate::{common, row};
use touchline_types::{BookKind, Instrument, LevelAction, Side, Update};

/// Lists with content before such a message.
#[derive(Debug, Default)]
pub struct Emptied {
    levels: Vec<(Instrument, BookKind, Side)>,
    orders: Vec<Instrument>,
}

impl Emptied {
    /// The lists that this update empties, before the state takes it.
    pub fn by(update: &Update<'_>, state: &State) -> Emptied {
        let has_levels = match update {
            Update::Reset => true,
            // Price books keep their levels.
            Update::Gap(_) => false,
            _ => return Emptied::default(),
        };
        let mut emptied = Emptied::default();
        for instrument in state.instruments() {
            if state.books().orders().len_of(instrument) > 0 {
                emptied.orders.push(instrument);
            }
            let Some(book) = state.book(instrument).filter(|_| has_levels) else {
                continue;
            };
            for kind in [BookKind::Direct, BookKind::Implied] {
                let full = Side::BOTH.into_iter();
                let full = full.filter(|side| book.levels(kind, *side).first().is_some());
                emptied
                    .levels
                    .extend(full.map(|side| (instrument, kind, side)));
            }
        }
        emptied
    }

    /// A row of each list, with the state behind the message.
    pub fn rows(&self, message: &Message<'_>, state: &State, take: &mut [Files]) {
        for (entry, (instrument, book, side)) in self.levels.iter().enumerate() {
            let cells = BookUpdateRow {
                side: *side as i64,
                action: LevelAction::Clear as i64,
                book: *book as i64,
                level: 0,
                price: NULL,
                quantity: NULL,
                orders: NULL,
                entry: entry as i64,
            };
            let common = common(message, Some(*instrument), state);
            row(take, Table::BookUpdates, &common, &cells.cells());
        }
        for (entry, instrument) in self.orders.iter().enumerate() {
            let cells = OrderUpdateRow {
                side: NULL,
                action: ORDER_CLEAR,
                order_id: NULL_U64,
                priority: NULL_U64,
                price: NULL,
                quantity: NULL,
                entry: entry as i64,
            };
            let mut common = common(message, Some(*instrument), state);
            common.validity = state.books().orders_validity(*instrument) as i64;
            row(take, Table::OrderUpdates, &common, &cells.cells());
        }
    }
}
