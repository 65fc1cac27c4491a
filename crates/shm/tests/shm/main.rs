//! Tests of shared memory in one program. The loom models are another one, since they are built with other atomics.
//!
//! The self-describing payloads and the stream verifier are files of the lab: the lab crate takes too long to build
//! under Miri.
#![allow(unsafe_code, reason = "system calls of a test")]

mod broadcast;
mod counters;
mod counters_appear;
mod last_value;
#[path = "../../../lab/src/payload.rs"]
mod payload;
#[path = "../../../lab/src/random.rs"]
#[allow(dead_code, reason = "these tests use a part of the generator")]
mod random;
mod segment;
#[path = "../../../lab/src/stream_verifier.rs"]
#[allow(dead_code, reason = "these tests use a part of the stream verifier")]
mod stream_verifier;
