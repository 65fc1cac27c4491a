//! Captures through the path in this process: the arrays and books of a bus, without a bus.

use crate::batch::{Batch, Filling};
use crate::book::{Book, list_of};
use crate::errors::failure;
use crate::event::Event;
use crate::held::Held;
use crate::number::Form;
use crate::view::View;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::PathBuf;
use touchline_client::{Bus, Events, Stopper};
use touchline_gateway::venues::VENUES;
use touchline_gateway::venues::cme::{Capture, CaptureError, CmeConfig};
use touchline_transport::{Envelope, Local, Subscribe};

/// Events of a batch.
const LIMIT: usize = 65_536;
/// Packets between two looks at signals.
const PACKETS: u32 = 4_096;

/// A capture that is read from its beginning.
#[pyclass(frozen, module = "touchline")]
pub struct Replay {
    held: Held<State>,
}

/// What only one thread has at a time.
struct State {
    capture: Capture<Local<Collector>>,
    view: View,
    events: Events,
    has_ended: bool,
}

/// The client of the replay, and the rows of its events that have not been read.
struct Collector {
    bus: Bus,
    rows: Filling,
    /// Rows had no memory: what follows is incomplete.
    is_incomplete: bool,
}

impl Collector {
    #[inline]
    fn collect(&mut self) {
        while let Some(event) = self.bus.poll() {
            self.is_incomplete |= self.rows.add(&self.bus, &event).is_err();
        }
    }
}

impl Subscribe for Collector {
    #[inline]
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.bus.take(envelope);
        self.collect();
    }

    #[inline]
    fn batch_end(&mut self) {
        self.bus.end_batch();
        self.collect();
    }
}

/// Opens captures of a channel.
#[pyfunction]
#[pyo3(signature = (config, captures, *, channel = None, events = None, symbols = None, raw = false))]
pub fn replay(
    py: Python<'_>,
    config: PathBuf,
    captures: Vec<PathBuf>,
    channel: Option<u32>,
    events: Option<Vec<String>>,
    symbols: Option<Vec<String>>,
    raw: bool,
) -> PyResult<Replay> {
    let mut config: CmeConfig = match channel {
        Some(channel) => CmeConfig::of_cme_channel(&config, channel),
        None => VENUES
            .read_as(&config)
            .map_err(|error| failure(py, error))?,
    };
    if let Some(symbols) = symbols {
        config.venue.symbols =
            touchline_instruments::Symbols::new(symbols).map_err(PyValueError::new_err)?;
    }
    let events = crate::bus::kinds_of(py, events)?;
    let name = config.bus.clone();
    // Books are kept in any case: they are what a capture is replayed for.
    let options = Bus::options().events(events);
    let form = if raw { Form::Raw } else { Form::Float };
    let collector = Collector {
        bus: Bus::local(
            &options,
            &name,
            config.limits.instruments_max,
            config.limits.orders_max,
        ),
        rows: Filling::new(form),
        is_incomplete: false,
    };
    let capture = Capture::open(config, captures, Local::new(collector));
    let capture = capture.map_err(|error| failure(py, error))?;
    let state = State {
        capture,
        view: View::new(form),
        events,
        has_ended: false,
    };
    Ok(Replay {
        held: Held::new(name, state, Stopper::new()),
    })
}

#[pymethods]
impl Replay {
    /// The next events, at least `limit` of them before the end; what one packet changes is never divided.
    #[pyo3(signature = (limit = LIMIT))]
    fn read(&self, py: Python<'_>, limit: usize) -> PyResult<Batch> {
        self.held.with(py, |state, _| state.read(py, limit))
    }

    /// Symbols of all instruments, by index.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> PyResult<Vec<Py<PyString>>> {
        self.held.with(py, |state, _| Ok(state.view.symbols(py)))
    }

    /// The best bid and ask of a symbol, as an event.
    fn top(&self, py: Python<'_>, symbol: &str) -> PyResult<Event> {
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.top(py, bus, symbol)
        })
    }

    /// The last trade of a symbol, as an event; `None` before the first.
    fn last_trade(&self, py: Python<'_>, symbol: &str) -> PyResult<Option<Event>> {
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.last_trade(py, bus, symbol)
        })
    }

    /// A copy of the price book of a symbol, as of the last packet: direct and implied levels by price, or one of both
    /// lists alone.
    #[pyo3(signature = (symbol, levels = None, *, direct = false, implied = false))]
    fn book(
        &self,
        py: Python<'_>,
        symbol: &str,
        levels: Option<usize>,
        direct: bool,
        implied: bool,
    ) -> PyResult<Book> {
        let of = list_of(direct, implied)?;
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.book(py, bus, symbol, levels, of)
        })
    }

    /// A copy of the order book of a symbol, as of the last packet: orders in priority.
    fn orders(&self, py: Python<'_>, symbol: &str) -> PyResult<Book> {
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.orders(py, bus, symbol)
        })
    }

    /// Definitions as columns: a dictionary of lists, by index.
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.definitions(py, bus)
        })
    }

    /// Captures that ended in the middle of a record, each as a sentence.
    #[getter]
    fn truncations(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.held.with(py, |state, _| {
            let truncations = state.capture.truncations().iter();
            Ok(truncations.map(ToString::to_string).collect())
        })
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batch = self.read(py, LIMIT)?;
        Ok(Some(batch).filter(|batch| !batch.is_empty()))
    }
}

/// Processes packets until there are at least `limit` events, or for a number of packets; false at the end of the capture.
fn step(capture: &mut Capture<Local<Collector>>, limit: usize) -> Result<bool, CaptureError> {
    for _ in 0..PACKETS {
        if capture.publisher_mut().subscriber.rows.events() >= limit {
            break;
        }
        if !capture.step()? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl State {
    fn read(&mut self, py: Python<'_>, limit: usize) -> PyResult<Batch> {
        while !self.has_ended && self.collector().rows.events() < limit {
            let capture = &mut self.capture;
            let more = py.detach(|| step(capture, limit));
            self.has_ended = !more.map_err(|error| failure(py, error))?;
            py.check_signals()?;
            self.has_ended |= self.collector().is_incomplete;
        }
        if self.collector().is_incomplete {
            return Err(PyMemoryError::new_err(
                "no memory for the rows of the replay, which is incomplete from here on: replay again, and read fewer events at once",
            ));
        }
        let rows = Filling::new(self.view.form);
        let rows = std::mem::replace(&mut self.collector().rows, rows);
        let State { capture, view, .. } = self;
        view.take_symbols(py, &capture.publisher_mut().subscriber.bus);
        rows.batch(py, self.events)
    }

    fn collector(&mut self) -> &mut Collector {
        &mut self.capture.publisher_mut().subscriber
    }

    fn parts(&mut self) -> (&Bus, &mut View) {
        (&self.capture.publisher_mut().subscriber.bus, &mut self.view)
    }
}
