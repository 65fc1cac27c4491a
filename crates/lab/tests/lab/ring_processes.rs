//! The broadcast ring between real processes over mapped files, some of which are killed.
//!
//! `KILLS` says how many die at random instants, `SEED` which instants. Every process holds what it
//! reads against what must have been sent.

mod bus;
mod kills;
mod player;
mod registered;
mod roles;
