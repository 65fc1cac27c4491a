//! The bus: a named publication in shared memory, for every process on the host. It carries messages of any kind, and
//! interprets none.
//!
//! ```text
//!  <root>/<bus>/lock           lock of the writer
//!               ring           every message, in order             shm::broadcast
//!               <table>        keyed latest values, any number     shm::last_value
//!               readers        slots of registered readers, if the bus is lossless
//!               cursors        their positions
//!               places/        positions of those of other users
//! ```
//!
//! [`Publication`] writes all files. A message has a number and a position in the stream; a slot of a table has the
//! position after its last change. A reader that joins reads the tables, then the ring from its last join point, and
//! skips messages that the tables contain already. [`Subscription`] returns messages as bytes.

mod cursors;
mod damage;
mod error;
mod files;
mod flow_control;
mod frame;
mod liveness;
mod places;
mod publication;
mod read_retry;
mod registered;
mod removal;
mod settings;
mod subscription;
mod watch;

pub(crate) use cursors::open_cursors;
pub use damage::Damage;
pub use error::Error;
pub use files::{DROP_COPY_SCHEMA, FOREIGN_SCHEMA, TableReader, TableWriter, schema_of};
pub(crate) use files::{RING, Reading};
pub use flow_control::FlowCounts;
pub use frame::Frame;
pub use liveness::Liveness;
pub(crate) use places::{Place, lives, user_of};
pub use publication::{Publication, Staged};
pub(crate) use read_retry::ReadRetry;
pub use removal::remove;
pub use settings::{Layout, Lossless};
pub use subscription::{BusEvent, Message, Polled, Subscription};
pub use touchline_shm::broadcast::{Activity, BATCH_END as END_OF_BATCH, Flags};
pub use touchline_shm::last_value::{Found, Shape};
pub use touchline_shm::segment::{
    Build, Directory, Error as SegmentError, Holder, Lock, Root, Warning, WriterLock,
};
pub(crate) use watch::Watch;
