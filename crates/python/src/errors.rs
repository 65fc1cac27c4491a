//! Errors of the client as exceptions. The classes are Python's, in `touchline/errors.py`, since some have two bases.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use touchline_client::names::ErrorKind;
use touchline_client::words::Visible;
use touchline_client::{Error, fx};

/// A sentence that may repeat an argument or a part of a file, as a terminal shows it.
pub fn said(sentence: impl std::fmt::Display) -> String {
    Visible(&sentence.to_string()).to_string()
}

/// The exception of an error, with its sentence.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    if let Error::Option(why) = error {
        return PyValueError::new_err(said(why));
    }
    let made = py.import("touchline.errors").and_then(|module| {
        module
            .getattr("of")?
            .call1((error.kind().name(), said(error)))
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A configuration or a capture cannot be read: an `Error`, with the sentence.
pub fn failure(py: Python<'_>, error: impl std::fmt::Display) -> PyErr {
    exception(py, &Error::System(error.to_string()))
}

/// The same of a trading engine; a refusal has the engine's reason and cause.
pub fn desk_exception(py: Python<'_>, error: &fx::Error) -> PyErr {
    let kind = fx::kind_of(error);
    if kind == ErrorKind::Option {
        return PyValueError::new_err(said(error));
    }
    let refused = match error {
        fx::Error::Refused(refused) => Some((refused.reason.as_str(), refused.cause.as_str())),
        _ => None,
    };
    let made = py.import("touchline.errors").and_then(|module| {
        module
            .getattr("of")?
            .call1((kind.name(), said(error), refused))
    });
    made.map_or_else(|error| error, PyErr::from_value)
}

/// A bus is read by one thread at a time.
pub fn busy(name: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "bus {name} is being read by another thread; join it once for each thread"
    ))
}

/// A bus that was closed.
pub fn closed(name: &str) -> PyErr {
    PyValueError::new_err(said(format_args!("bus {name} is closed")))
}
