//! Batches between processes: the bytes of their rows, and the connection event, in the form that pickle takes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use touchline_client::Connection;

/// A connection event as numbers: its kind and what it counts.
pub type Happening = (i8, u64, u64);

/// A batch as pickle takes it: release, whether numbers are integers, kinds of events, number of events, rows of each array, connection.
pub type Pickled<'py> = (
    String,
    bool,
    u32,
    usize,
    Vec<Bound<'py, PyBytes>>,
    Option<Happening>,
);

/// Rows have the layout of one release.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// A pickle that no batch wrote.
pub fn damaged() -> PyErr {
    PyValueError::new_err("the pickle of a batch is damaged; pickle the batch again")
}

/// A connection event as numbers.
pub fn numbers(what: &Connection) -> Happening {
    let [one, other] = what.counts();
    (what.kind() as i8, one, other)
}

/// The connection event of these numbers.
pub fn connection((kind, one, other): Happening) -> Option<Connection> {
    let all = [
        Connection::CaughtUp {
            instruments: u32::try_from(one).unwrap_or(u32::MAX),
        },
        Connection::Overrun {
            messages: one,
            bytes: other,
        },
        Connection::PublisherGone,
        Connection::PublisherStalled,
        Connection::PublisherResumed,
        Connection::Restarted { generation: one },
        Connection::Corrupt { sequence: one },
        Connection::Incompatible { layout: one },
        Connection::Damaged,
        Connection::Forked,
        Connection::Refused,
        Connection::NotWaitedFor,
    ];
    all.into_iter().find(|what| what.kind() as i8 == kind)
}
