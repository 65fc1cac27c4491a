//! Errors of the client as exceptions. The classes are Python's, in `touchline/errors.py`, since some have two bases.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use touchline_client::Error;

/// The exception of an error, with its sentence.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    if let Error::Option(why) = error {
        return PyValueError::new_err(why.clone());
    }
    let made = py.import("touchline.errors").and_then(|module| {
        module
            .getattr("of")?
            .call1((error.kind().name(), error.to_string()))
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

/// A bus is read by one thread at a time.
pub fn busy(name: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "bus {name} is being read by another thread; join it once for each thread"
    ))
}

/// A bus that was closed.
pub fn closed(name: &str) -> PyErr {
    PyValueError::new_err(format!("bus {name} is closed"))
}
