//! A bus of a Python program: one call at a time, waits without the GIL, Ctrl-C handled within 50 ms.
//!
//! Events that were read stay in the state until Python has them: a signal handler that raises an exception within a
//! call loses none.

use crate::arguments::{idle_of, kinds_of, seconds, until, words};
use crate::batch::{Batch, Filling};
use crate::book::{Book, list_of};
use crate::errors::{check_room, exception, held_back, no_memory};
use crate::event::Event;
use crate::held::{Call, Held};
use crate::number::Form;
use crate::numpy::import_numpy;
use crate::tables::want;
use crate::tape::{place, with_tape};
use crate::view::{Named, View, Which};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchline_client::{Bus as Joined, Error, Event as Happened, Events, Next};

/// Longest wait of a call that gives way to others.
const GIVES_WAY: Duration = Duration::from_millis(1);
/// Longest wait without a look at signals: a host delays the look by milliseconds, and Ctrl-C is to end a wait within 50.
pub const SLICE: Duration = Duration::from_millis(40);
/// Pause between two attempts to join a bus that is not there.
const JOIN_POLL: Duration = Duration::from_millis(20);
/// Events that are read without a look at signals: some milliseconds.
const PART: usize = 1 << 16;
/// Events between two looks at signals while they come without end.
const EVENTS_MAX: u32 = 4_096;

/// A joined bus.
#[pyclass(subclass, frozen, module = "touchline._native")]
pub struct Bus {
    events: Events,
    held: Held<State>,
    /// The next `read` raises why the tape is not read on.
    is_failing: AtomicBool,
}

/// State that only one thread has at a time.
struct State {
    bus: Joined,
    view: View,
    /// An event that was read and not given out.
    next: Option<Happened>,
    /// Events that were read, and not given out, of a batch.
    rows: Filling,
    /// Events since the last look at signals.
    unseen: u32,
}

/// Names of the buses of this host, or of a tape.
#[pyfunction]
#[pyo3(signature = (directory = None, *, journal = None))]
pub fn buses(
    py: Python<'_>,
    directory: Option<PathBuf>,
    journal: Option<PathBuf>,
) -> PyResult<Vec<String>> {
    check_room(0, "the names of buses")?;
    let buses = match (directory, journal) {
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err(
                "directory and journal: give one of them, the buses of a host or those of a tape",
            ));
        }
        (_, Some(journal)) => py.detach(|| Joined::list_journal(journal)),
        (Some(directory), None) => Joined::options().directory(directory).list(),
        (None, None) => Joined::list(),
    };
    buses.map_err(|error| exception(py, &error))
}

