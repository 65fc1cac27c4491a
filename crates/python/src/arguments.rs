//! Arguments of calls: lists of words, kinds of events, waits.

use crate::batch::push;
use crate::errors::{exception, no_memory, said};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::collections::TryReserveError;
use std::time::{Duration, Instant};
use touchline_client::{Events, Idle};

/// The longest time that a caller can wait.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// An idle strategy by its word.
pub fn idle_of(py: Python<'_>, idle: &str) -> PyResult<Idle> {
    Idle::named(idle).map_err(|error| exception(py, &error))
}

/// A list of words; one text would be a list of letters.
pub fn words(option: &str, given: Option<Bound<'_, PyAny>>) -> PyResult<Option<Vec<String>>> {
    let Some(given) = given else { return Ok(None) };
    if let Ok(text) = given.cast::<PyString>() {
        return Err(PyValueError::new_err(said(format_args!(
            "{option} is a list, and one text is given: write {option}=[\"{text}\"]"
        ))));
    }
    let mut words = Vec::new();
    for word in given.try_iter()? {
        let word = word?;
        let text = word.cast::<PyString>()?.to_str()?;
        let copied = copy(text).and_then(|text| push(&mut words, text));
        copied.map_err(|_| no_memory(option))?;
    }
    Ok(Some(words))
}

/// A copy of a text of a program, which may be of any length.
fn copy(text: &str) -> Result<String, TryReserveError> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())?;
    copy.push_str(text);
    Ok(copy)
}

/// Kinds of events by their words; by default tops and trades.
pub fn kinds_of(py: Python<'_>, kinds: Option<Bound<'_, PyAny>>) -> PyResult<Events> {
    let Some(kinds) = words("events", kinds)? else {
        return Ok(Events::TOPS | Events::TRADES);
    };
    let found: Result<Vec<Events>, _> = kinds.iter().map(|kind| Events::named(kind)).collect();
    let found = found.map_err(|error| exception(py, &error))?;
    let all = found.into_iter().reduce(|one, other| one | other);
    all.ok_or_else(|| PyValueError::new_err("events is empty: leave it out for tops and trades"))
}

/// A wait.
pub fn seconds(seconds: f64) -> PyResult<Duration> {
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
