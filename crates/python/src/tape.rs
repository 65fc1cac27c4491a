//! Options of tapes.

use crate::errors::failure;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;
use touchline_client::{KnownDefinitions, Options, TapePlace};
use touchline_gateway::venues::read_definitions;

/// Place on a tape by one of two numbers, or none.
pub fn place(which: &str, ns: Option<u64>, sequence: Option<u64>) -> PyResult<Option<TapePlace>> {
    match (ns, sequence) {
        (None, None) => Ok(None),
        (Some(ns), None) => Ok(Some(TapePlace::Time(ns))),
        (None, Some(sequence)) => Ok(Some(TapePlace::Sequence(sequence))),
        (Some(_), Some(_)) => Err(PyValueError::new_err(format!(
            "{which} and {which}_sequence: give one of them"
        ))),
    }
}

/// The definitions of files, for a tape without them. Files of some hundred MB take seconds, in which other threads run.
pub fn definitions_of(py: Python<'_>, files: &[PathBuf]) -> PyResult<KnownDefinitions> {
    let known = py.detach(|| read_definitions(files, None));
    py.check_signals()?;
    known.map_err(|mistakes| failure(py, mistakes))
}

/// Options of a bus with this tape, from a place of it on if there is one.
pub fn with_tape(
    options: Options,
    tape: Option<PathBuf>,
    wait: Duration,
    start: Option<TapePlace>,
) -> Options {
    let options = match tape {
        Some(tape) => options.tape(tape).tape_wait(wait),
        None => options,
    };
    start.into_iter().fold(options, Options::tape_from)
}
