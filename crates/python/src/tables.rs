//! Tables of `to_arrow` and others: the events that each is made of.

use crate::batch::Filling;
use crate::errors::said;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use touchline_client::{Events, TouchSource};

/// Kinds of events that a table is made of; without them it would be empty.
const TABLES: [(&str, Events, &str); 10] = [
    ("tops", Events::TOPS, "tops"),
    ("trades", Events::TRADES, "trades"),
    ("levels", Events::BOOKS, "books"),
    ("orders", Events::ORDERS, "orders"),
    ("statistics", Events::STATISTICS, "statistics"),
    ("status", Events::STATUS, "status"),
    ("states", Events::BOOKS, "books"),
    ("order_states", Events::ORDERS, "orders"),
    ("mbp10", Events::BOOKS, "books"),
    ("tbbo", Events::TRADES, "trades"),
];

/// Prepares the rows of a table.
///
/// # Errors
/// There is no such table, or the events that it is made of were not asked for.
pub fn want(rows: &mut Filling, events: Events, table: &str, of: TouchSource) -> PyResult<()> {
    let Some((_, kind, word)) = TABLES.iter().find(|(name, ..)| *name == table) else {
        let names: Vec<_> = TABLES.iter().map(|(name, ..)| *name).collect();
        return Err(PyValueError::new_err(said(format_args!(
            "there is no table {table:?}: give one of {}",
            names.join(", ")
        ))));
    };
    if !events.has(*kind) {
        return Err(PyValueError::new_err(format!(
            "the table {table} is made of events that were not asked for: open it with events=[\"{word}\"]"
        )));
    }
    match table {
        "mbp10" => rows.derive(|derived| derived.mbp10 = Some(of)),
        "tbbo" => rows.derive(|derived| derived.tbbo = true),
        _ => {}
    }
    Ok(())
}
