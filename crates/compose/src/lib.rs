//! The live composite: reads the buses of banks' gateways and publishes the best price of each pair, with what a size costs and
//! which banks have it, as a bus of its own.
//!
//! # Never
//! A rule of quotes: those are of `touchline-fx`, which is the same in a replay. A socket. A quote of a bus that is not known to
//! be current. A book that is live without a live bank.
//!
//! # Path
//! [`Composer::work`] is a round: `source` turns what a bus says into inputs of the core, `output` what the core says into
//! updates. Everything that waits in the buses is taken before the bus is said to be current.
//!
//! # Tests
//! A composer over real buses in a folder of its own: joining in any order, publishers that die, stop and come back, overruns; the
//! recording of each run replayed, with the same composites.

#![forbid(unsafe_code)]

mod composer;
pub mod config;
mod counters;
mod output;
mod recorder;
mod source;
mod statistics;
mod time;

pub use composer::{Composer, Error, Taken};
pub use config::{Config, ConfigError};
pub use counters::Counters;
pub use output::{Cause, Output};
pub use recorder::Recorder;
pub use statistics::{HISTOGRAMS, SCORES};
