//! Result of one `Bus.read()`: rows of each kind, up to a connection event.

use crate::derived::{Derived, DerivedRows};
use crate::errors::{check_room, said};
use crate::event::Event;
use crate::number::{Form, Time};
use crate::pickle::{self, Pickled, damaged};
use crate::rows::packet::{last_place, mark_last};
use crate::rows::{
    Array, LevelRow, MbpRow, OrderRow, StateRow, StatisticRow, StatusRow, TbboRow, TopRow, TradeRow,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::TryReserveError;
use touchline_client::{Bus, Connection, Event as Happened, Events};

/// Arrays of events that were available, in the order of the bus; all of them happened before `connection`.
#[pyclass(frozen, module = "touchline")]
#[derive(Debug)]
pub struct Batch {
    tops: Array,
    trades: Array,
    levels: Array,
    orders: Array,
    statistics: Array,
    status: Array,
    states: Array,
    order_states: Array,
    mbp10: Array,
    tbbo: Array,
    /// The event of the connection that ended the batch, if any.
    #[pyo3(get)]
    connection: Option<Py<Event>>,
    /// Number of events.
    events: usize,
    wanted: Events,
}

/// The batch of a pickle.
#[pyfunction]
#[pyo3(name = "_batch")]
pub fn unpickled(py: Python<'_>, pickled: Pickled<'_>) -> PyResult<Batch> {
    if pickled.0 != pickle::RELEASE {
        return Err(PyValueError::new_err(said(format_args!(
            "the batch was pickled by touchline {}, and this is {}: use one release on both sides",
            pickled.0,
            pickle::RELEASE
        ))));
    }
    Batch::of_pickled(py, pickled)
}

impl Batch {
    /// Makes a batch of a pickle of this release.
    ///
    /// # Errors
    /// The pickle is not one of a batch.
    pub fn of_pickled(py: Python<'_>, pickled: Pickled<'_>) -> PyResult<Batch> {
        let (_, is_raw, wanted, events, rows, connection) = pickled;
        let form = if is_raw { Form::Raw } else { Form::Float };
        let rows: [Bound<'_, PyBytes>; 10] = rows.try_into().map_err(|_| damaged())?;
        // Objects beside the rows are made without a check of their own.
        let bytes = rows.iter().map(|rows| rows.as_bytes().len()).sum();
        check_room(bytes, "the rows of a pickled batch")?;
        let [
            tops,
            trades,
            levels,
            orders,
            statistics,
            status,
            states,
            order_states,
            mbp10,
            tbbo,
        ] = &rows;
        let connection = connection.map(|numbers| pickle::connection(numbers).ok_or_else(damaged));
        let connection = connection
            .transpose()?
            .map(|what| Py::new(py, Event::of_connection(form, what)));
        Ok(Batch {
            tops: Array::of_bytes::<TopRow>(form, tops.as_bytes())?,
            trades: Array::of_bytes::<TradeRow>(form, trades.as_bytes())?,
            levels: Array::of_bytes::<LevelRow>(form, levels.as_bytes())?,
            orders: Array::of_bytes::<OrderRow>(form, orders.as_bytes())?,
            statistics: Array::of_bytes::<StatisticRow>(form, statistics.as_bytes())?,
            status: Array::of_bytes::<StatusRow>(form, status.as_bytes())?,
            states: Array::of_bytes::<StateRow>(form, states.as_bytes())?,
            order_states: Array::of_bytes::<StateRow>(form, order_states.as_bytes())?,
            mbp10: Array::of_bytes::<MbpRow>(form, mbp10.as_bytes())?,
            tbbo: Array::of_bytes::<TbboRow>(form, tbbo.as_bytes())?,
            connection: connection.transpose()?,
            events,
            wanted: Events::from_bits(wanted).ok_or_else(damaged)?,
        })
    }

    /// Whether the batch has no event.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }
}

#[pymethods]
impl Batch {
    /// Best bids and asks.
    #[getter]
    fn tops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tops.get(py)
    }

    /// Trades.
    #[getter]
    fn trades<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.trades.get(py)
    }

    /// Steps of price books.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.levels.get(py)
    }

    /// Steps of order books.
    #[getter]
    fn orders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.orders.get(py)
    }

    /// Statistics of a session or a day.
    #[getter]
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.statistics.get(py)
    }

    /// Trading status of instruments and product groups.
    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.status.get(py)
    }

    /// Changed states of price books with the same contents.
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.states.get(py)
    }

    /// Changed states of order books with the same contents.
    #[getter]
    fn order_states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.order_states.get(py)
    }

    /// Ten levels a side after each event, if the table was asked for.
    #[getter]
    fn _mbp10<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.mbp10.get(py)
    }

    /// Trades with the quote before them, likewise.
    #[getter]
    fn _tbbo<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tbbo.get(py)
    }

    /// Pickles as the bytes of its rows.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Pickled<'py>,))> {
        let arrays = [
            &self.tops,
            &self.trades,
            &self.levels,
            &self.orders,
            &self.statistics,
            &self.status,
            &self.states,
            &self.order_states,
            &self.mbp10,
            &self.tbbo,
        ];
        let bytes = arrays.iter().map(|array| array.bytes().len()).sum();
        check_room(bytes, "the pickle of a batch")?;
        let copied = |array: &Array| {
            let rows = array.bytes();
            PyBytes::new_with(py, rows.len(), |copy| {
                copy.copy_from_slice(rows);
                Ok(())
            })
        };
        let rows: PyResult<Vec<_>> = arrays.into_iter().map(copied).collect();
        let connection = self.connection.as_ref();
        let pickled = (
            pickle::RELEASE.to_owned(),
            self.tops.form() == Form::Raw,
            self.wanted.bits(),
            self.events,
            rows?,
            connection.and_then(|event| event.get().connection_numbers()),
        );
        let unpickled = py.import("touchline._native")?.getattr("_batch")?;
        Ok((unpickled, (pickled,)))
    }

    /// Number of events.
    fn __len__(&self) -> usize {
        self.events
    }

    fn __bool__(&self) -> bool {
        self.events > 0
    }

    /// The arrays of the kinds that the bus was joined for, in this order: tops, trades, levels, orders, statistics, status.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kinds = [
            (Events::TOPS, &self.tops),
            (Events::TRADES, &self.trades),
            (Events::BOOKS, &self.levels),
            (Events::ORDERS, &self.orders),
            (Events::STATISTICS, &self.statistics),
            (Events::STATUS, &self.status),
        ];
        let wanted = kinds.into_iter().filter(|(kind, _)| self.wanted.has(*kind));
        let arrays: PyResult<Vec<_>> = wanted.map(|(_, array)| array.get(py)).collect();
        Ok(arrays?.into_pyobject(py)?.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        let events = self.events;
        match self.connection {
            Some(_) => format!("<touchline.Batch: {events} events, the last of the connection>"),
            None => format!("<touchline.Batch: {events} events>"),
        }
    }
}