#[pymethods]
impl Bus {
    /// Joins the bus of this name.
    #[new]
    #[pyo3(signature = (
        bus, *, directory = None, wait = 0.0, events = None, symbols = None, keep_books = true, live_only = false,
        name = None, lossless = false, idle = "backoff", instruments_max = None, raw = false, tape = None, tape_wait = 1.0,
        start = None, start_sequence = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        bus: String,
        directory: Option<PathBuf>,
        wait: f64,
        events: Option<Bound<'_, PyAny>>,
        symbols: Option<Bound<'_, PyAny>>,
        keep_books: bool,
        live_only: bool,
        name: Option<&str>,
        lossless: bool,
        idle: &str,
        instruments_max: Option<usize>,
        raw: bool,
        tape: Option<PathBuf>,
        tape_wait: f64,
        start: Option<u64>,
        start_sequence: Option<u64>,
    ) -> PyResult<Bus> {
        let events = kinds_of(py, events)?;
        let mut options = Joined::options()
            .events(events)
            .symbols(words("symbols", symbols)?.unwrap_or_default())
            .keep_books(keep_books)
            .live_only(live_only)
            .idle(idle_of(py, idle)?)
            .wait(seconds(wait)?);
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
        let place = place("start", start, start_sequence)?;
        options = with_tape(options, tape, seconds(tape_wait)?, place);
        let joined = in_slices(py, |waited| options.try_join(&bus, waited))?;
        Bus::over(py, joined, events, raw)
    }

    /// Name of the bus.
    #[getter]
    pub fn name(&self) -> &str {
        self.held.name()
    }

    /// Symbols of all instruments, by index; `?` before one is known.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> PyResult<Vec<Py<PyString>>> {
        self.held.with(py, |state, _| {
            state.take_symbols(py)?;
            state.view.symbols(py)
        })
    }

    /// Ends waits for events: those of other threads, and that of the present thread if a signal handler calls this.
    fn stop(&self) {
        self.held.stop();
    }

    /// Whether the bus was stopped or closed, or its tape has ended.
    #[getter]
    fn stopped(&self) -> bool {
        self.held.is_stopped() && !self.is_failing.load(Ordering::SeqCst)
    }

    /// Whether `stop` or `close` came before the end of its tape: rows are missing behind those that were read. For `to_arrow` and others.
    #[getter]
    fn _is_cut_off(&self) -> bool {
        self.held.is_cut_off()
    }

    /// The next event, if there is one; never waits.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        self.held.with(py, |state, _| {
            state.check_single(py)?;
            let event = state.next.take().or_else(|| state.bus.poll());
            if event.is_none() {
                state.check_process(py)?;
            }
            Ok(event.map(|event| state.event(py, event)))
        })
    }

    /// The next event; waits for it for that many seconds, or without end.
    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Event>> {
        let until = until(timeout)?;
        self.held.with(py, |state, call| {
            state.check_single(py)?;
            state.wait(py, call, until)?;
            let event = state.next.take();
            Ok(event.map(|event| state.event(py, event)))
        })
    }

    /// Everything that is there, up to `limit` events, as arrays; waits for the first event for that many seconds. Events that an
    /// interrupted call holds come whole, also if they are more than `limit`.
    #[pyo3(signature = (timeout = 1.0, limit = 65_536))]
    fn read(&self, py: Python<'_>, timeout: Option<f64>, limit: usize) -> PyResult<Batch> {
        if limit == 0 {
            return Err(PyValueError::new_err("limit 0: give 1 or more events"));
        }
        let until = until(timeout)?;
        let was_closed = self.held.is_closed();
        import_numpy(py)?;
        if !was_closed && self.held.is_closed() {
            return Filling::new(Form::Float).batch(py, self.events);
        }
        self.held.with(py, |state, call| {
            self.is_failing.store(false, Ordering::SeqCst);
            state.check_process(py)?;
            state.fill(py, call, until, limit)?;
            // Before the rows are taken: without memory they stay to be read.
            check_room(0, "the arrays of a batch")?;
            if state.rows.has_defined() {
                state.take_symbols(py)?;
            }
            let rows = state.rows.take();
            // A loop that ends with `stopped` reads once more.
            let is_failing = state.check_process(py).is_err();
            self.is_failing.store(is_failing, Ordering::SeqCst);
            rows.batch(py, self.events)
        })
    }

    /// Waits for that many seconds until there is something to read, in a thread of its own, and gives way to other calls; whether
    /// there is something. For `batches`.
    fn _wait(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let until = until(Some(timeout))?;
        self.held.with_giving_way(py, |state, call| {
            state.check_process(py)?;
            let bus = &mut state.bus;
            let next = &mut state.next;
            py.detach(|| {
                while next.is_none() && !call.is_wanted() && !call.is_stopped() {
                    let left = until.saturating_duration_since(Instant::now());
                    match bus.try_next_within(left.min(GIVES_WAY)) {
                        Some(Next::Event(event)) => *next = Some(event),
                        _ if left.is_zero() => break,
                        _ => {}
                    }
                }
            });
            if state.next.is_none() && state.rows.events() == 0 {
                state.check_process(py)?;
                return Ok(false);
            }
            Ok(true)
        })
    }

    /// Reads until every defined book is live; events are applied and not returned.
    #[pyo3(signature = (timeout = 5.0))]
    fn ready(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let until = until(timeout)?;
        self.held.with(py, |state, call| {
            // Events read by an interrupted call are older than those read here.
            state.next = None;
            drop(state.rows.take());
            let result = loop {
                let left = until.saturating_duration_since(Instant::now());
                let bus = &mut state.bus;
                let result = py.detach(|| bus.ready(left.min(SLICE)));
                py.check_signals()?;
                if result.is_ok() || left <= SLICE || call.is_stopped() {
                    break result;
                }
            };
            state.take_symbols(py)?;
            result.map_err(|error| exception(py, &error))
        })
    }

    /// Prepares the rows of a table of `to_arrow` and others; before the first read.
    #[pyo3(signature = (table, *, direct = false, implied = false))]
    fn _want(&self, py: Python<'_>, table: &str, direct: bool, implied: bool) -> PyResult<()> {
        let of = list_of(direct, implied)?;
        self.held
            .with(py, |state, _| want(&mut state.rows, self.events, table, of))
    }

    /// A batch without an event.
    fn _empty(&self, py: Python<'_>) -> PyResult<Batch> {
        self.held.with(py, |state, _| {
            Filling::new(state.view.form).batch(py, self.events)
        })
    }

    /// Security ids of all instruments, by index.
    #[getter]
    fn security_ids(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        self.held
            .with(py, |state, _| state.view.security_ids(&state.bus))
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
        self.held
            .with(py, |state, _| state.view.top(py, &state.bus, &which))
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
        self.held
            .with(py, |state, _| state.view.last_trade(py, &state.bus, &which))
    }

    /// A copy of the kept price book of an instrument: direct and implied levels by price, or one of both lists alone.
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
            state.view.book(py, &state.bus, &which, levels, of)
        })
    }

    /// A copy of the kept order book of an instrument: orders in priority.
    #[pyo3(signature = (symbol = None, *, security_id = None))]
    fn orders(
        &self,
        py: Python<'_>,
        symbol: Option<Named>,
        security_id: Option<i64>,
    ) -> PyResult<Book> {
        let which = Which::new(symbol, security_id)?;
        self.held
            .with(py, |state, _| state.view.orders(py, &state.bus, &which))
    }

    /// Definitions as columns: a dictionary of lists, by index.
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.held
            .with(py, |state, _| state.view.definitions(py, &state.bus))
    }

    /// Counts since the bus was joined.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.held.with(py, |state, _| {
            check_room(0, "counts")?;
            let stats = state.bus.stats();
            // Read, and not given out.
            let held_back = state.rows.events() + usize::from(state.next.is_some());
            let counts = PyDict::new(py);
            for (name, count) in [
                ("events", stats.events - held_back as u64),
                ("overruns", stats.overruns),
                ("lost", stats.lost),
                ("restarts", stats.restarts),
                ("unknown", stats.unknown),
                ("undefined", stats.undefined),
                ("inconsistent", stats.inconsistent),
                ("tape_messages", stats.tape_messages),
                ("tape_fall_backs", stats.tape_fall_backs),
                ("tape_losses", stats.tape_losses),
            ] {
                counts.set_item(name, count)?;
            }
            Ok(counts)
        })
    }

    /// Whether the next message comes from the tape: this reader is behind the bus.
    #[getter]
    fn on_tape(&self, py: Python<'_>) -> PyResult<bool> {
        self.held.with(py, |state, _| Ok(state.bus.is_on_tape()))
    }

    /// Lag of this reader: messages and bytes.
    #[getter]
    fn lag(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.held.with(py, |state, _| {
            let lag = state.bus.lag();
            Ok((lag.messages, lag.bytes))
        })
    }

    /// Leaves the bus; a call of another thread, or the one that a handler interrupts, ends first, without an error.
    fn close(&self, py: Python<'_>) {
        self.held.close(py);
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_ended))]
    fn __exit__(&self, py: Python<'_>, _ended: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __iter__(slf: Py<Self>) -> PyResult<Py<Self>> {
        slf.get().held.check_open()?;
        Ok(slf)
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        let next = self.next(py, None);
        // Another thread that closes it ends the loop.
        next.or_else(|error| self.held.ended_by_close(py, error))
    }

    fn __repr__(&self) -> String {
        format!("<touchline.Bus {}>", self.held.name())
    }
}

