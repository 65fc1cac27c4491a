//! Steps of the arbitrated stream.

use super::Packet;

/// One step of the arbitrated stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The stream begins with this sequence; `whole` if no packet was missed.
    Joined {
        /// First sequence.
        first: u32,
        /// The first sequence is 1, confirmed by its copy or by number 2.
        whole: bool,
    },
    /// Packets from `first` up to this sequence were missed or lost.
    Lost {
        /// First sequence.
        first: u32,
        /// Last sequence.
        last: u32,
    },
    /// Sequence reset.
    Restarted {
        /// First available sequence.
        first: u32,
        /// The first sequence is 1, and no packet of the epoch can belong to the old one.
        whole: bool,
        /// SendingTime of the first packet.
        sending_time: u64,
    },
    /// A packet processed so far may be forged, or its epoch may be over.
    Conflict {
        /// Newest processed sequence; 0 before the first of an epoch.
        newest: u32,
    },
    /// Next packet.
    Packet(Packet),
}

/// Sequence and sending time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Sequence.
    pub sequence: u64,
    /// SendingTime.
    pub sending_time: u64,
}
