//! Captures through the path in this process: the arrays and books of a bus, without a bus.

use crate::batch::{Batch, Filling};
use crate::book::{Book, list_of};
use crate::errors::{failure, said};
use crate::event::Event;
use crate::held::Held;
use crate::number::Form;
use crate::tables::want;
use crate::view::{Named, View, Which};
use pyo3::exceptions::{PyMemoryError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::ffi::CString;
use std::path::PathBuf;
use touchline_client::{Bus, Event as Happened, Events, Stopper};
use touchline_gateway::venues::VENUES;
use touchline_gateway::venues::cme::{
    Capture, CaptureError, CmeConfig, Join, check_captures, check_config,
};
use touchline_transport::memory::has_room;
use touchline_transport::{Envelope, Local, Subscribe};

/// Events of a batch.
const LIMIT: usize = 65_536;
/// Bytes that a replay allocates, measured and rounded up: for any configuration, for an instrument, and for an order.
const PATH_BYTES: usize = 192 << 20;
const INSTRUMENT_BYTES: usize = 3_328;
const ORDER_BYTES: usize = 320;
/// Packets between two checks for signals.
const PACKETS: u32 = 4_096;

/// A capture that is read from its beginning.
#[pyclass(subclass, frozen, module = "touchline._native")]
pub struct Replay {
    held: Held<Box<State>>,
}

/// State that only one thread has at a time.
struct State {
    capture: Capture<Local<Collector>>,
    view: View,
    events: Events,
    join: Join,
    has_ended: bool,
}

/// The client of the replay, and the rows of its unread events.
struct Collector {
    bus: Bus,
    rows: Filling,
    /// Whether memory for rows was exhausted: the rows after that are incomplete.
    is_incomplete: bool,
    /// Whether a book was live, of those that events named.
    states: States,
}

/// States of the books that events named.
#[derive(Clone, Copy, Default)]
struct States {
    is_any: bool,
    is_any_live: bool,
}

impl States {
    #[inline]
    fn see(&mut self, event: &Happened) {
        let state = match event {
            Happened::Top(event) => event.state,
            Happened::Book(event) => event.state,
            Happened::Orders(event) => event.state,
            Happened::State(event) => event.state,
            _ => return,
        };
        self.is_any = true;
        self.is_any_live |= state.is_live();
    }
}

impl Collector {
    #[inline]
    fn collect(&mut self) {
        while let Some(event) = self.bus.poll() {
            self.states.see(&event);
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

/// Looks for the memory of a replay before any of it is allocated.
fn check_memory(config: &CmeConfig) -> PyResult<()> {
    let limits = &config.limits;
    let bytes =
        PATH_BYTES + limits.instruments_max * INSTRUMENT_BYTES + limits.orders_max * ORDER_BYTES;
    match has_room(bytes) {
        true => Ok(()),
        false => Err(PyMemoryError::new_err(format!(
            "a replay needs {bytes} bytes for {} instruments and {} orders, and this process cannot have them; raise `ulimit -v`, or set a lower instruments_max and orders_max in [limits]",
            limits.instruments_max, limits.orders_max
        ))),
    }
}

/// State of an instrument before its first snapshot.
fn join_of(word: &str) -> PyResult<Join> {
    match word {
        "snapshot" => Ok(Join::Snapshot),
        "natural" => Ok(Join::Natural),
        _ => Err(PyValueError::new_err(said(format_args!(
            "join {word:?} is unknown: give snapshot (an empty book until a snapshot) or natural (what updates bring back)"
        )))),
    }
}

/// Opens the captures. The state is boxed and made in a function of its own: without memory for a deeper stack, `new` still raises.
#[inline(never)]
fn opened(
    config: CmeConfig,
    captures: Vec<PathBuf>,
    definitions: Option<Vec<PathBuf>>,
    events: Events,
    form: Form,
) -> Result<Box<State>, CaptureError> {
    let join = config.venue.join;
    // Books are always kept: they are the purpose of a replay.
    let collector = Collector {
        bus: Bus::local(
            &Bus::options().events(events),
            &config.bus,
            config.limits.instruments_max,
            config.limits.orders_max,
        ),
        rows: Filling::new(form),
        is_incomplete: false,
        states: States::default(),
    };
    let mut capture = Capture::open(config, captures, Local::new(collector))?;
    if let Some(definitions) = definitions {
        capture = capture.with_definitions(definitions)?;
    }
    Ok(Box::new(State {
        capture,
        view: View::new(form),
        events,
        join,
        has_ended: false,
    }))
}

#[pymethods]
impl Replay {
    /// Opens captures of a channel.
    #[new]
    #[pyo3(signature = (
        config, captures, *, channel = None, definitions = None, join = None, events = None, symbols = None, raw = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        config: PathBuf,
        captures: Vec<PathBuf>,
        channel: Option<u32>,
        definitions: Option<Vec<PathBuf>>,
        join: Option<&str>,
        events: Option<Bound<'_, PyAny>>,
        symbols: Option<Bound<'_, PyAny>>,
        raw: bool,
    ) -> PyResult<Replay> {
        let checked = check_config(&config, channel).and_then(|()| check_captures(&captures));
        checked.map_err(|why| failure(py, why))?;
        let mut config: CmeConfig = match channel {
            Some(channel) => CmeConfig::of_cme_channel(&config, channel),
            None => VENUES
                .read_as(&config)
                .map_err(|error| failure(py, error))?,
        };
        if let Some(join) = join {
            config.venue.join = join_of(join)?;
        }
        if let Some(symbols) = crate::arguments::words("symbols", symbols)? {
            config.venue.symbols =
                touchline_instruments::Symbols::new(symbols).map_err(PyValueError::new_err)?;
        }
        let events = crate::arguments::kinds_of(py, events)?;
        check_memory(&config)?;
        let name = config.bus.clone();
        let form = if raw { Form::Raw } else { Form::Float };
        // Files of definitions are read here, which may take seconds.
        let state = py.detach(|| opened(config, captures, definitions, events, form));
        py.check_signals()?;
        let state = state.map_err(|error| failure(py, error))?;
        Ok(Replay {
            held: Held::new(name, state, Stopper::new()),
        })
    }

    /// The next events, at least `limit` of them before the end; what one packet changes is never divided.
    #[pyo3(signature = (limit = LIMIT))]
    fn read(&self, py: Python<'_>, limit: usize) -> PyResult<Batch> {
        self.held.with(py, |state, _| state.read(py, limit))
    }

    /// Prepares the rows of a table of `to_arrow` and others; before the first read.
    #[pyo3(signature = (table, *, direct = false, implied = false))]
    fn _want(&self, py: Python<'_>, table: &str, direct: bool, implied: bool) -> PyResult<()> {
        let of = list_of(direct, implied)?;
        self.held.with(py, |state, _| {
            if state.has_ended {
                return Err(PyValueError::new_err(
                    "the replay was read to its end: open another one for this table",
                ));
            }
            let events = state.events;
            want(&mut state.collector().rows, events, table, of)
        })
    }

    /// A batch without an event.
    fn _empty(&self, py: Python<'_>) -> PyResult<Batch> {
        self.held.with(py, |state, _| {
            Filling::new(state.view.form).batch(py, state.events)
        })
    }

    /// Security ids of all instruments, by index.
    #[getter]
    fn security_ids(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.security_ids(bus)
        })
    }

    /// Symbols of all instruments, by index.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> PyResult<Vec<Py<PyString>>> {
        self.held.with(py, |state, _| state.view.symbols(py))
    }

    /// The best bid and ask of an instrument, as an event.
    #[pyo3(signature = (symbol = None, *, security_id = None))]
    fn top(
        &self,
        py: Python<'_>,
        symbol: Option<Named>,
        security_id: Option<i64>,
    ) -> PyResult<Event> {
        let which = Which::new(symbol, security_id)?;
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.top(py, bus, &which)
        })
    }

    /// The last trade of an instrument, as an event; `None` before the first.
    #[pyo3(signature = (symbol = None, *, security_id = None))]
    fn last_trade(
        &self,
        py: Python<'_>,
        symbol: Option<Named>,
        security_id: Option<i64>,
    ) -> PyResult<Option<Event>> {
        let which = Which::new(symbol, security_id)?;
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.last_trade(py, bus, &which)
        })
    }

    /// A copy of the price book of an instrument, as of the last packet: direct and implied levels by price, or one of both
    /// lists alone.
    #[pyo3(signature = (symbol = None, levels = None, *, security_id = None, direct = false, implied = false))]
    fn book(
        &self,
        py: Python<'_>,
        symbol: Option<Named>,
        levels: Option<usize>,
        security_id: Option<i64>,
        direct: bool,
        implied: bool,
    ) -> PyResult<Book> {
        let which = Which::new(symbol, security_id)?;
        let of = list_of(direct, implied)?;
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.book(py, bus, &which, levels, of)
        })
    }

    /// A copy of the order book of an instrument, as of the last packet: orders in priority.
    #[pyo3(signature = (symbol = None, *, security_id = None))]
    fn orders(
        &self,
        py: Python<'_>,
        symbol: Option<Named>,
        security_id: Option<i64>,
    ) -> PyResult<Book> {
        let which = Which::new(symbol, security_id)?;
        self.held.with(py, |state, _| {
            let (bus, view) = state.parts();
            view.orders(py, bus, &which)
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
        if self.has_ended {
            self.warn(py)?;
        }
        let State { capture, view, .. } = self;
        view.take_symbols(py, &capture.publisher_mut().subscriber.bus)?;
        let rows = self.collector().rows.take();
        rows.batch(py, self.events)
    }

    /// Warns once, at the end, if the capture defines instruments otherwise than the files of definitions, and if no book of the capture
    /// was live: a live reader would not act on its rows.
    fn warn(&mut self, py: Python<'_>) -> PyResult<()> {
        if let Some(sentence) = self.capture.take_conflicts() {
            let sentence = CString::new(sentence).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &sentence, 1)?;
        }
        let states = std::mem::take(&mut self.collector().states);
        if !states.is_any || states.is_any_live {
            return Ok(());
        }
        let about = match self.join {
            Join::Snapshot => {
                c"no row of this replay is live: its books wait for snapshots that the capture does not have; give captures with the snapshot feed, or join=\"natural\" for what updates bring back (state natural)"
            }
            Join::Natural => {
                c"no row of this replay is live: its books have what updates brought back (state natural); give captures with the snapshot feed for whole ones"
            }
        };
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), about, 1)
    }

    fn collector(&mut self) -> &mut Collector {
        &mut self.capture.publisher_mut().subscriber
    }

    fn parts(&mut self) -> (&Bus, &mut View) {
        (&self.capture.publisher_mut().subscriber.bus, &mut self.view)
    }
}