impl Bus {
    /// A bus that was joined, or that of a tape.
    pub fn over(py: Python<'_>, joined: Joined, events: Events, raw: bool) -> PyResult<Bus> {
        let form = if raw { Form::Raw } else { Form::Float };
        let (name, stopper) = (joined.name().to_owned(), joined.stopper());
        let mut state = State {
            bus: joined,
            view: View::new(form),
            next: None,
            rows: Filling::new(form),
            unseen: 0,
        };
        state.take_symbols(py)?;
        Ok(Bus {
            events,
            held: Held::new(name, state, stopper),
            is_failing: AtomicBool::new(false),
        })
    }
}

impl State {
    /// Whether this process may read, and a tape was read to its end if its loop has ended.
    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        let checked = self.bus.check_process();
        checked.map_err(|error| exception(py, &error))
    }

    /// Whether a single event may be given out.
    fn check_single(&self, py: Python<'_>) -> PyResult<()> {
        match self.rows.events() {
            0 => self.check_process(py),
            events => Err(held_back(self.bus.name(), events)),
        }
    }

    /// Waits for the next event without the GIL; the event stays in the state until it is taken, even if a handler
    /// raises.
    fn wait(&mut self, py: Python<'_>, call: &Call<'_>, until: Instant) -> PyResult<()> {
        if self.next.is_none() && !call.is_stopped() {
            // Available events are taken without a release of the GIL.
            self.next = self.bus.poll();
            self.unseen += 1;
            if self.next.is_some() && self.unseen < EVENTS_MAX {
                return Ok(());
            }
        }
        self.unseen = 0;
        loop {
            py.check_signals()?;
            if self.next.is_some() {
                return Ok(());
            }
            if call.is_stopped() {
                return self.check_process(py);
            }
            let left = until.saturating_duration_since(Instant::now());
            let bus = &mut self.bus;
            match py.detach(|| bus.try_next_within(left.min(SLICE))) {
                // A signal may have come first.
                Some(Next::Event(event)) => self.next = Some(event),
                Some(Next::TimedOut) if left <= SLICE => {
                    py.check_signals()?;
                    return Ok(());
                }
                // A tape with more to read is read on, also behind the time: an empty batch is its end.
                Some(Next::TimedOut | Next::Stopped) | None => {}
            }
        }
    }

    /// Fills the rows of a batch; they stay in the state, even if a handler raises.
    fn fill(
        &mut self,
        py: Python<'_>,
        call: &Call<'_>,
        until: Instant,
        limit: usize,
    ) -> PyResult<()> {
        if self.rows.events() == 0 {
            self.wait(py, call, until)?;
        }
        let mut is_over = self.rows.is_ended() || self.next.is_none() && call.is_stopped();
        while !is_over {
            let part = limit.min(self.rows.events() + PART);
            let State {
                bus, next, rows, ..
            } = self;
            let filled = py.detach(|| {
                *next = next.take().or_else(|| bus.poll());
                rows.fill(bus, next, part)
            });
            // On a bus that never pauses, signals are handled between two parts, and after the last one.
            py.check_signals()?;
            if filled.is_err() && self.rows.events() == 0 {
                return Err(no_memory("the rows of a batch, which stay to be read"));
            }
            // An event without room is the first of the next batch.
            let is_part = filled.is_ok() && self.rows.events() == part && part < limit;
            is_over = !is_part || self.rows.is_ended() || call.is_stopped();
        }
        Ok(())
    }

    fn event(&mut self, py: Python<'_>, event: Happened) -> Event {
        self.view.event(py, &self.bus, event)
    }

    fn take_symbols(&mut self, py: Python<'_>) -> PyResult<()> {
        self.view.take_symbols(py, &self.bus)
    }
}

/// Tries in slices, so that Ctrl-C ends the wait for a bus.
pub fn in_slices(
    py: Python<'_>,
    attempt: impl Fn(Duration) -> Result<Option<Joined>, Error> + Sync,
) -> PyResult<Joined> {
    let start = Instant::now();
    loop {
        let joined = py.detach(|| {
            let joined = attempt(start.elapsed());
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
