//! FIX sessions, initiator and acceptor: bytes and time in, events and bytes out.
//!
//! [`Session`] keeps the numbers of both sides, heartbeats, resends and resets, as FIX 4.4 volume 2 has
//! it. Messages live in a [`Store`]; what is sent was stored before.
//!
//! ```text
//! bytes ──► room/received ──► next ──► Event::Application, LoggedOn, …
//! time  ──► advance                    │
//! send, logout ──► store ──► outgoing ──► bytes        closing ──► the connection is to be closed
//! ```
//!
//! Source: FIX 4.4 with errata 20030618, volume 2, "Session protocol" and its test cases.

mod core;
mod counters;
pub mod dictionary;
mod event;
mod framing;
mod incoming;
mod input;
mod logon;
mod out_of_order;
mod outgoing;
mod output;
mod parsed_header;
mod resend;
mod session;
mod settings;
mod store;
mod timers;

pub use counters::Counters;
pub use event::{DisconnectReason, Event, SendError};
pub use parsed_header::{Names, first_message, is_header};
pub use session::Session;
pub use settings::{Checks, Limits, Role, Settings};
pub use store::{Memory, Store, StoreError};
