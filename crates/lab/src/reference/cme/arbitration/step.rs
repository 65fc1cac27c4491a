//! What arbitration says of the stream, step by step.

use super::Packet;

/// One step of the arbitrated stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The stream begins with this sequence; `whole` if nothing is missed.
    Joined {
        /// The first one.
        first: u32,
        /// It is 1, and its copy or number 2 says so.
        whole: bool,
    },
    /// Packets up to this sequence were missed or lost, from `first` on.
    Lost {
        /// The first one.
        first: u32,
        /// The last one.
        last: u32,
    },
    /// Numbering started again.
    Restarted {
        /// The first sequence that is there.
        first: u32,
        /// It is 1, and no packet of it could be of the old numbering.
        whole: bool,
        /// SendingTime of the first packet.
        sending_time: u64,
    },
    /// What was processed up to here may not be the venue's, or its numbering may be over.
    Conflict {
        /// The newest one processed; 0 before the first of a numbering.
        newest: u32,
    },
    /// The next packet.
    Packet(Packet),
}

/// A sequence and when it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// The sequence.
    pub sequence: u64,
    /// SendingTime.
    pub sending_time: u64,
}
