//! Publish and subscribe: a generic bus, market data on it, and counters files.
//!
//! [`bus`] carries messages of any kind through shared memory: numbered, with positions, keyed latest values, late join
//! and flow control. [`market`] is market data on it, or on any other carrier: [`Publish`] receives the gateway's
//! updates, [`Subscribe`] consumes them, [`Local`] is a publication inside one process, [`Mirror`] a subscriber that
//! keeps books from updates only. [`stats`] has counters files, which any process may use.
//!
//! # Never
//! Knows a feed, a venue or a socket; reads a gateway's books; publishes part of an event.
//!
//! # Path
//! [`Publish::publish`] takes each update, [`Publish::commit`] ends the batch of one packet;
//! [`Subscribe::update`] and [`Subscribe::batch_end`] are the reading side.
//!
//! # Tests
//! Sequence and fan-out here; in `crates/touchline/tests` a mirror's books are compared with the
//! gateway's after complete sessions.

#![forbid(unsafe_code)]

pub mod bus;
mod idle;
pub mod market;
pub mod shm;
pub mod stats;

pub use idle::{BackOff, Idle, Idler};
pub use market::{Envelope, Local, Mirror, Publish, Subscribe, SubscriptionEvent};
pub use touchline_shm::clock::{self, boot_ns};
pub use touchline_shm::memory;
