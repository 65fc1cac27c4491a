//! What tests, the lab and the load test share.
//!
//! # Never
//! Is a dependency of a library, those two excepted; depends on another of our crates than `shm`, since these use this for their own tests.
//!
//! # Path
//! None.
//!
//! # Tests
//! Those that use it.

pub mod built;
#[cfg(feature = "certificates")]
pub mod issuer;
pub mod payload;
mod port;
pub mod random;
mod skipped;
#[cfg(feature = "ring")]
pub mod stream_verifier;

pub use port::{free_address, free_port, free_ports};
pub use skipped::{captures, schemas, skip};
