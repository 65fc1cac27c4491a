//! FIX sessions, initiator and acceptor: bytes and time in, events and bytes out.
//!
//! [`Session`] keeps the sequence numbers of both sides, heartbeats, resends and resets, as FIX 4.4 volume 2 specifies.
//! Messages are stored in a [`Store`] before they are sent.
//!
//! ```text
//! bytes ──► handle ──────────► poll ──► Event::Application, LoggedOn, Gap, …
//! time  ──► handle_timeout              │
//! send, log_out ──► store ──► poll_transmit ──► bytes        disconnect_reason ──► the connection is to be closed
//! ```
//!
//! A session consists of parts with private fields and one invariant each, which do not depend on each other:
//!
//! ```text
//! session ─► framing ─► input                           bytes into messages
//!    ├─────► incoming ─► gap, logon, out_of_order       a message is accepted, queued or rejected
//!    └─────► link ─► sequencer ─► store                 what is written, stored and sent
//!               └──► phase, liveness, resend, output, clock
//! ```
//!
//! Source: FIX 4.4 with errata 20030618, volume 2, "Session protocol" and its test cases.

mod applications;
mod checks;
mod clock;
mod configured;
mod counters;
pub mod dictionary;
mod encode;
mod event;
mod evidence;
mod framing;
mod gap;
mod incoming;
mod input;
mod link;
mod liveness;
mod logon;
mod out_of_order;
mod outcome;
mod output;
mod parsed_header;
mod phase;
mod resend;
mod sequence_fault;
mod sequencer;
mod session;
mod settings;
mod store;

pub use applications::{Application, ApplicationId, Applications, ResendPolicy};
pub use configured::{extra_field, extra_fields, is_comp_id};
pub use counters::Counters;
pub use event::{DisconnectReason, Event, MessageTooLong, SendError};
pub use evidence::printed as printed_message;
pub use parsed_header::{Names, first_message, is_header};
pub use sequence_fault::SequenceFault;
pub use session::Session;
pub use settings::{Checks, Limits, Role, Settings};
pub use store::{Memory, Store, StoreError};
