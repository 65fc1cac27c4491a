//! Codecs: bytes to borrowed views, one module per protocol.
//!
//! **Is**: the layouts of what arrives, as types. A view is checked once, when it is made; afterwards its
//! accessors cannot fail. [`sbe`] is what Simple Binary Encoding needs at run time, [`mdp3`] the
//! messages and packets of CME MDP 3.0, generated from the templates that CME publishes.
//!
//! **Never**: allocates, reads a clock, does I/O, or panics on input; knows nothing of books, feeds or our own
//! event types. `no_std` without `alloc` makes most of this provable.
//!
//! **Path**: the bytes of a packet enter at [`mdp3::Packet::parse`]; messages leave through
//! [`mdp3::Packet::messages`] and [`mdp3::Message::parse`].
//!
//! **Tested** by frames made by hand (`tests/`), every truncation and random bytes, real captures where
//! they are at hand, and, in `xtask`, field by field against a slow decoder that reads the schema itself.

#![no_std]
#![forbid(unsafe_code)]

pub mod sbe;

pub mod mdp3;
