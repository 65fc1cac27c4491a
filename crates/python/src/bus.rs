//! A bus as Python holds it: one thread at a time, waits without the GIL, Ctrl-C at most 50 ms away.

use crate::batch::{Batch, Filling};
use crate::book::Book;
use crate::errors::{busy, closed, exception};
use crate::event::Event;
use crate::number::Form;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};
use touchline_client::{
    Bus as Joined, Definition, Event as Happened, Events, Idle, Instrument, Next, Options,
};

/// Longest wait without a look at signals.
const SLICE: Duration = Duration::from_millis(50);
/// The longest time that a caller can wait.
const FOREVER: Duration = Duration::from_secs(1 << 32);
/// Events between two looks at signals while they come without end.
const EVENTS_MAX: u32 = 4_096;

/// A joined bus.
#[pyclass(subclass, frozen, module = "touchline._native")]
pub struct Bus {
    name: String,
    form: Form,
    events: Events,
    state: Mutex<Option<State>>,
}

/// What only one thread has at a time.
struct State {
    bus: Joined,
    /// Symbols by index, as objects; made when an instrument is defined.
    symbols: Vec<Py<PyString>>,
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
        let events = events.map_or(Ok(Events::TOPS | Events::TRADES), |kinds| {
            kinds_of(py, &kinds)
        })?;
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
        let joined = join(py, &options, &bus, seconds(wait)?)?;
        let mut state = State {
            bus: joined,
            symbols: Vec::new(),
            unseen: 0,
        };
        state.take_symbols(py);
        Ok(Bus {
            name: bus,
            form: if raw { Form::Raw } else { Form::Float },
            events,
            state: Mutex::new(Some(state)),
        })
    }

    /// Name of the bus.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Symbols of all instruments, by index; `?` before one is known.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> PyResult<Vec<Py<PyString>>> {
        self.with(|state| {
            state.take_symbols(py);
            Ok(state
                .symbols
                .iter()
                .map(|symbol| symbol.clone_ref(py))
                .collect())
        })
    }

    /// The next event, if there is one; never waits.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        self.with(|state| {
            let event = state.bus.poll();
            Ok(event.map(|event| state.event(py, self.form, event)))
        })
    }

    /// The next event; waits for it for that many seconds, or without end.
    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Event>> {
        let until = until(timeout)?;
        self.with(|state| {
            let event = state.wait(py, until)?;
            Ok(event.map(|event| state.event(py, self.form, event)))
        })
    }

    /// Everything that is there, up to `limit` events, as arrays; waits for the first event for that many seconds.
    #[pyo3(signature = (timeout = 1.0, limit = 65_536))]
    fn read(&self, py: Python<'_>, timeout: Option<f64>, limit: usize) -> PyResult<Batch> {
        if limit == 0 {
            return Err(PyValueError::new_err("limit 0: give 1 or more events"));
        }
        let until = until(timeout)?;
        self.with(|state| {
            let mut rows = Filling::new(self.form, limit);
            if let Some(first) = state.wait(py, until)? {
                let bus = &mut state.bus;
                py.detach(|| rows.fill(bus, first));
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
        self.with(|state| {
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
        self.with(|state| {
            let instrument = state.find(py, symbol)?;
            let top = state.bus.top(instrument);
            let top = top.map_err(|error| exception(py, &error))?;
            Ok(state.event(py, self.form, Happened::Top(top)))
        })
    }

    /// The last trade of a symbol, as an event; `None` before the first.
    fn last_trade(&self, py: Python<'_>, symbol: &str) -> PyResult<Option<Event>> {
        self.with(|state| {
            let instrument = state.find(py, symbol)?;
            let trade = state.bus.last_trade(instrument);
            let trade = trade.map_err(|error| exception(py, &error))?;
            Ok(trade.map(|trade| state.event(py, self.form, Happened::Trade(trade))))
        })
    }

    /// A copy of the kept price book of a symbol.
    #[pyo3(signature = (symbol, levels = None))]
    fn book(&self, py: Python<'_>, symbol: &str, levels: Option<usize>) -> PyResult<Book> {
        self.with(|state| {
            let instrument = state.find(py, symbol)?;
            let book = state.bus.book(instrument);
            let book = book.map_err(|error| exception(py, &error))?;
            Book::new(py, self.form, &book, levels.unwrap_or(usize::MAX))
        })
    }

    /// A copy of the kept order book of a symbol: orders in priority.
    fn orders(&self, py: Python<'_>, symbol: &str) -> PyResult<Book> {
        self.with(|state| {
            let instrument = state.find(py, symbol)?;
            let copy = Book::of_orders(py, self.form, &state.bus, instrument);
            copy?.map_err(|error| exception(py, &error))
        })
    }

    /// Definitions as columns: a dictionary of lists, by index.
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|state| {
            let bus = &state.bus;
            let all = bus
                .instruments()
                .map(|instrument| bus.definition(instrument));
            let all: Result<Vec<&Definition>, _> = all.collect();
            let all = all.map_err(|error| exception(py, &error))?;
            definitions(py, self.form, &all)
        })
    }

    /// Counts since the bus was joined.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|state| {
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
        self.with(|state| {
            let lag = state.bus.lag();
            Ok((lag.messages, lag.bytes))
        })
    }

    /// Leaves the bus.
    fn close(&self) -> PyResult<()> {
        *self.lock()? = None;
        Ok(())
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
        format!("<touchline.Bus {}>", self.name)
    }
}

impl Bus {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<State>>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::WouldBlock) => Err(busy(&self.name)),
            Err(TryLockError::Poisoned(_)) => Err(closed(&self.name)),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        let mut state = self.lock()?;
        act(state.as_mut().ok_or_else(|| closed(&self.name))?)
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

    fn event(&mut self, py: Python<'_>, form: Form, event: Happened) -> Event {
        if matches!(event, Happened::Defined(_)) {
            self.take_symbols(py);
        }
        if let Happened::Connection(what) = event {
            return Event::of_connection(form, what);
        }
        let symbol = event
            .instrument()
            .and_then(|instrument| self.symbols.get(instrument.index()));
        Event::new(form, event, symbol.map(|symbol| symbol.clone_ref(py)))
    }

    /// Symbols as objects; an instrument may get its symbol later.
    fn take_symbols(&mut self, py: Python<'_>) {
        let bus = &self.bus;
        let symbols = bus
            .instruments()
            .map(|instrument| PyString::intern(py, bus.symbol(instrument)).unbind());
        self.symbols = symbols.collect();
    }

    fn find(&self, py: Python<'_>, symbol: &str) -> PyResult<Instrument> {
        let found = self.bus.instrument(symbol);
        found.map_err(|error| exception(py, &error))
    }
}

