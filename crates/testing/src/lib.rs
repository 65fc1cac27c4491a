//! Code shared by tests, the lab and the load test.
//!
//! # Never
//! Is a dependency of a library, those two excepted; depends on another of our crates than `shm`, since these use this for their own tests.
//!
//! # Path
//! No message passes through this crate.
//!
//! # Tests
//! Covered by the tests that use it.

#![forbid(unsafe_code)]

pub mod built;
mod folder;
#[cfg(feature = "certificates")]
pub mod issuer;
pub mod payload;
mod port;
mod process;
pub mod random;
mod role;
mod skipped;
#[cfg(feature = "ring")]
pub mod stream_verifier;
mod until;

pub use folder::Folder;
pub use port::{free_address, free_port, free_ports};
pub use process::Process;
pub use role::{role, with_role};
pub use skipped::{captures, schemas, skip};
pub use until::{Condition, PATIENCE, until};
