//! Receive times by two clocks.

/// Receive time of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveTime {
    /// Its receive timestamp, nanoseconds since the Unix epoch, as published. The host's clock may be set, and two
    /// sockets may be polled in another order than their packets arrived in.
    pub wall_ns: u64,
    /// Time of the poll, nanoseconds of a clock that is never set; timeouts use it. A
    /// process that was stopped reads old packets, for which no timeout has run yet.
    pub mono_ns: u64,
}

impl ReceiveTime {
    /// Both at once, as in a capture.
    pub fn at(ns: u64) -> ReceiveTime {
        ReceiveTime {
            wall_ns: ns,
            mono_ns: ns,
        }
    }
}
