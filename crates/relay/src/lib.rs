//! Relay: a bus on another host. Bus to link to bus: the sending side reads a bus and sends its messages in numbered
//! batches, the receiving side publishes them on a bus of its host, where readers find the same books.
//!
//! # Never
//! Knows a venue; waits for a receiver; makes a gateway wait. A relay that is too slow is overrun on the bus, as any reader.
//!
//! # Path
//! ```text
//! bus ─► Subscriber ─► Sender ─► SendLink ══► ReceiveLink ─► Receiver ─► Publisher ─► bus
//!        item          batch     TCP, TLS     batch          update
//! ```
//! [`Sender`] and [`Receiver`] have no I/O, clock or thread: bytes and time are arguments. [`link`] has the carriers.
//!
//! # Tests
//! `tests/relay`: sender, lossy link and receiver in one thread, by seed: books compared after whole sessions with loss, joins and
//! restarts; the same over TCP. The harness is tested with a receiver that skips the check of numbers. Fuzz target `relay`.

#![forbid(unsafe_code)]

pub mod batch;
pub mod config;
mod counters;
mod head;
pub mod link;
mod receiver;
pub mod run;
mod sender;
pub mod start;

pub use counters::{ReceiverCounters, SenderCounters};
pub use head::{
    BadHead, BadSource, Epoch, HEAD_BYTES, HOPS_MAX, Head, HeadFlags, MAGIC, Source, VERSION,
};
pub use receiver::{Receiver, ReceiverSettings, Taken};
pub use sender::{Cyclic, Now, Sender, SenderSettings};
