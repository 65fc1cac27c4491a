//! Links: carriers of batches. Thin: they know lengths and connections, and nothing of what a batch says.

#[cfg(feature = "aeron")]
pub mod aeron;
pub mod memory;
pub mod tcp;

use crate::SenderCounters;
use crate::batch::Batch;
pub use tcp::SendEvent;

/// What a batch is for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of the stream: for every receiver.
    Stream,
    /// Of a round of refreshes: for receivers that lack something, where the link knows them.
    Refresh {
        /// The round begins with it.
        begins: bool,
        /// The round ends with it.
        ends: bool,
    },
}

/// The sending end.
pub trait SendLink {
    /// Hands over a batch; `false` if the link has no room now, and the same batch is to be handed over again later. Never waits.
    fn send(&mut self, batch: &Batch, kind: Kind) -> bool;

    /// Whether there is room for a refresh: one that would make live data wait is better sent later.
    fn has_room(&self) -> bool;

    /// Receivers that asked for a refresh since this was called last, those that have just come among them.
    fn asked(&mut self) -> u32;

    /// Connections, queues, requests: what is done beside sending. Returns how much work there was.
    fn work(&mut self, now_ns: u64) -> usize;

    /// Sets the counters that the link alone knows.
    fn count(&self, _counters: &mut SenderCounters) {}

    /// The next event of a receiver, for the log.
    fn event(&mut self) -> Option<SendEvent> {
        None
    }

    /// Reason why the link cannot go on, if there is one.
    fn failed(&mut self) -> Option<String> {
        None
    }
}

/// What a receiving link says beside batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The sender is there.
    Connected,
    /// The sender is gone, or could not be reached.
    Disconnected,
}

/// The receiving end.
pub trait ReceiveLink {
    /// Hands each batch that is there to `take`, some at a time; `take` says whether the link may go on, and one that may not
    /// starts its connection again. Never waits. Returns the number of batches, and what happened to the link.
    fn receive(
        &mut self,
        now_ns: u64,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> (usize, Option<LinkEvent>);

    /// Hands a request to the sender, if it can be reached.
    fn request(&mut self, head: &[u8]);

    /// Reason why the connection ended or cannot be made, once.
    fn last_error(&mut self) -> Option<String> {
        None
    }

    /// Batches of hosts that are not accepted, since this was called last.
    fn refused(&mut self) -> u64 {
        0
    }

    /// Reason why the link cannot go on, if there is one.
    fn failed(&mut self) -> Option<String> {
        None
    }
}