/// Rows while they are read; no interpreter is needed.
#[derive(Debug)]
pub struct Filling {
    form: Form,
    events: usize,
    tops: Vec<TopRow>,
    trades: Vec<TradeRow>,
    levels: Vec<LevelRow>,
    orders: Vec<OrderRow>,
    statistics: Vec<StatisticRow>,
    status: Vec<StatusRow>,
    states: Vec<StateRow>,
    order_states: Vec<StateRow>,
    defined: bool,
    connection: Option<Connection>,
    /// Tables that follow from events and books, if a program asks for them.
    derived: Option<Derived>,
    derived_rows: DerivedRows,
}

impl Filling {
    /// Without a row.
    pub fn new(form: Form) -> Filling {
        Filling {
            form,
            events: 0,
            tops: Vec::new(),
            trades: Vec::new(),
            levels: Vec::new(),
            orders: Vec::new(),
            statistics: Vec::new(),
            status: Vec::new(),
            states: Vec::new(),
            order_states: Vec::new(),
            defined: false,
            connection: None,
            derived: None,
            derived_rows: DerivedRows::default(),
        }
    }

    /// The rows; the next ones are of the same tables.
    pub fn take(&mut self) -> Filling {
        let mut next = Filling::new(self.form);
        next.derived = self.derived.take();
        std::mem::replace(self, next)
    }

    /// Adds a table of rows that follow from events and books.
    pub fn derive(&mut self, table: impl FnOnce(&mut Derived)) {
        table(self.derived.get_or_insert_default());
    }

    /// Whether nothing may be added: an event of the connection ends a batch.
    pub fn is_ended(&self) -> bool {
        self.connection.is_some()
    }

    /// Whether an instrument was defined.
    pub fn has_defined(&self) -> bool {
        self.defined
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.events
    }

    /// Takes the event `next`, which the bus returned last, and then available events up to a connection event, until
    /// the batch has `limit` in all. `next` is left with an event that the batch does not contain.
    ///
    /// # Errors
    /// Memory is exhausted: `next` is the event without room.
    pub fn fill(
        &mut self,
        bus: &mut Bus,
        next: &mut Option<Happened>,
        limit: usize,
    ) -> Result<(), TryReserveError> {
        while let Some(event) = next.as_ref() {
            if self.is_ended() || self.events >= limit {
                break;
            }
            self.add(bus, event)?;
            *next = match self.is_ended() || self.events >= limit {
                true => None,
                false => bus.poll(),
            };
        }
        Ok(())
    }

