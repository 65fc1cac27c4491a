//! A tape in the hands of Python: the calls of a bus, from its first record to its last one.

use crate::arguments::{idle_of, kinds_of, seconds, words};
use crate::bus::{Bus, in_slices};
use crate::tape::{definitions_of, place};
use pyo3::prelude::*;
use std::path::PathBuf;
use touchline_client::Bus as Joined;

/// A bus that was recorded.
#[pyclass(extends = Bus, subclass, frozen, module = "touchline._native")]
pub struct Journal {
    path: PathBuf,
}

#[pymethods]
impl Journal {
    /// Opens the tape in a directory, for the bus of this name or its first one, from a receive time or a sequence to another.
    #[new]
    #[pyo3(signature = (
        journal, bus = None, *, start = None, end = None, start_sequence = None, end_sequence = None, wait = 0.0, events = None,
        symbols = None, keep_books = true, idle = "backoff", instruments_max = None, definitions = None, raw = false, tape_wait = 1.0,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        journal: PathBuf,
        bus: Option<&str>,
        start: Option<u64>,
        end: Option<u64>,
        start_sequence: Option<u64>,
        end_sequence: Option<u64>,
        wait: f64,
        events: Option<Bound<'_, PyAny>>,
        symbols: Option<Bound<'_, PyAny>>,
        keep_books: bool,
        idle: &str,
        instruments_max: Option<usize>,
        definitions: Option<Vec<PathBuf>>,
        raw: bool,
        tape_wait: f64,
    ) -> PyResult<PyClassInitializer<Journal>> {
        let events = kinds_of(py, events)?;
        let mut options = Joined::options()
            .events(events)
            .symbols(words("symbols", symbols)?.unwrap_or_default())
            .keep_books(keep_books)
            .idle(idle_of(py, idle)?)
            .wait(seconds(wait)?)
            .tape_wait(seconds(tape_wait)?);
        if let Some(instruments) = instruments_max {
            options = options.instruments_max(instruments);
        }
        if let Some(files) = definitions {
            options = options.tape_definitions(definitions_of(py, &files)?);
        }
        if let Some(place) = place("start", start, start_sequence)? {
            options = options.tape_from(place);
        }
        if let Some(place) = place("end", end, end_sequence)? {
            options = options.tape_to(place);
        }
        let opened = in_slices(py, |waited| options.try_open_journal(&journal, bus, waited))?;
        let bus = Bus::over(py, opened, events, raw)?;
        Ok(PyClassInitializer::from(bus).add_subclass(Journal { path: journal }))
    }

    /// Directory of the tape.
    #[getter]
    fn path(&self) -> &PathBuf {
        &self.path
    }

    fn __repr__(slf: PyRef<'_, Self>) -> String {
        let name = slf.as_super().name();
        format!("<touchline.Journal {} of {}>", name, slf.path.display())
    }
}
