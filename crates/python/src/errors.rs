//! Errors of the client as exceptions. The classes are Python's, in `touchline/errors.py`, since some have two bases.

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use touchline_client::names::ErrorKind;
use touchline_client::words::Visible;
use touchline_client::{Error, fx};

/// A sentence with escapes for control characters, since it may repeat an argument or a part of a file.
pub fn said(sentence: impl std::fmt::Display) -> String {
    Visible(&sentence.to_string()).to_string()
}

/// The exception of an error, with its sentence.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Option(why) => PyValueError::new_err(said(why)),
        Error::Memory(why) => PyMemoryError::new_err(said(why)),
        _ => of(py, error.kind(), said(error), None),
    }
}

/// The exception of a kind. No code of Python runs here: a daemon thread in it would not survive the end of the interpreter.
fn of(py: Python<'_>, kind: ErrorKind, sentence: String, refused: Option<(&str, &str)>) -> PyErr {
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let module = py.import("touchline.errors")?;
        let classes = module.getattr("CLASSES")?;
        let class = match classes.get_item(kind.name()) {
            Ok(class) => class,
            Err(_) => module.getattr("Error")?,
        };
        let error = class.call1((sentence,))?;
        error.setattr("kind", kind.name())?;
        if let Some((reason, cause)) = refused {
            error.setattr("reason", reason)?;
            error.setattr("cause", cause)?;
        }
        Ok(error)
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// A configuration or a capture cannot be read: an `Error`, with the sentence.
pub fn failure(py: Python<'_>, error: impl std::fmt::Display) -> PyErr {
    exception(py, &Error::System(error.to_string()))
}

/// The exception of an error of a trading engine; a refusal has the engine's reason and cause.
pub fn desk_exception(py: Python<'_>, error: &fx::Error) -> PyErr {
    let kind = fx::kind_of(error);
    match kind {
        ErrorKind::Option => return PyValueError::new_err(said(error)),
        ErrorKind::Memory => return PyMemoryError::new_err(said(error)),
        _ => {}
    }
    let refused = match error {
        fx::Error::Refused(refused) => Some((refused.reason.as_str(), refused.cause.as_str())),
        _ => None,
    };
    of(py, kind, said(error), refused)
}

/// A bus is read by one call at a time.
pub fn busy(name: &str, is_own: bool, is_forked: bool) -> PyErr {
    let why = match (is_forked, is_own) {
        (true, _) => {
            "was being read by another thread when this process was forked; join it again in this process"
        }
        (_, true) => {
            "is being read by the call that this handler interrupts; call its stop() or close() here, or set a flag"
        }
        _ => {
            "is being read by another thread; join it once for each thread, or end that thread's loop with stop()"
        }
    };
    PyRuntimeError::new_err(format!("bus {name} {why}"))
}

/// A bus that was closed.
pub fn closed(name: &str) -> PyErr {
    PyValueError::new_err(said(format_args!("bus {name} is closed")))
}

/// Events that an interrupted `read` holds: a call that gives single events would give later ones first.
pub fn held_back(name: &str, events: usize) -> PyErr {
    PyRuntimeError::new_err(format!(
        "bus {name}: an interrupted read() holds {events} events, which come first; take them with read()"
    ))
}

/// Error: no memory for the rows of an array.
pub fn no_memory(what: impl std::fmt::Display) -> PyErr {
    PyMemoryError::new_err(said(format_args!(
        "no memory for {what}: free memory, or raise `ulimit -v`"
    )))
}

/// Memory reserved for the other objects of a call, bytes: objects of some hundred bytes, each of which would end the
/// process if memory were exhausted.
const BESIDES_BYTES: usize = 64 << 10;

/// Checks that memory for a number of objects is free, before they are made one by one.
///
/// # Errors
/// `MemoryError`.
pub fn check_room(bytes: usize, what: impl std::fmt::Display) -> PyResult<()> {
    let checked = Error::check_room(BESIDES_BYTES + bytes, what);
    checked.map_err(|error| PyMemoryError::new_err(said(error)))
}
