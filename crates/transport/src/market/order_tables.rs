//! Writing side of the order books' tables: a slot for the book of each instrument, and a row for each order.

use super::order_image::{
    BOOK_WORDS, OrderBookImage, ROW_WORDS, number_of, write_none, write_order,
};
use super::reserved_table::ReservedTable;
use super::stored::Stored;
use crate::bus::{Damage, Error, Staged, TableWriter};
use touchline_shm::last_value::Shape;
use touchline_types::{Instrument, OrderAction, OrderChange, Timestamps, Validity};

/// File of the order books.
pub const ORDER_BOOKS: &str = "order_books";
/// File of the orders.
pub const ORDERS: &str = "orders";

/// Rows and order books reserved at a time: 256 KiB of either.
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

/// Keeps the order books for late joiners.
#[derive(Debug)]
pub struct OrderTables {
    books: ReservedTable,
    rows: ReservedTable,
    /// Written state of each book; data read back from shared memory is not trusted.
    written: Vec<Written>,
}

/// Positions at which an order book was last emptied and cut.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    cleared_at: Option<u64>,
    cut_at: Option<u64>,
}

/// Content of a message about an order book.
#[derive(Clone, Copy, Debug)]
pub struct OrdersMessage<'a> {
    /// Instrument.
    pub instrument: Instrument,
    /// New validity.
    pub validity: Validity,
    /// Whether these are all of its orders.
    pub is_whole: bool,
    /// The steps, or all orders.
    pub changes: &'a [OrderChange],
}

impl OrderTables {
    /// Reserves memory for the first books and orders.
    pub fn new(books: TableWriter, rows: TableWriter) -> Result<OrderTables, Error> {
        Ok(OrderTables {
            written: vec![Written::default(); books.shape().slots],
            books: ReservedTable::new(books, CHUNK)?,
            rows: ReservedTable::new(rows, CHUNK)?,
        })
    }

    /// Keeps the changes of a message. No effect on a bus without these tables.
    #[inline]
    pub fn store(
        &mut self,
        orders: &OrdersMessage<'_>,
        timestamps: &Timestamps,
        message: &Staged<'_>,
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
            is_cut |= !put(&mut self.rows, instrument, order, message.end);
        }
        if is_cut {
            written.cut_at = Some(message.end);
        }
        if !self.books.has(instrument.index()) {
            return self.refuse(instrument, message.end);
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

    /// A book without a slot has missed a message. Readers that join know that from the table's head: they would take it for empty.
    #[cold]
    fn refuse(&mut self, instrument: Instrument, end: u64) -> Stored {
        self.written[instrument.index()].cut_at = Some(end);
        // mutant: orders: a book without a slot is taken for empty
        (self.books.table).state_refused(self.books.refused_from());
        Stored::Refused
    }

    /// Requests memory that was refused again. A book whose slot comes late records that it has missed updates.
    pub fn retry(&mut self) {
        self.rows.retry();
        let Some(refused) = self.books.refused_from() else {
            return;
        };
        self.books.retry();
        let reserved = self.books.refused_from();
        let late = refused..reserved.unwrap_or(self.written.len());
        for (slot, written) in late.clone().zip(&self.written[late]) {
            let Some(cut_at) = written.cut_at else {
                continue;
            };
            let image = OrderBookImage {
                validity: Validity::Recovering,
                cleared_at: written.cleared_at,
                cut_at: written.cut_at,
                sequence: 0,
                exchange_ns: 0,
                receive_ns: 0,
            };
            // mutant: orders: a slot that comes late is empty until its first update
            (self.books.table).change(slot, cut_at, |content| image.write(content));
        }
        self.books.table.state_refused(reserved);
    }

    /// Checks the tables' files.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(self.books.table.memory())?;
        Damage::of_file(self.rows.table.memory())
    }
}

/// Writes an order to its row, or removes it; false if it has no row. A newer order may have the row already, because the
/// messages of a batch are grouped by instrument, unlike its events.
#[inline]
fn put(rows: &mut ReservedTable, instrument: Instrument, order: &OrderChange, end: u64) -> bool {
    let (row, number) = (order.row.index as usize, order.row.number);
    if !rows.has(row) {
        return order.action == OrderAction::Delete;
    }
    let held = rows.table.content(row).and_then(number_of);
    match order.action {
        OrderAction::Delete if held == Some(number) => rows.table.change(row, end, write_none),
        OrderAction::Delete => None,
        _ if held.is_some_and(|held| held > number) => None,
        _ => rows
            .table
            .change(row, end, |content| write_order(content, instrument, order)),
    };
    true
}
