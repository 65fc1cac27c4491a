//! Exchange simulators, fault injection and reference models for the tests of the other crates.
//!
//! # Never
//! Is a dependency of a library; only of tests, of benchmarks and of the command. Shares code with the code under
//! test: it writes bytes from the specification tables, reads them at plain offsets, and keeps books as plain lists.
//! Two exceptions: FIX counterparties ([`fix`]) use the session of `session`, which testers with scenarios check, and a
//! [`market`] has the books of `book`, for tests of the stages behind them.
//!
//! # Path
//! ```text
//! seed ──► cme::generate ──► packets ──► fault::deliver ──► arrivals on two lines ──► capture::write_pcap
//!                │                                                  │
//!                └──► expected ◄──────── compare ─────────── reference::cme (or the system under test)
//!
//! datagrams ──► forwarder::Forwarder (the faults of fault::stream, both directions) ──► datagrams
//!
//! time ──► cme::live::Live ──► packets ──► fault::stream ──► two lines, as they are sent
//!                │                  └────► cme::replay_server
//!                └──► states of books ◄── cme::expected_books::Checker the books of a subscriber
//! ```
//!
//! # Tests
//! The reference handler against sessions and expected books of an independent generator (where available), and
//! against this generator, without faults and under every fault; with an injected defect each comparison must fail. The
//! encoder and the plain offsets against the decoders generated from the templates. Sessions of seeds are pinned
//! (`tests/lab/pinned_sessions.rs`). Fault streams are compared with their counts, the replay server is tested with a
//! small client, the checker with wrong books.
//! false books.

#![deny(unsafe_code)]

pub mod bank;
pub mod bench;
pub mod capture;
pub mod claim;
pub mod cme;
pub mod deribit;
pub mod fault;
pub mod fix;
pub mod forwarder;
pub mod frozen;
mod lines;
mod login_port;
pub mod market;
pub mod pacing;
pub mod picture;
pub mod quotes;
pub mod reference;
pub mod updates;

pub use touchline_testing::{free_port, random};
