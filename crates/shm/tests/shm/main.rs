//! Tests of shared memory in one program. The loom models are another one, since they are built with other atomics.
#![allow(unsafe_code, reason = "system calls of a test")]

mod broadcast;
mod counters;
mod counters_appear;
mod last_value;
mod segment;
