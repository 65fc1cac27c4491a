//! Per venue: arbitration of lines, sequence, gaps, recovery, normalisation.
//!
//! A [`Feed`] takes packets as bytes with a time and answers with batches of normalised
//! [`touchline_types::Event`]s, in the venue's order, each batch from one packet. Venue words stay
//! in here (and in `wire`); what comes out is ours.
//!
//! # Never
//! Owns a socket, a clock or a thread; applies an event to a book; publishes; allocates after
//! start; logs.
//!
//! # Path
//! [`Feed::handle`] takes a packet and gives its batch; [`Feed::poll`] gives the batches that it made
//! deliverable, many when it closes a gap.
//!
//! # Tests
//! Unit tests beside each part; whole sessions with faults, compared with the truth and with a
//! slow reference, in `crates/touchline/tests`; fuzz target `mdp3_channel`.
#![forbid(unsafe_code)]

pub mod arbitration;
pub mod cme;
mod feed;
pub mod fix_md;
mod health;
mod request;

pub use feed::{Batch, BookRules, Feed, Output, SessionFeed};
pub use request::{Feedback, Request};
pub use touchline_types::ReceiveTime;
