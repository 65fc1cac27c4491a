//! Live tests: exchange, gateway and subscribers as processes, over real sockets.
//!
//! Goal: the properties R4, R5 and R14 with the kernel in between. Method: the simulated exchange sends a generated
//! market over faulty lines, a gateway publishes it, subscribers join and leave at any time. At the end every
//! subscriber's books must equal the exchange's; every book shown as live before must be a state of the exchange's
//! book, in order. A failure names its seed: `SEED=n` runs that one, `SEEDS=n` runs n of them. In network namespaces
//! where allowed, with a pair of virtual Ethernet devices between exchange and gateway. The commands of the documents run here as
//! well.
//!
//! A separate program: a session with time limits shares the machine with no other test. The others mostly wait
//! for processes and run in parallel.

mod docs;
mod expected_books;
mod hostile;
mod interface;
mod load;
mod log;
mod matrix;
mod namespaces;
mod others;
mod participants;
mod pauses;
mod processes;
mod raw;
mod relay;
#[path = "../system/command/relay/books.rs"]
mod relay_books;
mod relay_line;
mod resources;
mod soak;
mod stops;
mod taped;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Sessions, some of them with time limits.
static MACHINE: RwLock<()> = RwLock::new(());

/// Shares the machine with other sessions, each on its own multicast groups.
fn together() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Has the machine to itself: for sessions with time limits.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}
