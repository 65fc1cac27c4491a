//! A copy of a kept price book or order book.

use crate::batch::push;
use crate::errors::{check_room, exception, no_memory};
use crate::number::Form;
use crate::rows::{Array, BookRow, MergedRow, Row, StoredOrderRow};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt;
use touchline_client::{Book as StoredBook, BookKind, Bus, Instrument, Side, TouchSource};

/// A book as of the last event that was read; it never changes.
#[pyclass(frozen, module = "touchline")]
#[derive(Debug)]
pub struct Book {
    /// Symbol of the instrument.
    #[pyo3(get)]
    symbol: String,
    /// State of the book.
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
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn new(
        form: Form,
        book: &StoredBook<'_>,
        levels: usize,
        of: TouchSource,
    ) -> PyResult<Book> {
        let symbol = book.symbol();
        check_room(0, CopyOf(symbol))?;
        let one = |kind, side| {
            let rows = book.list(kind, side).take(levels);
            let rows = rows.map(|level| BookRow::new(form, &level));
            array(form, symbol, rows)
        };
        let side = |side| match of {
            TouchSource::Direct => one(BookKind::Direct, side),
            TouchSource::Implied => one(BookKind::Implied, side),
            TouchSource::Merged => {
                let rows = book.levels(side).take(levels);
                let rows = rows.map(|level| MergedRow::new(form, &level));
                array(form, symbol, rows)
            }
        };
        Ok(Book {
            symbol: symbol.to_owned(),
            state: book.state().name(),
            sequence: Some(book.sequence()),
            bids: side(Side::Bid)?,
            asks: side(Side::Ask)?,
        })
    }

    /// Copies every order.
    ///
    /// # Errors
    /// The instrument is of another bus, or memory is exhausted.
    pub fn of_orders(
        py: Python<'_>,
        form: Form,
        bus: &Bus,
        instrument: Instrument,
    ) -> PyResult<Book> {
        let symbol = bus.symbol(instrument);
        check_room(0, CopyOf(symbol))?;
        let side = |side: Side| {
            let (mut rows, mut room) = (Vec::new(), Ok(()));
            let visited = bus.orders(instrument, side, |order| {
                if room.is_ok() {
                    room = push(&mut rows, StoredOrderRow::new(form, order));
                }
            });
            visited.map_err(|error| exception(py, &error))?;
            room.map_err(|_| no_room(symbol))?;
            Ok::<Array, PyErr>(Array::new(form, rows))
        };
        let state = bus.orders_state(instrument);
        Ok(Book {
            symbol: symbol.to_owned(),
            bids: side(Side::Bid)?,
            asks: side(Side::Ask)?,
            state: state.map_err(|error| exception(py, &error))?.name(),
            sequence: None,
        })
    }
}

/// Rows of a copy, as an array.
fn array<R: Row>(form: Form, symbol: &str, from: impl Iterator<Item = R>) -> PyResult<Array> {
    let mut rows = Vec::new();
    for row in from {
        push(&mut rows, row).map_err(|_| no_room(symbol))?;
    }
    Ok(Array::new(form, rows))
}

fn no_room(symbol: &str) -> PyErr {
    no_memory(CopyOf(symbol))
}

/// Name of a copy in an error.
struct CopyOf<'a>(&'a str);

impl fmt::Display for CopyOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a copy of the book of {}", self.0)
    }
}

/// The list that a program asks for.
///
/// # Errors
/// Both are true: they exclude each other.
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
