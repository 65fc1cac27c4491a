//! Aeron's C client and C media driver behind a small safe interface: reliable UDP, unicast and multicast, and IPC.
//!
//! Without the feature `aeron` the crate is empty, and Aeron is neither fetched nor compiled. With it the sources of Aeron
//! come from the package that `source/Cargo.lock` pins, and a C compiler builds them; see `docs/design/aeron.md`.
//!
//! Everything runs on the thread that calls: `Client::do_work` steps the media driver (if it is embedded), and the client.
//! A client, its publications and its subscriptions belong to one thread; a host has as many clients as it has threads.
//!
//! ```no_run
//! # #[cfg(feature = "aeron")]
//! # fn run() -> Result<(), touchline_aeron::Error> {
//! use touchline_aeron::{Client, Driver, DriverSettings, Refused};
//!
//! // One driver a process, stepped by this thread. Its folder is /dev/shm/touchline-aeron-gw1.
//! let driver = Driver::start(&DriverSettings::named("gw1"))?;
//! let client = Client::embedded(driver)?;
//! let channel = "aeron:udp?endpoint=127.0.0.1:40456";
//! let mut subscription = client.subscription(channel, 340)?;
//! let mut publication = client.exclusive_publication(channel, 340)?;
//! loop {
//!     client.do_work()?; // at least once per turn, and every few seconds in any case
//!     match publication.offer(b"message") {
//!         Ok(_position) => {}
//!         Err(Refused::Closed) => break, // the driver is gone: make a new client
//!         Err(_) => {}                   // no subscriber, or no room: the same message again in the next turn
//!     }
//!     subscription.poll(10, |fragment| {
//!         let _copied = fragment.bytes().to_vec(); // a handler copies and returns; a panic in it aborts the process
//!     })?;
//! }
//! client.linger(std::time::Duration::from_secs(5)); // lost datagrams of the tail are sent again
//! # Ok(())
//! # }
//! ```
//!
//! # Never
//! Knows a message, a book, a bus or a venue. Prints. Starts a thread, except where a driver with threads is asked for.
//! Waits longer than the timeout of its settings.
//!
//! # Path
//! Out: `ExclusivePublication::try_claim` or `ExclusivePublication::offer` writes into the log of a stream, and the next
//! `Client::do_work` sends it. In: `Client::do_work` receives datagrams, and `Subscription::poll` gives each message
//! to a closure, in order and without gaps. An open stream does not allocate.
//!
//! # Tests
//! `tests/aeron`, with the feature: streams over IPC, unicast and multicast on the loopback; back pressure; loss by Aeron's
//! own interceptors; a driver that dies; folders of other drivers; malformed channels.

// Without the feature the crate is empty.
#![cfg(feature = "aeron")]
#![allow(unsafe_code, reason = "Aeron's C interface")]

mod channel;
mod client;

mod counters;
mod driver;
mod error;
mod folder;
mod publication;
mod raw;
mod settings;
mod shared;
mod subscription;

pub use channel::Channel;
pub use client::{Client, Pending};
pub use counters::{Counter, CounterKind, SystemCounter};
pub use driver::{Driver, version};
pub use error::{Error, Refused};
pub use publication::{Claim, ExclusivePublication, Publication};
pub use settings::{ClientSettings, DATAGRAMS_PER_CALL_MAX, DriverSettings, Threading};
pub use subscription::{Fragment, Image, Subscription};
