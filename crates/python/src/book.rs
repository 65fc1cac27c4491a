//! A copy of a kept price book or order book.

use crate::number::Form;
use crate::rows::{Array, BookRow, StoredOrderRow};
use pyo3::prelude::*;
use touchline_client::{Book as StoredBook, Bus, Error, Instrument, Side};

/// A book as of the last event that was read; it never changes.
#[pyclass(frozen, module = "touchline")]
#[derive(Debug)]
pub struct Book {
    /// Symbol of the instrument.
    #[pyo3(get)]
    symbol: String,
    /// Its state.
    #[pyo3(get)]
    state: &'static str,
    /// Number of the message of the last change of a price book.
    #[pyo3(get)]
    sequence: Option<u64>,
    bids: Array,
    asks: Array,
}

impl Book {
    /// Copies at most `levels` of each side.
    pub fn new(form: Form, book: &StoredBook<'_>, levels: usize) -> Book {
        let side = |side: Side| {
            let levels = book.levels(side).take(levels);
            let rows: Vec<BookRow> = levels.map(|level| BookRow::new(form, &level)).collect();
            Array::new(form, rows)
        };
        Book {
            symbol: book.symbol().to_owned(),
            state: book.state().name(),
            sequence: Some(book.sequence()),
            bids: side(Side::Bid),
            asks: side(Side::Ask),
        }
    }

    /// Copies every order.
    pub fn of_orders(form: Form, bus: &Bus, instrument: Instrument) -> Result<Book, Error> {
        let side = |side: Side| {
            let mut rows = Vec::new();
            bus.orders(instrument, side, |order| {
                rows.push(StoredOrderRow::new(form, order));
            })?;
            Ok(Array::new(form, rows))
        };
        Ok(Book {
            symbol: bus.symbol(instrument).to_owned(),
            bids: side(Side::Bid)?,
            asks: side(Side::Ask)?,
            state: bus.orders_state(instrument)?.name(),
            sequence: None,
        })
    }
}

#[pymethods]
impl Book {
    /// Bids, best first: levels or orders.
    #[getter]
    fn bids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.bids.get(py)
    }

    /// Asks, best first.
    #[getter]
    fn asks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.asks.get(py)
    }

    fn __repr__(&self) -> String {
        format!("<touchline.Book {} {}>", self.symbol, self.state)
    }
}
