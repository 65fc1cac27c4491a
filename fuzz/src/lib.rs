//! Fuzz targets: one function each that takes any bytes and must neither panic, hang, nor grow.
//!
//! A target also checks properties beyond "no panic": decoded values print, and bytes read in pieces give the same
//! result as bytes read at once. [`TARGETS`] is the list; [`exercise`] runs a target over its seeds and their mutations
//! in plain Rust; the program `libfuzzer` lets coverage choose the inputs (`cargo xtask fuzz`).
//!
//! # Never
//! Part of the shipped product. A target depends only on its bytes: no clock, no state between runs.
//!
//! # Path
//! Bytes enter at [`Target::run`]; nothing leaves but a panic.
//!
//! # Tests
//! `tests/targets.rs` replays every target over its seeds, and shows with [`MUST_FAIL`] that a fault would be found.

mod cme_replay;
mod config;
mod exercise;
mod fix_parse;
mod fix_session;
mod fx_events;
mod fx_session;
mod journal;
mod mdp3_channel;
mod must_fail;
mod native_message;
mod pcap_reader;
mod relay;
mod ring_reader;
mod sbe_mdp3_packet;
mod schema_compiler;
pub mod seeds;

pub use exercise::{Failure, exercise};
pub use must_fail::MUST_FAIL;

/// Every target, by layer.
pub const TARGETS: &[Target] = &[
    native_message::TARGET,
    sbe_mdp3_packet::TARGET,
    fix_parse::TARGET,
    pcap_reader::TARGET,
    ring_reader::TARGET,
    journal::TARGET,
    mdp3_channel::TARGET,
    cme_replay::TARGET,
    fix_session::TARGET,
    fx_events::TARGET,
    fx_session::TARGET,
    config::TARGET,
    relay::TARGET,
    schema_compiler::TARGET,
];

/// A fuzz target: code that reads untrusted bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the target on the command line.
    pub name: &'static str,
    /// Properties of the target, in one line.
    pub about: &'static str,
    /// Takes any bytes; panics when a property does not hold.
    pub run: fn(&[u8]),
    /// Inputs to start from. More of them, from real captures, when these are at hand.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// The target of that name; [`MUST_FAIL`] has one too.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS
        .iter()
        .chain([&MUST_FAIL])
        .find(|target| target.name == name)
}
