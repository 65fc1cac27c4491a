//! A bus as Python holds it: one thread at a time, waits without the GIL, Ctrl-C at most 50 ms away.

use crate::batch::{Batch, Filling};
use crate::book::{Book, list_of};
use crate::errors::exception;
use crate::event::Event;
use crate::held::Held;
use crate::number::Form;
use crate::rows::import_numpy;
use crate::view::View;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_client::{Bus as Joined, Event as Happened, Events, Idle, Next, Options};

/// Longest wait without a look at signals: a host delays the look by milliseconds, and Ctrl-C is to end a wait within 50.
pub const SLICE: Duration = Duration::from_millis(40);
/// Pause between two attempts to join a bus that is not there.
const JOIN_POLL: Duration = Duration::from_millis(20);
/// The longest time that a caller can wait.
const FOREVER: Duration = Duration::from_secs(1 << 32);
/// Events that are read without a look at signals: some milliseconds.
const PART: usize = 1 << 16;
/// Events between two looks at signals while they come without end.
const EVENTS_MAX: u32 = 4_096;

/// A joined bus.
#[pyclass(subclass, frozen, module = "touchline._native")]
pub struct Bus {
    events: Events,
    held: Held<State>,
}

/// What only one thread has at a time.
struct State {
    bus: Joined,
    view: View,
    /// Events since the last look at signals.
    unseen: u32,
}

/// Names of the buses of this host.
#[pyfunction]
#[pyo3(signature = (directory = None))]
pub fn buses(py: Python<'_>, directory: Option<PathBuf>) -> PyResult<Vec<String>> {
    let options = match directory {
        Some(directory) => Joined::options().directory(directory),
        None => Joined::options(),
    };
    options.list().map_err(|error| exception(py, &error))
}

#[pymethods]
impl Bus {
    /// Joins the bus of this name.
    #[new]
    #[pyo3(signature = (
        bus, *, directory = None, wait = 0.0, events = None, symbols = None, keep_books = true, live_only = false,
        name = None, lossless = false, idle = "backoff", instruments_max = None, raw = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        bus: String,
        directory: Option<PathBuf>,
        wait: f64,
        events: Option<Vec<String>>,
        symbols: Option<Vec<String>>,
        keep_books: bool,
        live_only: bool,
        name: Option<&str>,
        lossless: bool,
        idle: &str,
        instruments_max: Option<usize>,
        raw: bool,
    ) -> PyResult<Bus> {
        let events = kinds_of(py, events)?;
        let mut options = Joined::options()
            .events(events)
            .symbols(symbols.unwrap_or_default())
            .keep_books(keep_books)
            .live_only(live_only)
            .idle(Idle::named(idle).map_err(|error| exception(py, &error))?);
        if let Some(directory) = directory {
            options = options.directory(directory);
        }
        if let Some(name) = name {
            options = options.name(name);
        }
        if lossless {
            options = options.lossless();
        }
        if let Some(instruments) = instruments_max {
            options = options.instruments_max(instruments);
        }
        let joined = join(py, &options.wait(seconds(wait)?), &bus)?;
        let form = if raw { Form::Raw } else { Form::Float };
        let mut state = State {
            bus: joined,
            view: View::new(form),
            unseen: 0,
        };
        state.take_symbols(py);
        Ok(Bus {
            events,
            held: Held::new(bus, state),
        })
    }

    /// Name of the bus.
    #[getter]
    fn name(&self) -> &str {
        self.held.name()
    }

    /// Symbols of all instruments, by index; `?` before one is known.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> PyResult<Vec<Py<PyString>>> {
        self.held.with(|state| {
            state.take_symbols(py);
            Ok(state.view.symbols(py))
        })
    }

    /// The next event, if there is one; never waits.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        self.held.with(|state| {
            let event = state.bus.poll();
            Ok(event.map(|event| state.event(py, event)))
        })
    }

    /// The next event; waits for it for that many seconds, or without end.
    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Event>> {
        let until = until(timeout)?;
        self.held.with(|state| {
            let event = state.wait(py, until)?;
            Ok(event.map(|event| state.event(py, event)))
        })
    }

    /// Everything that is there, up to `limit` events, as arrays; waits for the first event for that many seconds.
    #[pyo3(signature = (timeout = 1.0, limit = 65_536))]
    fn read(&self, py: Python<'_>, timeout: Option<f64>, limit: usize) -> PyResult<Batch> {
        if limit == 0 {
            return Err(PyValueError::new_err("limit 0: give 1 or more events"));
        }
        let until = until(timeout)?;
        import_numpy(py)?;
        self.held.with(|state| {
            let mut rows = Filling::new(state.view.form);
            let mut next = state.wait(py, until)?;
            while let Some(first) = next {
                let bus = &mut state.bus;
                let part = limit.min(rows.events() + PART);
                let is_full = py.detach(|| rows.fill(bus, first, part));
                // On a bus that never pauses, signals are seen between two parts.
                py.check_signals()?;
                next = if is_full && part < limit {
                    bus.poll()
                } else {
                    None
                };
            }
            if rows.has_defined() {
                state.take_symbols(py);
            }
            rows.batch(py, self.events)
        })
    }

    /// Reads until every defined book is live; events are applied and not returned.
    #[pyo3(signature = (timeout = 5.0))]
    fn ready(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let until = until(timeout)?;
        self.held.with(|state| {
            let result = loop {
                let left = until.saturating_duration_since(Instant::now());
                let bus = &mut state.bus;
                let result = py.detach(|| bus.ready(left.min(SLICE)));
                py.check_signals()?;
                if result.is_ok() || left <= SLICE {
                    break result;
                }
            };
            state.take_symbols(py);
            result.map_err(|error| exception(py, &error))
        })
    }

    /// The best bid and ask of a symbol, as an event.
    fn top(&self, py: Python<'_>, symbol: &str) -> PyResult<Event> {
        self.held
            .with(|state| state.view.top(py, &state.bus, symbol))
    }

    /// The last trade of a symbol, as an event; `None` before the first.
    fn last_trade(&self, py: Python<'_>, symbol: &str) -> PyResult<Option<Event>> {
        self.held
            .with(|state| state.view.last_trade(py, &state.bus, symbol))
    }

    /// A copy of the kept price book of a symbol: direct and implied levels by price, or one of both lists alone.
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
        self.held
            .with(|state| state.view.book(py, &state.bus, symbol, levels, of))
    }

    /// A copy of the kept order book of a symbol: orders in priority.
    fn orders(&self, py: Python<'_>, symbol: &str) -> PyResult<Book> {
        self.held
            .with(|state| state.view.orders(py, &state.bus, symbol))
    }

    /// Definitions as columns: a dictionary of lists, by index.
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.held
            .with(|state| state.view.definitions(py, &state.bus))
    }

    /// Counts since the bus was joined.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.held.with(|state| {
            let stats = state.bus.stats();
            let counts = PyDict::new(py);
            for (name, count) in [
                ("events", stats.events),
                ("overruns", stats.overruns),
                ("lost", stats.lost),
                ("restarts", stats.restarts),
                ("unknown", stats.unknown),
                ("undefined", stats.undefined),
                ("inconsistent", stats.inconsistent),
            ] {
                counts.set_item(name, count)?;
            }
            Ok(counts)
        })
    }

    /// Lag of this reader: messages and bytes.
    #[getter]
    fn lag(&self) -> PyResult<(u64, u64)> {
        self.held.with(|state| {
            let lag = state.bus.lag();
            Ok((lag.messages, lag.bytes))
        })
    }

    /// Leaves the bus.
    fn close(&self) -> PyResult<()> {
        self.held.close()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_ended))]
    fn __exit__(&self, _ended: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close()
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        self.next(py, None)
    }

    fn __repr__(&self) -> String {
        format!("<touchline.Bus {}>", self.held.name())
    }
}

