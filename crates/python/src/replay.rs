//! Captures through the path in this process: the arrays and books of a bus, without a bus.

use crate::batch::{Batch, Filling};
use crate::book::{Book, list_of};
use crate::errors::{failure, said};
use crate::event::Event;
use crate::held::Held;
use crate::number::Form;
use crate::view::{Named, View, Which};
use pyo3::exceptions::{PyMemoryError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
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
#[pyclass(frozen, module = "touchline")]
pub struct Replay {
    held: Held<State>,
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

/// Opens captures of a channel.
#[pyfunction]
#[pyo3(signature = (
    config, captures, *, channel = None, definitions = None, join = None, events = None, symbols = None, raw = false,
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn replay(
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
    if let Some(definitions) = &definitions {
        check_captures(definitions).map_err(|why| failure(py, why))?;
    }
    let mut config: CmeConfig = match channel {
        Some(channel) => CmeConfig::of_cme_channel(&config, channel),
        None => VENUES
            .read_as(&config)
            .map_err(|error| failure(py, error))?,
    };
    if let Some(join) = join {
        config.venue.join = join_of(join)?;
    }
    if let Some(symbols) = crate::bus::words("symbols", symbols)? {
        config.venue.symbols =
            touchline_instruments::Symbols::new(symbols).map_err(PyValueError::new_err)?;
    }
    let events = crate::bus::kinds_of(py, events)?;
    check_memory(&config)?;
    let (name, join) = (config.bus.clone(), config.venue.join);
    // Books are always kept: they are the purpose of a replay.
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
        states: States::default(),
    };
    let capture = Capture::open(config, captures, Local::new(collector));
    let capture = capture.and_then(|capture| match definitions {
        Some(definitions) => capture.with_definitions(definitions),
        None => Ok(capture),
    });
    let capture = capture.map_err(|error| failure(py, error))?;
    let state = State {
        capture,
        view: View::new(form),
        events,
        join,
        has_ended: false,
    };
    Ok(Replay {
        held: Held::new(name, state, Stopper::new()),
    })
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
        let rows = Filling::new(self.view.form);
        let rows = std::mem::replace(&mut self.collector().rows, rows);
        rows.batch(py, self.events)
    }

    /// Warns once, at the end, if no book of the capture was live: a live reader would not act on its rows.
    fn warn(&mut self, py: Python<'_>) -> PyResult<()> {
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
