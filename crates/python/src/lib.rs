//! Python module of the client: `touchline._native`, which the package `touchline` uses.
//!
//! ```text
//! bus.rs     Bus: joins, reads, looks up
//! journal.rs Journal: a tape, read as the bus that it is of
//! replay.rs  Replay: a capture through the path of a gateway, in this process
//! held.rs    one call at a time, until it is stopped or closed
//! view.rs    look-ups between two reads of either
//! batch.rs   read(): available events, as rows
//! tables.rs  tables of to_arrow and others
//! derived.rs rows that follow from events and books
//! numpy.rs   its import
//! pickle.rs  batches between processes
//! rows.rs    rows of arrays, their columns, and the memory that numpy sees
//! event.rs   Event: one event of the iterator
//! book.rs    Book: a copy of the kept book
//! desk.rs    Desk: a trading engine, its rows in desk_rows.rs
//! arguments.rs lists of words, kinds of events, waits
//! errors.rs  errors of the client as exceptions of the package
//! ```
//!
//! # Path
//! `Bus.read` takes events of the client's bus into rows while other threads of the interpreter run, and hands their memory to numpy.
//!
//! # Tests
//! `tests/test_bus.py`, run by the system tests of `crates/touchline`; the scenario of all languages is in `crates/capi/tests`.
//!
//! # Never
//! Reads shared memory itself: everything comes from `touchline-client`. Waits with the GIL held. Gives numpy memory that
//! changes later.

mod arguments;
mod batch;
mod book;
mod bus;
mod derived;
mod desk;
mod desk_rows;
mod errors;
mod event;
mod held;
mod journal;
mod number;
mod numpy;
mod pickle;
mod replay;
mod rows;
mod tables;
mod tape;
mod view;

use pyo3::prelude::*;

/// Names that the package imports.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<bus::Bus>()?;
    module.add_class::<journal::Journal>()?;
    module.add_class::<desk::Desk>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<book::Book>()?;
    module.add_class::<event::Event>()?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<replay::Replay>()?;
    module.add_function(wrap_pyfunction!(batch::unpickled, module)?)?;
    module.add_function(wrap_pyfunction!(bus::buses, module)?)
}
