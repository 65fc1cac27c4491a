//! Feeds of venues: arbitration of lines, sequence, gaps, recovery, normalisation.
//!
//! A [`Feed`] processes packets as bytes with a time and returns batches of normalised
//! [`touchline_types::Event`]s, in the venue's order, each batch from one packet. The venue's terms
//! are used only here and in `wire`; events use ours.
//!
//! # Never
//! Owns a socket, a clock or a thread; applies an event to a book; publishes; allocates after
//! start; logs.
//!
//! # Path
//! [`Feed::handle`] processes a packet and returns its batch; [`Feed::poll`] returns further deliverable batches,
//! several when a gap closes.
//!
//! # Tests
//! Unit tests beside each part; whole sessions with faults, compared with the expected books and
//! with a slow reference, in `crates/touchline/tests`; fuzz target `mdp3_channel`.

#![forbid(unsafe_code)]

pub mod arbitration;
pub mod cme;
mod feed;
pub mod fix_md;
pub mod fx_bank;
mod health;
mod quotes;
mod request;

pub use feed::{Batch, BookRules, DifferingCopy, Feed, Output, SessionFeed, Warning};
pub use quotes::QuoteBatch;
pub use request::{Feedback, Request};
pub use touchline_types::ReceiveTime;
