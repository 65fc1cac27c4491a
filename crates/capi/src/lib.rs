//! C library of the client: `libtouchline`. Its documentation for users is `touchline.h`, which is generated from here.
//!
//! ```text
//! bus.rs         tl_join, tl_open_journal … tl_close: one bus, or its tape
//! changes.rs     steps of the last change of a book
//! definition.rs  tl_definition: reference data of an instrument
//! desk.rs        tl_desk_join … tl_desk_close: a trading engine
//! desk_event.rs  tl_desk_event: an event or a row of it, flat
//! event.rs       tl_event: one event, flat
//! levels.rs      tl_level, tl_order: copies of the kept books
//! sized.rs       structs of other versions
//! stats.rs       counts and lag of a reader
//! status.rs      what a call returns, and the sentence of the last error of a thread
//! text.rs        texts in structs
//! ```
//!
//! # Path
//! `tl_next` writes one event of the client's bus into the caller's struct.
//!
//! # Tests
//! `tests/languages`: the header is that of these sources, programs compile without a warning, and one scenario has the same
//! answers in Rust, C, C++ and Python.
//!
//! # Never
//! Lets a panic cross the border; calls back; writes beyond the size that the caller gives for its own struct.

mod bus;
mod changes;
mod definition;
mod desk;
mod desk_event;
mod event;
mod levels;
mod sized;
mod stats;
mod status;
mod text;
