//! Images of order books, writing side: a slot for the book of each instrument, and a row for each order.

use super::order_image::{
    BOOK_WORDS, OrderBookImage, ROW_WORDS, number_of, write_none, write_order,
};
use super::tables::{PublishedMessage, Stored};
use crate::bus::{Damage, Error, TableWriter};
use touchline_shm::last_value::Shape;
use touchline_types::{Instrument, OrderAction, OrderChange, Timestamps, Validity};

/// File of the order books.
pub const ORDER_BOOKS: &str = "order_books";
/// File of the orders.
pub const ORDERS: &str = "orders";

/// Rows, and order books, for which memory is taken at a time: 256 KiB of either.
const CHUNK: usize = 4_096;

/// Sizes of the two tables.
pub fn shapes(instruments_max: usize, orders_max: usize) -> [Shape; 2] {
    let books = if orders_max == 0 { 0 } else { instruments_max };
    [
        Shape {
            slots: books,
            content_words: BOOK_WORDS,
        },
        Shape {
            slots: orders_max,
            content_words: ROW_WORDS,
        },
    ]
}

/// Keeps the order books for those who join late.
#[derive(Debug)]
pub struct OrderTables {
    books: Reserved,
    rows: Reserved,
    /// What was written of each book; what is read back from shared memory is not believed.
    written: Vec<Written>,
}

/// A table whose memory is taken as it is used.
#[derive(Debug)]
struct Reserved {
    table: TableWriter,
    /// Slots that have memory.
    slots: usize,
}

/// Of an order book: where it was emptied and where it was cut last.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    cleared_at: Option<u64>,
    cut_at: Option<u64>,
}

/// What a message says of an order book.
#[derive(Clone, Copy, Debug)]
pub struct OrdersMessage<'a> {
    /// Which book.
    pub instrument: Instrument,
    /// How far it may be trusted from here on.
    pub validity: Validity,
    /// Whether these are all of its orders.
    pub is_whole: bool,
    /// The steps, or all orders.
    pub changes: &'a [OrderChange],
}

impl OrderTables {
    /// Takes memory for the first books and orders.
    pub fn new(books: TableWriter, rows: TableWriter) -> Result<OrderTables, Error> {
        let mut tables = OrderTables {
            written: vec![Written::default(); books.shape().slots],
            books: Reserved {
                table: books,
                slots: 0,
            },
            rows: Reserved {
                table: rows,
                slots: 0,
            },
        };
        tables.books.reserve(0)?;
        tables.rows.reserve(0)?;
        Ok(tables)
    }

    /// Keeps what a message changes. A bus without order images keeps nothing.
    #[inline]
    pub fn store(
        &mut self,
        orders: &OrdersMessage<'_>,
        timestamps: &Timestamps,
        message: &PublishedMessage<'_>,
    ) -> Stored {
        let instrument = orders.instrument;
        let Some(written) = self.written.get_mut(instrument.index()) else {
            return match self.written.is_empty() {
                true => Stored::Whole,
                false => Stored::Refused,
            };
        };
        if orders.is_whole {
            *written = Written {
                cleared_at: Some(message.end),
                cut_at: None,
            };
        }
        let mut is_cut = false;
        for order in orders.changes {
            is_cut |= !self.rows.put(instrument, order, message.end);
        }
        if is_cut {
            written.cut_at = Some(message.end);
        }
        if !self.books.has(instrument.index()) {
            return Stored::Refused;
        }
        let image = OrderBookImage {
            validity: orders.validity,
            cleared_at: written.cleared_at,
            cut_at: written.cut_at,
            sequence: message.sequence,
            exchange_ns: timestamps.exchange_ns,
            receive_ns: timestamps.packet.receive_ns,
        };
        let (table, slot) = (&mut self.books.table, instrument.index());
        table.change(slot, message.end, |content| image.write(content));
        match is_cut {
            true => Stored::Cut,
            false => Stored::Whole,
        }
    }

    /// What somebody did to a table.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(self.books.table.memory())?;
        Damage::of_file(self.rows.table.memory())
    }
}

impl Reserved {
    /// Keeps an order in its row, or that it is gone; false if it has none. A newer order may have the row already, where the
    /// messages of a batch are of other instruments than its events were, one after the other.
    #[inline]
    fn put(&mut self, instrument: Instrument, order: &OrderChange, end: u64) -> bool {
        let (row, number) = (order.row.index as usize, order.row.number);
        if !self.has(row) {
            return order.action == OrderAction::Delete;
        }
        let held = self.table.content(row).and_then(number_of);
        match order.action {
            // mutant: orders: the row of an order that is gone is emptied whoever has it
            OrderAction::Delete if held == Some(number) => self.table.change(row, end, write_none),
            OrderAction::Delete => None,
            // mutant: orders: an order takes the row of a newer one
            _ if held.is_some_and(|held| held > number) => None,
            _ => self
                .table
                .change(row, end, |content| write_order(content, instrument, order)),
        };
        true
    }

    /// Whether a slot has memory, which is taken if it is the first beyond what was taken.
    #[inline]
    fn has(&mut self, slot: usize) -> bool {
        slot < self.slots || self.reserve(slot).is_ok_and(|()| slot < self.slots)
    }

    /// Takes memory for the slots up to one, if there are so many.
    #[cold]
    fn reserve(&mut self, slot: usize) -> Result<(), Error> {
        let shape = self.table.shape();
        if slot >= shape.slots {
            return Ok(());
        }
        let slots = (slot + 1).next_multiple_of(CHUNK).min(shape.slots);
        let bytes = shape.words_through(slots - 1) * size_of::<u64>();
        self.table.memory().reserve(0..bytes)?;
        self.slots = slots;
        Ok(())
    }
}
