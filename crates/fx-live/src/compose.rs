//! The live composite: reads the buses of banks' gateways and publishes the best prices of each pair, the cost of
//! configured sizes, and the banks at the best, on a bus of its own.
//!
//! # Never
//! Contains rules of quotes: those are in `touchline-fx`, which a replay uses as well. Opens a socket. Uses a quote of
//! a bus that may not be current. Publishes a live book without a live bank.
//!
//! # Path
//! [`Composer::work`] is a round: `source` converts messages of a bus into inputs of the core, `output` converts the
//! result into updates. All pending messages are read before the bus is declared current.
//!
//! # Tests
//! A composer over real buses in a folder of its own: joins in any order, publishers that die, stop and return,
//! overruns; the recording of each run is replayed, with the same composites.

mod composer;
pub mod config;
mod counters;
mod incident;
mod output;
mod recorder;
mod source;
mod statistics;
mod time;

pub use composer::{Composer, Error, Taken};
pub use config::{BankSource, Config};
pub use counters::{BankCounters, Counters, ScoreCounters, labelled};
pub use incident::{Incident, KindRefused};
pub use output::{Cause, Output};
pub use recorder::LineWriter;
pub use source::{CLOSED_UNTIL, Source, Tell};
pub use statistics::HISTOGRAMS;
pub use time::{HostClock, InputTime};
