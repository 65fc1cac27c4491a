//! Exchange simulators, fault injection, reference models: everything that the other rooms are tested against.
//!
//! # Never
//! Is a dependency of a library; only of tests, of benchmarks and of the command. Shares code with what it judges: it
//! writes bytes from the specification tables, reads them with plain offsets, and keeps books as plain lists. One exception:
//! FIX counterparties ([`fix`]) have the session of `feed`, and testers with scenarios judge that.
//!
//! # Path
//! ```text
//! seed ──► cme::generate ──► packets ──► fault::deliver ──► arrivals on two lines ──► capture::write_pcap
//!                │                                                  │
//!                └──► expected ◄──────── compare ─────────── reference::cme (or the system under test)
//!
//! time ──► cme::live::Live ──► packets ──► fault::stream ──► two lines, as they are sent
//!                │                  └────► cme::replay_server
//!                └──► states of books ◄── cme::expected_books::Checker the books of a subscriber
//! ```
//!
//! # Tests
//! The reference handler against sessions and truth of an independent generator (where those are at
//! hand), and against this generator, clean and under every fault; with a defect put in, each comparison must fail. The
//! encoder and the plain offsets against the decoders that are generated from the templates. Sessions of seeds are pinned
//! (`tests/lab/pinned_sessions.rs`); faults that stream do what they count; the replay server has a tiny client, the checker
//! false books.

#![deny(unsafe_code)]

pub mod bench;
pub mod capture;
pub mod claim;
pub mod cme;
pub mod deribit;
pub mod fault;
pub mod fix;
pub mod frozen;
mod login_port;
pub mod orders;
pub mod pacing;
pub mod payload;
pub mod picture;
pub mod random;
pub mod reference;
pub mod stream_verifier;
pub mod updates;
