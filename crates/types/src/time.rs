//! When something came in, by two clocks.

/// Receive time of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveTime {
    /// Its receive timestamp, nanoseconds since the Unix epoch, as published. The host's clock may be set, and two
    /// sockets may be polled in another order than their packets arrived in.
    pub wall_ns: u64,
    /// When it was polled, by a clock in nanoseconds that is never set: what waiting is measured by. A
    /// process that was stopped finds old packets, and nothing that waits has waited for it yet.
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
