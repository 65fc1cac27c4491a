//! Rows that follow from an event and the kept books: ten levels a side after each event, and trades with the quote before them.

use crate::number::Form;
use crate::rows::{LEVELS, MbpRow, NO_ORDERS, SideLevels, TbboRow};
use std::collections::TryReserveError;
use touchline_client::{
    Book, BookKind, Bus, Event as Happened, Instrument, Side, Times, TouchSource,
};

/// Tables that a program asks for, and the last row of each book.
#[derive(Debug, Default)]
pub struct Derived {
    /// The book of the levels.
    pub mbp10: Option<TouchSource>,
    pub tbbo: bool,
    last: Vec<Option<Box<MbpRow>>>,
}

/// Rows of these tables.
#[derive(Debug, Default)]
pub struct DerivedRows {
    pub mbp10: Vec<MbpRow>,
    pub tbbo: Vec<TbboRow>,
}

impl DerivedRows {
    /// Takes room for the rows of an event.
    pub fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.mbp10.try_reserve(1)?;
        self.tbbo.try_reserve(1)
    }
}

impl Derived {
    /// Adds the rows of the event that the bus returned last; there is room for them.
    pub fn add(&mut self, form: Form, bus: &Bus, event: &Happened, rows: &mut DerivedRows) {
        match (event, self.mbp10) {
            (Happened::Trade(trade), _) if self.tbbo => {
                // The book changes behind the trades of an event.
                if let Ok(quote) = bus.top(trade.instrument) {
                    rows.tbbo.push(TbboRow::new(form, trade, &quote));
                }
            }
            (Happened::Book(change), Some(of)) => {
                let at = (change.times, change.sequence);
                self.levels(form, bus, (change.instrument, of), at, rows);
            }
            (Happened::State(change), Some(of)) => {
                let at = (change.times, change.sequence);
                self.levels(form, bus, (change.instrument, of), at, rows);
            }
            _ => {}
        }
    }

    /// A row, if the levels or the state differ from those of the last row of the instrument.
    fn levels(
        &mut self,
        form: Form,
        bus: &Bus,
        (instrument, of): (Instrument, TouchSource),
        (times, sequence): (Times, u64),
        rows: &mut DerivedRows,
    ) {
        let Ok(book) = bus.book(instrument) else {
            return;
        };
        let row = MbpRow::new(
            (instrument, book.state(), sequence),
            times,
            sides(form, &book, of),
        );
        if self.last.len() <= instrument.index() {
            self.last.resize(instrument.index() + 1, None);
        }
        let last = &mut self.last[instrument.index()];
        if last.as_ref().is_some_and(|last| last.has_contents_of(&row)) {
            return;
        }
        *last = Some(Box::new(row));
        rows.mbp10.push(row);
    }
}

fn sides(form: Form, book: &Book<'_>, of: TouchSource) -> [SideLevels; 2] {
    [Side::Bid, Side::Ask].map(|side| {
        let mut levels = SideLevels {
            price: [form.none(); LEVELS],
            size: [form.none(); LEVELS],
            orders: [NO_ORDERS; LEVELS],
        };
        let mut set = |at: usize, price, quantity, orders: Option<u32>| {
            levels.price[at] = form.price(price);
            levels.size[at] = form.quantity(quantity);
            levels.orders[at] = orders.unwrap_or(NO_ORDERS);
        };
        let kind = match of {
            TouchSource::Merged => {
                for (at, level) in book.levels(side).take(LEVELS).enumerate() {
                    set(at, level.price, level.quantity, level.orders);
                }
                return levels;
            }
            TouchSource::Direct => BookKind::Direct,
            TouchSource::Implied => BookKind::Implied,
        };
        for (at, level) in book.list(kind, side).take(LEVELS).enumerate() {
            set(at, level.price, level.quantity, level.orders);
        }
        levels
    })
}
