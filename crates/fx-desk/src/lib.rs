//! The FX engine seen from outside: its record, folded into a ledger, and the rings of its clients. The engine (crate
//! `touchline-fx-live`) writes and reads the other side of each.
//!
//! # Never
//! Contains a rule of the engine, or writes files that the engine reads, except for commands.
//!
//! # Path
//! A [`Follower`] reads journal and drop copy, none of the entries twice; a [`ledger`] folds them into parents, orders, fills and positions.
//! A [`Client`] writes commands into its ring and reads their answers from the drop copy.
//!
//! # Tests
//! Beside their code. Live engines are in `crates/touchline/tests/system`.

#![forbid(unsafe_code)]

mod bus_names;
mod client;
mod drop_copy;
mod error;
mod follow_error;
mod follower;
mod kill_file;
pub mod ledger;
pub mod records;
mod ring;
#[cfg(any(test, feature = "testing"))]
pub mod sample;
mod tail;
mod words;

pub use bus_names::{ring_name, standby_bus};
pub use client::{Address, Answered, Client, Waits, kill, kill_while, name, new_name};
pub use drop_copy::{DropCopy, JOURNAL, note, noted};
pub use error::{Error, Refused};
pub use follow_error::FollowError;
pub use follower::{Follower, PublishedEntry};
pub use kill_file::{KillFile, write_kill};
pub use ring::DeskClient;
pub use tail::{Tail, happened};
pub use words::{lifetime, side, style};
