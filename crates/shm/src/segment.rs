//! Mapped files of a bus: access control, and behavior when a process dies.
//!
//! A bus is a directory `<root>/<bus name>`. Its one writer holds a [`WriterLock`]; under it, new
//! files are created as a [`Draft`] and appear to readers only when they are complete. Readers open
//! the files read-only. No cleanup is needed after a crash: locks end with their holders, and the
//! next start removes unfinished files.
//!
//! The protocols over [`Words`](crate::Words) define the content of the files.
//!
//! A process that forks without `exec` while it holds a lock, and dies, leaves the lock to the child. The lock stays held as long as
//! the child lives; the child releases no lock of its parent.
//!
//! A process that may write the directory may remove a name while its file is in use. Two rules prevent two writers
//! then: locks are also on the directory and on each written file, and the writer periodically checks that the names
//! still lead to its files ([`WriterLock::lost_name`], [`Mapping::is_replaced`]).

mod access;
mod build;
mod directory;
mod error;
mod fault;
mod flock;
mod guests;
mod holder;
mod length;
mod mapping;
mod name;
mod ofd;
mod slot_locks;
mod space;
mod users;
mod writer_lock;

pub use build::Build;
pub use directory::{Directory, GroupAccess, Root};
pub use error::Error;
pub use guests::{Guest, GuestFile, GuestLock, Guests, Pass};
pub use holder::Holder;
pub use length::Length;
pub use mapping::{Access, Draft, Lock, Look, Mapping, Options, Warning};
pub use slot_locks::{SlotGuard, SlotLocks};
pub use writer_lock::WriterLock;
