//! Simulated Deribit: FIX 4.4 sessions, instruments, deep books and trades.
//!
//! ```text
//! seed ──► market ──► venue::next ──► Client::hear ──► session ──► way (faults) ──► bytes
//!             │                           ▲
//!             └──► truth                  └── Client::received ◄── Logon, x, V
//! ```
//!
//! A [`Client`] processes bytes without I/O; an [`Exchange`] adds the sockets. The session is the one that gateways use
//! (`touchline_session::fix`); the market, the password proof of the Logon and the messages are implemented in the lab
//! only. Source of the messages: Deribit's FIX API; the facts are in `docs/venues/deribit.md`.

mod client;
mod command;
mod credentials;
mod exchange;
pub mod expected_books;
pub mod fault;
pub mod market;
mod messages;
mod recording;
mod request;
mod test_transport;
mod venue;

pub use client::Client;
pub use command::Command;
pub use credentials::{CredentialError, Credentials, Proof, REFUSAL, base64};
pub use exchange::{Exchange, Served};
pub use recording::{Recording, Unplayable};
pub use venue::{Occurrence, Source, Totals, Venue};

/// TargetCompID (56) of every client.
pub const SERVER: &str = "DERIBITSERVER";
