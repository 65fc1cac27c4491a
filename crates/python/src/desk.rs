//! A trading engine as Python holds it: its state and events as dictionaries, and the desk's commands.

use crate::arguments::until;
use crate::bus::SLICE;
use crate::desk_rows::{alarm, event, fill, order, parent, position};
use crate::errors::{check_room, desk_exception, failure};
use crate::held::{Call, Held};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;
use touchline_client::fx::{
    self, Address, Answered, Command, Error, Options, Order, Waits, name, new_name,
};

/// Memory for the dictionary of a row and its values, bytes.
const ROW_BYTES: usize = 4 << 10;
/// What it is for.
const ROWS: &str = "the state of an engine";

/// A joined engine.
#[pyclass(subclass, frozen, module = "touchline._native")]
pub struct Desk {
    held: Held<State>,
    address: Address,
}

/// State that only one call has at a time.
struct State {
    desk: fx::Desk,
    /// An event that was read and not given out.
    next: Option<fx::Event>,
}

#[pymethods]
impl Desk {
    /// Joins the engine on the bus of this name, and reads its journal.
    #[new]
    #[pyo3(signature = (bus = "fx-run", *, client = "desk", directory = None, ring_directory = None, journal = None, group = None))]
    fn new(
        py: Python<'_>,
        bus: &str,
        client: &str,
        directory: Option<PathBuf>,
        ring_directory: Option<PathBuf>,
        journal: Option<PathBuf>,
        group: Option<&str>,
    ) -> PyResult<Desk> {
        let with = |options: Options,
                    path: Option<PathBuf>,
                    set: fn(Options, PathBuf) -> Options| match path {
            Some(path) => set(options, path),
            None => options,
        };
        let options = with(
            fx::Desk::options().client(client),
            directory,
            Options::directory,
        );
        let options = with(options, ring_directory, Options::ring_directory);
        let options = with(options, journal, Options::journal);
        let options = match group {
            Some(group) => options.group(group),
            None => options,
        };
        let address = options
            .address(bus)
            .map_err(|error| desk_exception(py, &error))?;
        let joined = join(py, options, bus)?;
        let stopper = joined.stopper();
        Ok(Desk {
            held: Held::new(
                bus,
                State {
                    desk: joined,
                    next: None,
                },
                stopper,
            ),
            address,
        })
    }

    /// Name of the bus.
    #[getter]
    fn name(&self) -> &str {
        self.held.name()
    }

    /// Sends a parent order; returns its name when the engine has accepted it.
    #[pyo3(signature = (
        pair, side, quantity, *, limit = None, id = None, tif = "gtd", deadline_ms = 60_000, urgency = 1, style = "best",
        whole = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn send(
        &self,
        py: Python<'_>,
        pair: &str,
        side: &str,
        quantity: i64,
        limit: Option<Bound<'_, PyAny>>,
        id: Option<&str>,
        tif: &str,
        deadline_ms: u64,
        urgency: u8,
        style: &str,
        whole: bool,
    ) -> PyResult<String> {
        // A text, a Decimal or a float, as Python writes it.
        let limit = limit
            .map(|limit| limit.str()?.extract::<String>())
            .transpose()?;
        let made = || -> Result<Order, Error> {
            Ok(Order {
                limit: limit.as_deref().map(name).transpose()?,
                lifetime: fx::lifetime(tif)?,
                deadline_ms,
                urgency,
                style: fx::style(style)?,
                partial: !whole,
                ..Order::new(
                    id.map_or_else(|| Ok(new_name()), name)?,
                    name(pair)?,
                    fx::side(side)?,
                    quantity,
                )
            })
        };
        let order = made().map_err(|error| desk_exception(py, &error))?;
        let id = order.id.to_string();
        let sent = self.command(py, |desk, waits| {
            desk.command_while(&Command::Parent(order), waits)
        });
        if let Err(error) = &sent {
            // Without an answer the program sends the same order again under the same name, and not a second one.
            let error = error.cause(py).unwrap_or_else(|| error.clone_ref(py));
            error.value(py).setattr("parent", &id)?;
        }
        sent.map(|_| id)
    }

    /// Ends a parent and cancels its open orders; returns the engine's word.
    fn cancel(&self, py: Python<'_>, parent: &str) -> PyResult<String> {
        self.command(py, |desk, waits| {
            let id = name(parent)?;
            desk.command_while(&Command::Cancel { id }, waits)
        })
    }

    /// Sets the kill switch, if need be without the ring; returns the engine's word. Another call of the desk does not delay it: a signal
    /// handler or a thread can kill while one waits.
    fn kill(&self, py: Python<'_>) -> PyResult<String> {
        self.held.with_free(py, |desk, call| {
            answered(py, call, |waits| match desk {
                Some(desk) => desk.desk.kill_while(waits),
                None => fx::kill_while(&self.address, false, waits),
            })
        })
    }

