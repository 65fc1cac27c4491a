//! The bus: a named publication in shared memory, for every process on the host. It carries messages of
//! any kind, and knows none.
//!
//! ```text
//!  <root>/<bus>/lock           who writes it
//!               ring           every message, in order             shm::broadcast
//!               <table>        keyed latest values, any number     shm::last_value
//!               readers        who is waited for, if the bus is lossless
//!               cursors        how far they have read
//! ```
//!
//! [`Publication`] writes all of it. A message has a number and a position in the stream; a slot of a table
//! has the position behind the last change that it holds. So who joins reads the tables, then the ring
//! from its last join point, and skips what the tables hold already. [`Subscription`] hands out messages
//! as bytes.

mod damage;
mod files;
mod flow_control;
mod frame;
mod liveness;
mod publication;
mod read_retry;
mod removal;
mod settings;
mod subscription;
mod watch;

pub use damage::Damage;
pub(crate) use files::{CURSORS, Reading};
pub use files::{Error, TableReader, TableWriter};
pub use flow_control::FlowCounts;
pub use frame::Frame;
pub use liveness::Liveness;
pub use publication::{Publication, Staged};
pub(crate) use read_retry::ReadRetry;
pub use removal::remove;
pub use settings::{Layout, Lossless};
pub use subscription::{BusEvent, Message, Polled, Subscription};
pub use touchline_shm::broadcast::{Activity, BATCH_END as END_OF_BATCH, Flags};
pub use touchline_shm::last_value::{Found, Shape};
pub(crate) use touchline_shm::segment::SlotGuard;
pub use touchline_shm::segment::{Directory, Holder, Lock, Root, Sharing, Warning, WriterLock};
pub(crate) use watch::Watch;
