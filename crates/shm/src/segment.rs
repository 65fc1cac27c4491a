//! The mapped files of a bus: access, and behavior when a process dies.
//!
//! A bus is a directory `<root>/<bus name>`. Its one writer holds a [`WriterLock`]; under it, new
//! files are made as a [`Draft`] and appear to readers only when they are complete. Readers open
//! what stands there, read-only. Nothing here needs cleaning up after a crash: locks die with their
//! holders, and the next start removes what a killed one left.
//!
//! What the files contain is the business of the protocols over [`Words`](crate::Words).
//!
//! A process that forks without `exec` while it holds a lock, and dies, leaves the lock to the child.
//!
//! A process that may write the directory may remove a name while its file is in use. Two rules prevent two writers
//! then: locks are also on the directory and on each written file, so that they hold whatever is removed, and the
//! writer checks now and then whether the names still lead to its files ([`WriterLock::lost_name`],
//! [`Mapping::is_replaced`]).

mod directory;
mod error;
mod fault;
mod flock;
mod mapping;
mod name;
mod ofd;
mod slot_locks;
mod space;
mod writer_lock;

pub use directory::{Directory, Root, Sharing};
pub use error::Error;
pub use mapping::{Access, Draft, Lock, Mapping, Options, Warning};
pub use slot_locks::{SlotGuard, SlotLocks};
pub use writer_lock::{Holder, WriterLock};
