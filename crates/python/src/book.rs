//! A copy of a kept price book or order book.

use crate::number::Form;
use crate::rows::{Array, BookRow, MergedRow, StoredOrderRow};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use touchline_client::{Book as StoredBook, BookKind, Bus, Error, Instrument, Side, TouchSource};

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
    /// Copies at most `levels` of each side of one book, or of both merged by price.
    pub fn new(form: Form, book: &StoredBook<'_>, levels: usize, of: TouchSource) -> Book {
        let one = |kind, side| {
            let rows = book.list(kind, side).take(levels);
            let rows = rows.map(|level| BookRow::new(form, &level));
            Array::new(form, rows.collect())
        };
        let side = |side| match of {
            TouchSource::Direct => one(BookKind::Direct, side),
            TouchSource::Implied => one(BookKind::Implied, side),
            TouchSource::Merged => {
                let rows = book.levels(side).take(levels);
                let rows = rows.map(|level| MergedRow::new(form, &level));
                Array::new(form, rows.collect())
            }
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

/// The list that a program asks for.
///
/// # Errors
/// Both are asked for alone.
pub fn list_of(direct: bool, implied: bool) -> PyResult<TouchSource> {
    match (direct, implied) {
        (false, false) => Ok(TouchSource::Merged),
        (true, false) => Ok(TouchSource::Direct),
        (false, true) => Ok(TouchSource::Implied),
        (true, true) => Err(PyValueError::new_err(
            "book: direct=True and implied=True exclude each other; leave out both for the merged book",
        )),
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
