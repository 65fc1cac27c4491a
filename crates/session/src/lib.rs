//! Sessions with counterparties: FIX sessions of either role, their stores, and access control.
//!
//! [`fix::Session`] takes bytes and time and returns events and bytes; messages are kept in a [`fix::Store`], in memory
//! or in a file ([`file_store`]); [`xml`] reads descriptions of
//! counterparties. [`access_control`] contains the checks of an acceptor before a session starts.
//!
//! # Never
//! Owns a socket, a clock or a thread; interprets application messages; logs. Only [`file_store`] does I/O.
//!
//! # Path
//! Bytes of a counterparty enter [`fix::Session`] and leave it as application messages in order; outgoing messages are
//! stored before they leave as bytes.
//!
//! # Tests
//! Unit tests beside each part; scenario tests, pairs of sessions, damaged files and killed processes in
//! `tests/session`; QuickFIX/J as a counterparty in `xtask`; fuzz target `fix_session`.

#![forbid(unsafe_code)]

pub mod access_control;
mod failures;
pub mod file_store;
pub mod fix;
mod secret;
pub mod xml;

pub use failures::Failures;
pub use secret::Secret;
