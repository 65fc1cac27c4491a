//! The broadcast ring between real processes over mapped files, some of which are killed.
//!
//! `KILLS` is the number of kills at random instants, `SEED` chooses the instants. Every process compares the messages
//! that it reads with the messages that must have been sent.

mod bus;
mod kills;
mod player;
mod registered;
mod roles;
