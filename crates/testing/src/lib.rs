//! What the tests of several crates share.
//!
//! # Never
//! Is a dependency of a library; depends on another of our crates, which may use this for its own tests.
//!
//! # Path
//! None.
//!
//! # Tests
//! Those that use it.

#[cfg(feature = "certificates")]
pub mod issuer;
mod skipped;

pub use skipped::{captures, schemas, skip};
