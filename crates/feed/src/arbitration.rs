//! Arbitration of a venue's lines: each number once, in order, from whichever line is first.
//!
//! ```text
//!  packet ─► rule of the venue: same numbering? ─► window ─► next: processed at once
//!                                                    │  ▲
//!                    reorder buffer: waits behind a gap  └─ retransmission: requested, filled or given up
//! ```
//!
//! Numbers have 64 bits, a packet holds a [`Span`] of them, and lines are equal: any number of them. [`Window`] is what
//! every venue shares. [`Arbitration`] puts a [`Restart`] rule before it, for venues whose packets name their session.
//! CME's packets do not: what is believed of them is a machine of its own above the same window (`cme/arbiter.rs`).

mod lines;
mod reorder_buffer;
mod span;
mod window;

pub use lines::{Arbitration, Offered, Restart, Step, Verdict};
pub use reorder_buffer::{BufferedPacket, ReorderBuffer};
pub use span::Span;
pub use window::{Retransmission, Wait, Window, is_over};
