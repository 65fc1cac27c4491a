//! What the tests of several crates share.
//!
//! # Never
//! Is a dependency of a library, the lab excepted; depends on another of our crates than `shm`, since these use this for their own tests.
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
pub mod random;
mod skipped;
#[cfg(feature = "ring")]
pub mod stream_verifier;

pub use skipped::{captures, schemas, skip};
