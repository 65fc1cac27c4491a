//! The live processes of FX: a composer of banks' prices, and a trading engine.
//!
//! # Never
//! Contains a rule of quotes or of orders: those are in `touchline-fx`, which a replay uses as well.
//!
//! # Path
//! [`compose`] reads the buses of the banks' gateways and publishes composites on a bus of its own. [`execution`] reads the same buses
//! and the commands of the desk, and sends orders to the banks.
//!
//! # Tests
//! Each module names its own.

#![forbid(unsafe_code)]

pub mod compose;
mod days;
pub mod execution;