/// Joins in slices, so that Ctrl-C ends the wait for a bus.
fn join(py: Python<'_>, options: &Options, bus: &str, wait: Duration) -> PyResult<Joined> {
    let until = Instant::now() + wait;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let options = options.clone().wait(left.min(SLICE));
        let joined = py.detach(|| options.join(bus));
        py.check_signals()?;
        match joined {
            Ok(bus) => return Ok(bus),
            Err(error) if left <= SLICE => return Err(exception(py, &error)),
            Err(_) => {}
        }
    }
}

fn kinds_of(py: Python<'_>, kinds: &[String]) -> PyResult<Events> {
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

fn until(timeout: Option<f64>) -> PyResult<Instant> {
    let time = timeout.map_or(Ok(FOREVER), seconds)?;
    Ok(Instant::now() + time)
}

/// Columns of definitions.
fn definitions<'py>(
    py: Python<'py>,
    form: Form,
    all: &[&Definition],
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let text = |name: &str, of: fn(&Definition) -> String| {
        table.set_item(name, PyList::new(py, all.iter().map(|one| of(one)))?)
    };
    text("symbol", |one| one.symbol.to_string())?;
    text("venue", |one| one.venue.to_string())?;
    text("group", |one| one.group.to_string())?;
    text("asset", |one| one.asset.to_string())?;
    text("currency", |one| one.currency.to_string())?;
    let whole = |name: &str, of: fn(&Definition) -> i64| {
        table.set_item(name, PyList::new(py, all.iter().map(|one| of(one)))?)
    };
    whole("security_id", |one| one.security_id)?;
    whole("expiry_ns", |one| one.expiry_ns as i64)?;
    whole("maturity", |one| i64::from(one.maturity))?;
    whole("quantity_exponent", |one| i64::from(one.quantity_exponent))?;
    let price = |name: &str, of: fn(&Definition) -> Option<touchline_client::Price>| {
        let prices = all
            .iter()
            .map(|one| form.price_object(py, of(one).unwrap_or(touchline_client::Price::NULL)));
        let prices: PyResult<Vec<_>> = prices.collect();
        table.set_item(name, PyList::new(py, prices?)?)
    };
    price("tick", |one| one.tick)?;
    price("multiplier", |one| one.multiplier)?;
    price("strike", |one| one.strike)?;
    Ok(table)
}