    /// The next event, if there is one; never waits.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.held.with(py, |desk, _| {
            check_room(ROW_BYTES, ROWS)?;
            let next = match desk.next.take() {
                Some(next) => Some(next),
                None => {
                    let polled = py.detach(|| desk.desk.poll());
                    polled.map_err(|error| desk_exception(py, &error))?
                }
            };
            next.map(|next| event(py, &next)).transpose()
        })
    }

    /// The next event; waits for it for that many seconds, or without end.
    #[pyo3(signature = (timeout = None))]
    fn next<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let until = until(timeout)?;
        let (mut is_first, mut is_over) = (true, false);
        loop {
            // Between two slices the desk is free: a handler may send a command.
            py.check_signals()?;
            let waited = self.held.with(py, |desk, call| {
                if desk.next.is_some() || is_over || call.is_stopped() {
                    check_room(ROW_BYTES, ROWS)?;
                    let next = desk.next.take();
                    return Ok(Some(next.map(|next| event(py, &next)).transpose()?));
                }
                let left = until.saturating_duration_since(Instant::now());
                let found = py.detach(|| desk.desk.next_within(left.min(SLICE)));
                // A signal may have come first: the event stays here if its handler raises an exception.
                desk.next = found.map_err(|error| desk_exception(py, &error))?;
                is_over = left <= SLICE;
                Ok(None)
            });
            match waited {
                // Closed during the wait.
                Err(_) if !is_first && self.held.is_closed() => return Ok(None),
                Ok(None) => is_first = false,
                Ok(Some(next)) => return Ok(next),
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends waits for events: those of other threads, and that of the present thread if a signal handler calls this.
    fn stop(&self) {
        self.held.stop();
    }

    /// Whether the desk was stopped or closed.
    #[getter]
    fn stopped(&self) -> bool {
        self.held.is_stopped()
    }

    /// Parents that work, and the last 50 that have ended, in order of arrival.
    #[getter]
    fn parents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.held.with(py, |desk, _| {
            list(py, desk.desk.parents().iter().map(|row| parent(py, row)))
        })
    }

    /// Orders at banks that may still be filled.
    #[getter]
    fn orders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.held.with(py, |desk, _| {
            list(py, desk.desk.orders().map(|(_, row)| order(py, row)))
        })
    }

    /// The last 50 fills, busts and corrections.
    #[getter]
    fn fills<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.held.with(py, |desk, _| {
            list(py, desk.desk.fills().iter().map(|row| fill(py, row)))
        })
    }

    /// The last 50 alarms.
    #[getter]
    fn alarms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.held.with(py, |desk, _| {
            list(
                py,
                desk.desk.ledger().alarms.iter().map(|row| alarm(py, row)),
            )
        })
    }

    /// Positions by pair.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.held.with(py, |desk, _| {
            check_room(desk.desk.positions().len() * ROW_BYTES, ROWS)?;
            let all = PyDict::new(py);
            for (pair, row) in desk.desk.positions() {
                all.set_item(pair, position(py, pair, row)?)?;
            }
            Ok(all)
        })
    }

    /// Leaves the engine; a call of another thread, or the one that a handler interrupts, ends first: a wait for events without an error,
    /// a command as after an interrupt.
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

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let next = self.next(py, None);
        // Another thread that closes it ends the loop.
        next.or_else(|error| self.held.ended_by_close(py, error))
    }

    fn __repr__(&self) -> String {
        format!("<touchline.Desk {}>", self.held.name())
    }
}

impl Desk {
    /// Sends a command.
    fn command(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut fx::Desk, Waits<'_>) -> Answered + Send,
    ) -> PyResult<String> {
        self.held.with(py, |desk, call| {
            answered(py, call, |waits| act(&mut desk.desk, waits))
        })
    }
}

/// Sends without the GIL, and waits for the answer until a signal raises an exception. The cause of that exception is
/// the error that states the outcome of the command.
fn answered(
    py: Python<'_>,
    call: &Call<'_>,
    act: impl FnOnce(Waits<'_>) -> Answered + Send,
) -> PyResult<String> {
    let mut signals = Signals::new();
    let answer = py.detach(|| act(&mut || signals.are_handled() && !call.is_closed()));
    let answer = answer.map_err(|error| desk_exception(py, &error));
    match (signals.raised, answer) {
        (None, answer) => answer,
        (Some(raised), answer) => {
            raised.set_cause(py, answer.err());
            Err(raised)
        }
    }
}

/// Signals during a wait.
struct Signals {
    looked: Instant,
    /// Exception of a handler.
    raised: Option<PyErr>,
}

impl Signals {
    fn new() -> Signals {
        Signals {
            looked: Instant::now(),
            raised: None,
        }
    }

    /// Calls the handlers in each slice; false: one raised an exception.
    fn are_handled(&mut self) -> bool {
        if self.looked.elapsed() >= SLICE {
            self.looked = Instant::now();
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_none()
    }
}

/// Joins in another thread: reading the journal of an engine takes seconds, and signals are handled meanwhile. After a
/// signal that thread ends on its own, without a result.
fn join(py: Python<'_>, options: Options, bus: &str) -> PyResult<fx::Desk> {
    let (send, mut joined) = channel();
    let bus = bus.to_owned();
    let thread = std::thread::Builder::new().spawn(move || {
        // After a signal the receiver is gone.
        let _ = send.send(options.join(&bus));
    });
    thread.map_err(|error| {
        failure(
            py,
            format_args!("cannot start the thread that joins: {error}"),
        )
    })?;
    loop {
        let receiver = &mut joined;
        let received = py.detach(move || receiver.recv_timeout(SLICE));
        py.check_signals()?;
        match received {
            Ok(desk) => return desk.map_err(|error| desk_exception(py, &error)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => panic!("the thread that joins has panicked"),
        }
    }
}

fn list<'py>(
    py: Python<'py>,
    rows: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyDict>>>,
) -> PyResult<Bound<'py, PyList>> {
    check_room(rows.len() * ROW_BYTES, ROWS)?;
    let rows: PyResult<Vec<_>> = rows.collect();
    PyList::new(py, rows?)
}
