//! Live: exchange, gateway and subscribers as processes, over real sockets.
//!
//! Goal: the promises R4, R5 and R14 where the kernel is in between. Method: the simulated exchange
//! sends a generated market over faulty lines, a gateway publishes it, subscribers join and leave at
//! any time. In the end every subscriber's books must equal the exchange's; whatever was called live
//! on the way must be a state that the exchange's books had, in order. A failure names its seed:
//! `SEED=n` runs that one, `SEEDS=n` runs so many. In network namespaces where that is allowed, with
//! a pair of virtual Ethernet devices between exchange and gateway.
//!
//! A program of its own: what is held against limits of time shares the machine with no other test.

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

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Loopback has one set of groups: one session at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
