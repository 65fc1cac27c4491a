//! The path of an input of which orders were sent.

use touchline_fx_events::stages::STAGES;

/// Times of an input of which orders were sent, from the message polled to the last byte handed to the kernel. Ticks of the
/// host's fine clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// The gateway received the quote, nanoseconds since 1970.
    pub receive_ns: u64,
    /// The engine has polled the message.
    pub began: u64,
    /// The last byte is in the kernel.
    pub ended: u64,
    /// Time in each [`touchline_fx_events::stages::Stage`].
    pub spent: [u64; STAGES],
    /// Orders that were sent.
    pub orders: u64,
}
