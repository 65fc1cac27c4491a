//! Links at work: buses, senders, receivers and real connections on the loopback.

mod core;
mod stage;
mod tcp;
mod tls;
