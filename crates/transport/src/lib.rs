//! Publish and subscribe: how updates reach those who act on them. Two floors, and counters apart.
//!
//! [`bus`] carries messages of any kind through shared memory: numbered, with positions, keyed latest
//! values beside them, late join and flow control. [`market`] is market data on it, or on any other
//! carrier: [`Publish`] is what the gateway hands updates to, [`Subscribe`] what takes them, [`Local`]
//! the publication inside one process, [`Mirror`] a subscriber that keeps books from nothing but updates.
//! [`stats`] are counters files, which any process may have.
//!
//! # Never
//! Knows a feed, a venue or a socket; looks at a gateway's books; shows half an event.
//!
//! # Path
//! [`Publish::publish`] takes each update, [`Publish::commit`] ends the batch of one packet;
//! [`Subscribe::update`] and [`Subscribe::batch_end`] are the other side.
//!
//! # Tests
//! Sequence and fan-out here; in `crates/touchline/tests` a mirror's books are compared with the
//! gateway's after whole sessions.
#![forbid(unsafe_code)]

pub mod bus;
mod idle;
pub mod market;
pub mod shm;
pub mod stats;

pub use idle::{BackOff, Idle, Idler};
pub use market::{Envelope, Local, Mirror, Publish, Subscribe, SubscriptionEvent};
pub use touchline_shm::clock::{self, boot_ns};
