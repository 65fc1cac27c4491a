//! Shared memory from outside, in one program. The models of loom are another, since they are built with other atomics.
//!
//! Payloads that describe themselves, and what verifies a stream of them, are the lab's, taken in as files: the lab itself
//! would be too much to build under Miri.

mod broadcast;
mod counters;
mod counters_appear;
mod last_value;
#[path = "../../../lab/src/payload.rs"]
mod payload;
#[path = "../../../lab/src/random.rs"]
#[allow(
    dead_code,
    reason = "these tests do not draw everything that can be drawn"
)]
mod random;
mod segment;
#[path = "../../../lab/src/stream_verifier.rs"]
#[allow(dead_code, reason = "other tests ask witnesses more than these do")]
mod stream_verifier;
