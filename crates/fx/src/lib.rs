//! FX core: a composite price for each size from banks' quotes, and orders on it. Sans-I/O: bytes and times are
//! arguments, results are values. Rules: `docs/venues/fx-banks.md`; decisions: `docs/design/fx.md`.
//!
//! # Never
//! Uses a clock, a socket, a file or a thread; uses floating-point numbers; makes an order from more than the open
//! quantity; sends a message before its journal event.
//!
//! # Path
//! Inputs enter at [`Engine::handle`], or at [`Pricing::handle`] in a process without orders, and leave as events in a [`Batch`](touchline_fx_events::Batch); [`lines`](touchline_fx_events::lines) writes these as the six files of a replay.
//!
//! # Tests
//! Rules one by one beside their code; plans against an exhaustive search; random sessions with every behaviour of
//! banks, for invariants; recorded sessions with expected files, compared byte by byte where available.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

#[expect(clippy::disallowed_macros, reason = "a refused parent is no order")]
pub mod commands;
pub mod composite;
pub mod config;
pub mod counts;
pub mod desk_trades;
mod engine;
#[expect(clippy::disallowed_macros, reason = "errors of a start")]
pub mod guards;
pub mod input;
pub mod ladder;
pub mod orders;
pub mod parents;
pub mod plan;
pub mod positions;
#[expect(clippy::disallowed_macros, reason = "text of a file")]
pub mod preset;
pub mod pricing;
pub mod quotes;
#[expect(clippy::disallowed_macros, reason = "a refused parent is no order")]
pub mod risk;
pub mod scorecard;
#[expect(clippy::disallowed_macros, reason = "text of a file")]
pub mod sessions;
#[expect(clippy::disallowed_macros, reason = "errors of a start")]
pub mod setup;
mod stream;
mod touched;
pub mod trading;
mod window;

pub use engine::Engine;
pub use pricing::{MESSAGE_MAX, Pricing};
pub use setup::Setup;
pub use stream::BankStream;
pub use trading::{COMMAND_AGE_MAX_NS, RestoreError, Trading};
