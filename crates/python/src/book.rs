//! A copy of a kept price book or order book.

use crate::number::Form;
use crate::rows::{BookRow, StoredOrderRow, array};
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
    /// Bids, best first: levels or orders.
    #[pyo3(get)]
    bids: Py<PyAny>,
    /// Asks, best first.
    #[pyo3(get)]
    asks: Py<PyAny>,
}

impl Book {
    /// Copies at most `levels` of each side.
    pub fn new(py: Python<'_>, form: Form, book: &StoredBook<'_>, levels: usize) -> PyResult<Book> {
        let side = |side: Side| {
            let levels = book.levels(side).take(levels);
            let rows: Vec<BookRow> = levels.map(|level| BookRow::new(form, &level)).collect();
            array(py, form, rows)
        };
        Ok(Book {
            symbol: book.symbol().to_owned(),
            state: book.state().name(),
            sequence: Some(book.sequence()),
            bids: side(Side::Bid)?,
            asks: side(Side::Ask)?,
        })
    }

    /// Copies every order.
    pub fn of_orders(
        py: Python<'_>,
        form: Form,
        bus: &Bus,
        instrument: Instrument,
    ) -> PyResult<Result<Book, Error>> {
        let side = |side: Side| {
            let mut rows = Vec::new();
            bus.orders(instrument, side, |order| {
                rows.push(StoredOrderRow::new(form, order));
            })?;
            Ok(rows)
        };
        let both = side(Side::Bid)
            .and_then(|bids| Ok((bids, side(Side::Ask)?, bus.orders_state(instrument)?)));
        let (bids, asks, state) = match both {
            Ok(both) => both,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(Book {
            symbol: bus.symbol(instrument).to_owned(),
            state: state.name(),
            sequence: None,
            bids: array(py, form, bids)?,
            asks: array(py, form, asks)?,
        }))
    }
}

#[pymethods]
impl Book {
    fn __repr__(&self) -> String {
        format!("<touchline.Book {} {}>", self.symbol, self.state)
    }
}
