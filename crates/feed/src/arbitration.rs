//! Arbitration of a venue's lines: each number once, in order, from whichever line is first.
//!
//! ```text
//!  packet ─► rule of the venue: same numbering? ─► window ─► next: processed at once
//!                                                    │  ▲
//!                    reorder buffer: waits behind a gap  └─ retransmission: requested, filled or given up
//! ```
//!
//! Numbers have 64 bits, a packet contains a [`Span`] of them, and any number of lines are equal. All venues use
//! [`Window`]. [`Arbitration`] adds a [`Restart`] rule, for venues whose packets name their session. CME's packets do
//! not: a separate state machine confirms contradicting packets above the same window (`cme/arbiter.rs`).

mod copy_hash;
mod lines;
mod reorder_buffer;
mod span;
mod window;

pub use copy_hash::CopyHash;
pub use lines::{Arbitration, Offered, Restart, Step, Verdict};
pub use reorder_buffer::{BufferedPacket, ReorderBuffer};
pub use span::Span;
pub use window::{Retransmission, Wait, Window, is_over};
