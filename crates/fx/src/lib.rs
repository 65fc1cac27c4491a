//! FX: the banks' quotes as one composite that says what a size costs, and orders that are sent on it. Sans-I/O: bytes and time
//! are arguments, what comes out are values. The rules are in `docs/venues/fx-banks.md`, the decisions in `docs/design/fx.md`.
//!
//! # Never
//! A clock, a socket, a file, a thread. A floating-point number. An order that is not made out of what is open. A message
//! before its journal event.
//!
//! # Path
//! Inputs enter at [`Engine::handle`] and leave as events in a [`Batch`]; [`lines`] writes these as the six files of a replay.
//! [`session_file`] reads inputs from a recorded session.
//!
//! # Tests
//! Rules one by one beside their code; plans against a search of everything; random sessions with all that banks do, for what
//! must hold whatever they do; recorded sessions whose expected files are compared byte by byte, where they are at hand.

#![forbid(unsafe_code)]

pub mod composite;
pub mod config;
pub mod cooldown;
pub mod counts;
mod engine;
pub mod event;
pub mod input;
pub mod kill;
pub mod lines;
pub mod orders;
pub mod parents;
pub mod penalty;
pub mod plan;
pub mod positions;
pub mod quotes;
pub mod replay;
pub mod risk;
pub mod scorecard;
pub mod session_file;
pub mod setup;
pub mod ticks;
mod window;

pub use engine::{Engine, MESSAGE_MAX};
pub use event::Batch;
pub use replay::{Replay, ReplayError};
pub use setup::{Setup, SetupError};
