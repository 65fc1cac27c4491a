//! One event, with the fields of its kind; those of other kinds are `None`.

use crate::number::Form;
use crate::pickle::{Happening, numbers};
use pyo3::prelude::*;
use pyo3::types::PyString;
use touchline_client::names::{STATISTICS, TRADE_ACTIONS};
use touchline_client::{Connection, Event as Happened, Price, Quantity, State};

/// An event of a bus.
#[pyclass(frozen, module = "touchline")]
#[derive(Debug)]
pub struct Event {
    form: Form,
    happened: Happened,
    symbol: Option<Py<PyString>>,
    text: String,
}

impl Event {
    /// An event of an instrument, or of the channel.
    pub fn new(form: Form, happened: Happened, symbol: Option<Py<PyString>>) -> Event {
        Event {
            form,
            happened,
            symbol,
            text: String::new(),
        }
    }

    /// An event of the connection.
    pub fn of_connection(form: Form, what: Connection) -> Event {
        Event {
            form,
            happened: Happened::Connection(what),
            symbol: None,
            text: what.to_string(),
        }
    }

    /// A pickled event of the connection.
    pub fn connection_numbers(&self) -> Option<Happening> {
        match &self.happened {
            Happened::Connection(what) => Some(numbers(what)),
            _ => None,
        }
    }

    fn as_price<'py>(&self, py: Python<'py>, price: Option<Price>) -> PyResult<Bound<'py, PyAny>> {
        self.form.price_object(py, price.unwrap_or(Price::NULL))
    }

    fn as_size<'py>(&self, py: Python<'py>, size: Option<Quantity>) -> PyResult<Bound<'py, PyAny>> {
        self.form
            .quantity_object(py, size.unwrap_or(Quantity::NULL))
    }
}

#[pymethods]
impl Event {
    /// `top`, `trade`, … of the table of names.
    #[getter]
    fn kind(&self) -> &'static str {
        self.happened.kind().name()
    }

    /// Index of the instrument in `bus.symbols`.
    #[getter]
    fn instrument(&self) -> Option<usize> {
        self.happened
            .instrument()
            .map(|instrument| instrument.index())
    }

    #[getter]
    fn symbol(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.symbol.as_ref().map(|symbol| symbol.clone_ref(py))
    }

    /// State of the book: `live`, `gapped`, `recovering`, `natural`, `stale`, `closed`.
    #[getter]
    fn state(&self) -> Option<&'static str> {
        self.happened.state().map(State::name)
    }

    #[getter]
    fn bid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_price(py, self.happened.quotes().0.map(|quote| quote.price))
    }

    #[getter]
    fn bid_size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_size(py, self.happened.quotes().0.map(|quote| quote.quantity))
    }

    #[getter]
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_price(py, self.happened.quotes().1.map(|quote| quote.price))
    }

    #[getter]
    fn ask_size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_size(py, self.happened.quotes().1.map(|quote| quote.quantity))
    }

    /// Book of the best bid: `direct`, `implied`, or `merged` if both have the price.
    #[getter]
    fn bid_book(&self) -> Option<&'static str> {
        self.happened.quotes().0.map(|quote| quote.source.name())
    }

    /// Book of the best ask, likewise.
    #[getter]
    fn ask_book(&self) -> Option<&'static str> {
        self.happened.quotes().1.map(|quote| quote.source.name())
    }

    /// Price of a trade or a statistic.
    #[getter]
    fn price<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let price = match &self.happened {
            Happened::Trade(trade) => Some(trade.price),
            Happened::Statistic(statistic) => statistic.price,
            _ => None,
        };
        self.as_price(py, price)
    }

    /// Quantity of a trade or a statistic.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let size = match &self.happened {
            Happened::Trade(trade) => Some(trade.quantity),
            Happened::Statistic(statistic) => statistic.quantity,
            _ => None,
        };
        self.as_size(py, size)
    }

    /// Side that made a trade: `buy`, `sell`, `none`.
    #[getter]
    fn aggressor(&self) -> Option<&'static str> {
        match &self.happened {
            Happened::Trade(trade) => Some(trade.aggressor.name()),
            _ => None,
        }
    }

    /// What a trade does: `new`, `change` (corrects an earlier one), `delete` (busts it). Of a statistic: `delete` withdraws it,
    /// another one sets it.
    #[getter]
    fn action(&self) -> Option<&'static str> {
        let action = match &self.happened {
            Happened::Trade(trade) => trade.action,
            Happened::Statistic(statistic) => statistic.action,
            _ => return None,
        };
        TRADE_ACTIONS.word(action as i64)
    }

    /// The venue's id of a trade; 0 if there is none.
    #[getter]
    fn trade_id(&self) -> Option<u64> {
        match &self.happened {
            Happened::Trade(trade) => Some(trade.trade_id),
            _ => None,
        }
    }

    /// Kind of a statistic, or name of a trading status.
    #[getter]
    fn detail(&self) -> Option<&'static str> {
        match &self.happened {
            Happened::Statistic(statistic) => STATISTICS.word(statistic.kind as i64),
            Happened::Status(status) => status.status_name(),
            _ => None,
        }
    }

    /// Number of the message on its bus.
    #[getter]
    fn sequence(&self) -> Option<u64> {
        self.happened.sequence()
    }

    /// Time of the venue, nanoseconds since 1970; `None` if it states none.
    #[getter]
    fn exchange_ns(&self) -> Option<u64> {
        stated(self.happened.times()?.exchange_ns)
    }

    /// Time of reception, nanoseconds since 1970; `None` if unknown.
    #[getter]
    fn receive_ns(&self) -> Option<u64> {
        stated(self.happened.times()?.receive_ns)
    }

    /// Whether the event is the last event of its venue packet that this reader is given.
    #[getter]
    fn end_of_batch(&self) -> bool {
        self.happened.end_of_batch()
    }

    /// What happened to the connection: `caught_up`, `overrun`, `publisher_gone`, …
    #[getter]
    fn connection(&self) -> Option<&'static str> {
        match &self.happened {
            Happened::Connection(what) => Some(what.kind().name()),
            _ => None,
        }
    }

    /// Messages lost in an overrun.
    #[getter]
    fn lost(&self) -> Option<u64> {
        match &self.happened {
            Happened::Connection(Connection::Overrun { messages, .. }) => Some(*messages),
            _ => None,
        }
    }

    fn __str__(&self) -> String {
        match &self.happened {
            Happened::Top(top) => top.to_string(),
            _ if !self.text.is_empty() => self.text.clone(),
            _ => self.kind().to_owned(),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let symbol = self
            .symbol
            .as_ref()
            .map(|symbol| symbol.bind(py).to_string());
        let words = [Some(self.kind().to_owned()), symbol, Some(self.__str__())];
        let words: Vec<String> = words.into_iter().flatten().collect();
        format!("<touchline.Event {}>", words.join(" "))
    }
}

/// A time of the client, which is 0 if absent.
fn stated(ns: u64) -> Option<u64> {
    (ns != 0).then_some(ns)
}
