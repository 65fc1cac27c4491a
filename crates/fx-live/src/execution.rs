//! FX execution: banks' buses and the desk's commands in, orders out over FIX, everything in the journal first.
//!
//! ```text
//! banks' buses ─► source ─┐                       ┌─► journal ─► order sessions ─► banks
//! order sessions ─────────┼─► core (crate `fx`) ──┤
//! desk's rings ───────────┘                       └─► drop copy: a bus for screens and reports
//! ```
//!
//! # Never
//! Contains a rule of orders: these rules are in `touchline-fx`. Sends an order that is not in the journal. Sends a
//! message of an order session again. Makes an order on quotes while later quotes may be waiting.
//!
//! # Path
//! [`Trader::work`] is a round of the only hot thread: desk, order sessions, quotes, timers.
//!
//! # Tests
//! Records and recovery are tested beside their code; a simulation of the whole engine by seeds
//! (`src/trader/simulation.rs`) must find the mutants of its rules (`cargo xtask mutants simulation`);
//! `crates/touchline/tests/system` runs simulated banks, gateways and the command, kills the command while orders are
//! open, and compares positions with the banks' books.

mod active;
pub mod back_office;
pub mod config;
mod copied;
mod counters;
mod desk;
mod edge;
mod error;
mod numbers;
mod order_session;
mod recovery;
mod standby;
mod statistics;
mod trader;

pub use config::{Config, ConfigError};
pub use copied::Copied;
pub use counters::{AlarmCounters, BankCounters, Counters, StandbyCounters};
pub use recovery::{Recovered, RecoveryError, check_owner};
pub use standby::{Promotion, Standby, Step};
pub use statistics::HISTOGRAMS;
pub use trader::{Error, Incident, Path, Totals, Trader};
