//! Publish and subscribe: how updates reach those who act on them.
//!
//! [`Publish`] is what the gateway hands updates to, [`Subscribe`] what takes them. Here stands the
//! in-process publication [`Local`]; the shared-memory bus and Aeron come behind the same two
//! traits. [`Mirror`] is a subscriber that keeps books of its own from nothing but updates.
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

mod idle;
mod local;
mod mirror;
pub mod shm;
mod traits;

pub use idle::{BackOff, Idle, Idler};
pub use local::Local;
pub use mirror::Mirror;
pub use touchline_shm::clock::boot_ns;
pub use traits::{Envelope, Publish, Subscribe, SubscriptionEvent};
