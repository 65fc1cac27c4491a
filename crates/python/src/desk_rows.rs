//! Rows of a trading engine as dictionaries: units are integers, prices and amounts exact decimals.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use touchline_client::Price;
use touchline_client::fx::{
    AlarmRow, Event, FillRow, OrderRow, PairRow, ParentRow, happened, words,
};

type Row<'py> = PyResult<Bound<'py, PyDict>>;

/// A `decimal.Decimal`.
fn decimal<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("decimal")?.getattr("Decimal")?.call1((text,))
}

fn price(py: Python<'_>, price: Price) -> PyResult<Bound<'_, PyAny>> {
    decimal(py, &price.to_string())
}

/// A parent.
pub fn parent<'py>(py: Python<'py>, row: &ParentRow) -> Row<'py> {
    let made = PyDict::new(py);
    made.set_item("id", row.id.as_str())?;
    made.set_item("pair", &row.pair)?;
    made.set_item("side", words::side_name(row.side))?;
    made.set_item("quantity", row.quantity)?;
    let limit = row.limit.as_deref().map(|limit| decimal(py, limit));
    made.set_item("limit", limit.transpose()?)?;
    made.set_item("state", &row.state)?;
    made.set_item("filled", row.filled)?;
    made.set_item("ended", row.is_ended)?;
    made.set_item("settled", row.is_settled)?;
    Ok(made)
}

/// An order at a bank.
pub fn order<'py>(py: Python<'py>, row: &OrderRow) -> Row<'py> {
    let made = PyDict::new(py);
    made.set_item("id", row.id.as_str())?;
    made.set_item("parent", row.parent.as_str())?;
    made.set_item("bank", &*row.bank)?;
    made.set_item("pair", &*row.terms.pair)?;
    made.set_item("side", words::side_name(row.terms.side))?;
    made.set_item("quantity", row.terms.quantity)?;
    made.set_item("price", price(py, row.terms.price)?)?;
    made.set_item("state", words::order_state_name(row.state))?;
    made.set_item("filled", row.cum)?;
    made.set_item("leaves", row.leaves)?;
    Ok(made)
}

/// A fill, a bust or a correction.
pub fn fill<'py>(py: Python<'py>, row: &FillRow) -> Row<'py> {
    let made = PyDict::new(py);
    made.set_item("at_ns", row.at_ns)?;
    made.set_item("type", words::fill_name(row.fill.kind))?;
    made.set_item("exec_id", row.fill.exec_id.as_str())?;
    made.set_item("parent", row.fill.parent.map(|id| id.to_string()))?;
    made.set_item("order", row.fill.order.map(|order| order.id.to_string()))?;
    made.set_item("bank", row.bank.as_deref())?;
    made.set_item("pair", &*row.pair)?;
    made.set_item("side", words::side_name(row.fill.side))?;
    made.set_item("quantity", row.fill.quantity)?;
    made.set_item("price", price(py, row.fill.price)?)?;
    Ok(made)
}

/// The position of a pair.
pub fn position<'py>(py: Python<'py>, pair: &str, row: &PairRow) -> Row<'py> {
    let made = PyDict::new(py);
    made.set_item("pair", pair)?;
    made.set_item("position", row.position)?;
    made.set_item("cash", decimal(py, &row.cash)?)?;
    made.set_item("worst_long", row.worst[0])?;
    made.set_item("worst_short", row.worst[1])?;
    let pnl = row.pnl.as_deref().map(|pnl| decimal(py, pnl));
    made.set_item("pnl", pnl.transpose()?)?;
    Ok(made)
}

/// An alarm.
pub fn alarm<'py>(py: Python<'py>, row: &AlarmRow) -> Row<'py> {
    let made = PyDict::new(py);
    made.set_item("at_ns", row.at_ns)?;
    made.set_item("what", row.what.to_string())?;
    made.set_item("bank", row.bank.as_deref())?;
    made.set_item("order", row.order.map(|id| id.to_string()))?;
    Ok(made)
}

/// An event: its row, with its `kind`.
pub fn event<'py>(py: Python<'py>, event: &Event) -> Row<'py> {
    let made = match event {
        Event::Parent(row) => parent(py, row)?,
        Event::Order(row) => order(py, row)?,
        Event::Fill(row) => fill(py, row)?,
        Event::Position {
            pair,
            position: row,
        } => position(py, pair, row)?,
        Event::Alarm(row) => alarm(py, row)?,
        _ => PyDict::new(py),
    };
    made.set_item("kind", event.kind().name())?;
    match event {
        Event::Killed { by } => made.set_item("by", by.map(|by| by.to_string()))?,
        Event::Bus(event) => made.set_item("text", happened(event))?,
        Event::Skipped(events) => made.set_item("events", *events)?,
        _ => {}
    }
    Ok(made)
}
