//! Running links: buses, senders, receivers and real connections on the loopback.

#[cfg(feature = "aeron")]
mod aeron;
#[cfg(feature = "aeron")]
mod aeron_faults;
mod buses;
mod core;
mod origin;
mod refreshes;
mod silence;
mod tcp;
mod tls;
