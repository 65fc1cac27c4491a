//! Buses of their own, published by hand, and what a client makes of them.

mod joining;
mod losing;
mod random;
mod refused;
mod restarting;
mod several;
mod snapshots;
mod stage;
#[cfg(feature = "async")]
mod streaming;
