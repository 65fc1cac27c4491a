//! Live: exchange, gateway and subscribers as processes, over real sockets.
//!
//! Goal: the promises R4, R5 and R14 where the kernel is in between. Method: the simulated exchange
//! sends a generated market over faulty lines, a gateway publishes it, subscribers join and leave at
//! any time. In the end every subscriber's books must equal the exchange's; whatever was called live
//! on the way must be a state that the exchange's books had, in order. A failure names its seed:
//! `SEED=n` runs that one, `SEEDS=n` runs so many. In network namespaces where that is allowed, with
//! a pair of virtual Ethernet devices between exchange and gateway.
//!
//! A program of its own: sessions that are held against limits of time share the machine with no other test. The others
//! wait for processes most of their time and run side by side.

mod cast;
mod expected_books;
mod hostile;
mod log;
mod matrix;
mod namespaces;
mod pauses;
mod resources;
mod soak;
mod stops;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Sessions of which some are held against limits of time.
static MACHINE: RwLock<()> = RwLock::new(());

/// Shares the machine with other sessions, each on its own multicast groups.
fn together() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Has the machine to itself: for sessions that are held against limits of time.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}
