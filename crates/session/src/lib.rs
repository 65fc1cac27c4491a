//! Sessions with counterparties: FIX sessions of either role, their stores, and access control.
//!
//! [`fix::Session`] takes bytes and time and gives events and bytes; messages live in a [`fix::Store`], in memory or in
//! a file ([`file_store`]). [`access_control`] is what an acceptor asks before it answers anybody.
//!
//! # Never
//! Owns a socket, a clock or a thread; knows what an application message means; logs. Only [`file_store`] does I/O.
//!
//! # Path
//! Bytes of a counterparty enter [`fix::Session`] and leave it as application messages in their order; what is to be
//! sent leaves as bytes that are stored before.
//!
//! # Tests
//! Unit tests beside each part; testers that follow scenarios, two sessions with each other, and files that are damaged
//! or whose process is killed in `tests/session`; QuickFIX/J as a counterparty in `xtask`; fuzz target `fix_session`.
#![forbid(unsafe_code)]

pub mod access_control;
pub mod file_store;
pub mod fix;
mod secret;

pub use secret::Secret;