impl State {
    /// The next event; waits without the GIL.
    fn wait(&mut self, py: Python<'_>, until: Instant) -> PyResult<Option<Happened>> {
        // What is there costs no change of the GIL.
        if let Some(event) = self.bus.poll() {
            self.unseen += 1;
            if self.unseen >= EVENTS_MAX {
                self.unseen = 0;
                py.check_signals()?;
            }
            return Ok(Some(event));
        }
        self.unseen = 0;
        loop {
            py.check_signals()?;
            let left = until.saturating_duration_since(Instant::now());
            let bus = &mut self.bus;
            match py.detach(|| bus.next_within(left.min(SLICE))) {
                Next::Event(event) => return Ok(Some(event)),
                Next::TimedOut if left <= SLICE => return Ok(None),
                Next::TimedOut => {}
                Next::Stopped => return Ok(None),
            }
        }
    }

    fn event(&mut self, py: Python<'_>, event: Happened) -> Event {
        self.view.event(py, &self.bus, event)
    }

    fn take_symbols(&mut self, py: Python<'_>) {
        self.view.take_symbols(py, &self.bus);
    }
}

/// Joins in slices, so that Ctrl-C ends the wait for a bus.
fn join(py: Python<'_>, options: &Options, bus: &str) -> PyResult<Joined> {
    let start = Instant::now();
    loop {
        let joined = py.detach(|| {
            let joined = options.try_join(bus, start.elapsed());
            if matches!(joined, Ok(None)) {
                std::thread::sleep(JOIN_POLL);
            }
            joined
        });
        py.check_signals()?;
        if let Some(bus) = joined.map_err(|error| exception(py, &error))? {
            return Ok(bus);
        }
    }
}

/// Kinds of events by their words; by default tops and trades.
pub fn kinds_of(py: Python<'_>, kinds: Option<Vec<String>>) -> PyResult<Events> {
    let Some(kinds) = kinds else {
        return Ok(Events::TOPS | Events::TRADES);
    };
    let found: Result<Vec<Events>, _> = kinds.iter().map(|kind| Events::named(kind)).collect();
    let found = found.map_err(|error| exception(py, &error))?;
    let all = found.into_iter().reduce(|one, other| one | other);
    all.ok_or_else(|| PyValueError::new_err("events is empty: leave it out for tops and trades"))
}

fn seconds(seconds: f64) -> PyResult<Duration> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(PyValueError::new_err(format!(
            "{seconds} s: give a time of 0 or more seconds"
        )));
    }
    Ok(Duration::try_from_secs_f64(seconds)
        .unwrap_or(FOREVER)
        .min(FOREVER))
}

/// The end of a wait of that many seconds; `None`: without end.
pub fn until(timeout: Option<f64>) -> PyResult<Instant> {
    let time = timeout.map_or(Ok(FOREVER), seconds)?;
    Ok(Instant::now() + time)
}
