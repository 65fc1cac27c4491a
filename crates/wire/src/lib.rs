//! Codecs: bytes to borrowed views, one module per protocol.
//!
//! Layouts of received messages, as types. A view is checked once, when it is made; afterwards its accessors cannot
//! fail. [`sbe`] is the run-time part of Simple Binary Encoding, [`mdp3`] the packets of CME MDP 3.0 and
//! their messages, generated from the templates that CME publishes. [`fix`] is FIX tag=value.
//!
//! # Never
//! Allocates, reads a clock, does I/O, or panics on input: `no_std` without `alloc` makes most of that provable. Uses
//! books, feeds, or our own events.
//!
//! # Path
//! The bytes of a packet enter at [`mdp3::Packet::parse`]; messages leave through [`mdp3::Packet::messages`] and
//! [`mdp3::Message::parse`]. The bytes of a FIX connection enter at [`fix::frame`] and leave as
//! [`fix::market_data::Entry`] or as fields; messages are written by [`fix::Encoder`].
//!
//! # Tests
//! Frames made by hand, right ones and hostile ones; every truncation, random bytes, and real captures where they are
//! at hand (`tests/wire/mdp3`). In `xtask`, every template is compared field by field with a slow decoder that
//! reads the schema itself. FIX (`tests/wire/fix`): every cut of a stream, fast against slow on random bytes, all reasons of a
//! Reject; fuzz target `fix_parse`.

#![forbid(unsafe_code)]
#![no_std]
pub mod sbe;

pub mod mdp3;

pub mod fix;