    /// Takes the event that the bus returned last.
    ///
    /// # Errors
    /// Memory is exhausted; the batch does not contain any part of the event.
    #[inline]
    pub fn add(&mut self, bus: &Bus, event: &Happened) -> Result<(), TryReserveError> {
        let form = self.form;
        if self.derived.is_some() {
            self.derived_rows.reserve()?;
        }
        match event {
            Happened::Top(top) => push(&mut self.tops, TopRow::new(form, top))?,
            Happened::Trade(trade) => push(&mut self.trades, TradeRow::new(form, trade))?,
            // Without a step it is another state.
            Happened::Book(change) if change.changes == 0 => {
                push(&mut self.states, StateRow::of_book(change))?;
            }
            Happened::Book(change) => {
                let steps = bus.changes().iter();
                self.levels.try_reserve(steps.len())?;
                self.levels
                    .extend(steps.map(|step| LevelRow::new(form, change, step)));
            }
            Happened::Orders(change) if change.changes == 0 => {
                push(&mut self.order_states, StateRow::of_orders(change))?;
            }
            Happened::Orders(change) => {
                let steps = bus.order_changes().iter();
                self.orders.try_reserve(steps.len())?;
                self.orders
                    .extend(steps.map(|step| OrderRow::new(form, change, step)));
            }
            Happened::Statistic(statistic) => {
                push(&mut self.statistics, StatisticRow::new(form, statistic))?;
            }
            Happened::Status(status) => push(&mut self.status, StatusRow::new(status))?,
            Happened::State(change) => push(&mut self.states, StateRow::new(change))?,
            Happened::Defined(defined) => {
                self.defined = true;
                if defined.end_of_batch {
                    self.end_packet(Time::new(bus.trace().times().receive_ns));
                }
            }
            Happened::Channel(event) if event.end_of_batch => {
                self.end_packet(Time::new(event.times.receive_ns));
            }
            Happened::Quotes(quotes) if quotes.end_of_batch => {
                self.end_packet(Time::new(quotes.times.receive_ns));
            }
            Happened::Connection(what) => self.connection = Some(*what),
            _ => {}
        }
        if let Some(derived) = &mut self.derived {
            derived.add(form, bus, event, &mut self.derived_rows);
        }
        self.events += 1;
        Ok(())
    }

    /// A packet ended with an event that has no row: the row before it is its last one. Several arrays have rows of one
    /// message if it changed all books: by instrument, and then in this order.
    #[cold]
    fn end_packet(&mut self, receive_ns: Time) {
        let lasts = [
            last_place(&self.trades, receive_ns),
            last_place(&self.statistics, receive_ns),
            last_place(&self.status, receive_ns),
            last_place(&self.tops, receive_ns),
            last_place(&self.levels, receive_ns),
            last_place(&self.states, receive_ns),
            last_place(&self.orders, receive_ns),
            last_place(&self.order_states, receive_ns),
        ];
        let last = (0..lasts.len()).max_by_key(|at| lasts[*at]);
        match last.filter(|at| lasts[*at].is_some()) {
            Some(0) => mark_last(&mut self.trades),
            Some(1) => mark_last(&mut self.statistics),
            Some(2) => mark_last(&mut self.status),
            Some(3) => mark_last(&mut self.tops),
            Some(4) => mark_last(&mut self.levels),
            Some(5) => mark_last(&mut self.states),
            Some(6) => mark_last(&mut self.orders),
            Some(_) => mark_last(&mut self.order_states),
            None => {}
        }
    }

    /// Makes the batch with its arrays.
    pub fn batch(self, py: Python<'_>, wanted: Events) -> PyResult<Batch> {
        let form = self.form;
        let connection = self.connection.map(|what| Event::of_connection(form, what));
        Ok(Batch {
            tops: Array::new(form, self.tops),
            trades: Array::new(form, self.trades),
            levels: Array::new(form, self.levels),
            orders: Array::new(form, self.orders),
            statistics: Array::new(form, self.statistics),
            status: Array::new(form, self.status),
            states: Array::new(form, self.states),
            order_states: Array::new(form, self.order_states),
            mbp10: Array::new(form, self.derived_rows.mbp10),
            tbbo: Array::new(form, self.derived_rows.tbbo),
            connection: connection.map(|event| Py::new(py, event)).transpose()?,
            events: self.events,
            wanted,
        })
    }
}

/// Adds a row; a vector that cannot grow is an error instead of the end of the process.
#[inline]
pub fn push<R>(rows: &mut Vec<R>, row: R) -> Result<(), TryReserveError> {
    rows.try_reserve(1)?;
    rows.push(row);
    Ok(())
}
