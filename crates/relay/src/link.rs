//! Links: carriers of batches. They handle lengths and connections, and do not decode batches.

#[cfg(feature = "aeron")]
pub mod aeron;
mod event;
pub mod flow;
pub mod memory;
pub mod tcp;
mod window;

use crate::batch::Batch;
use crate::head::Head;
use crate::{ReceiverCounters, SenderCounters};
pub use event::{CarrierEvent, LinkEvent, Refusal, SendEvent};
pub use window::Change;

/// Kind of a batch, as far as a link distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Batch of the stream: for every receiver.
    Stream,
    /// Batch of a refresh round: for receivers that need it, if the link can address them.
    Refresh {
        /// First batch of the round.
        begins: bool,
        /// Last batch of the round.
        ends: bool,
    },
}

/// The sending end.
pub trait SendLink {
    /// Sends a batch; `false` if the link is full: the caller sends the same batch again later. Never waits.
    fn send(&mut self, batch: &Batch, kind: Kind) -> bool;

    /// Whether a refresh can be sent without delaying live data.
    fn has_room(&self) -> bool;

    /// Number of receivers that requested a refresh since the last call, including new ones.
    fn asked(&mut self) -> u32;

    /// Answers the probes that arrived before the bus was read to its end: `head` is that of an answer, without the probe's time.
    fn answer(&mut self, head: &Head);

    /// Handles connections, queues and requests. Returns the amount of work done.
    fn work(&mut self, now_ns: u64) -> usize;

    /// Sets the counters that only the link knows.
    fn count(&self, _counters: &mut SenderCounters) {}

    /// Next event of a receiver, for the log.
    fn event(&mut self) -> Option<SendEvent> {
        None
    }

    /// Next event of the carrier, for the log.
    fn carrier_event(&mut self) -> Option<CarrierEvent> {
        None
    }

    /// Reason why the link has failed, if it has.
    fn failed(&mut self) -> Option<String> {
        None
    }
}

/// The receiving end.
pub trait ReceiveLink {
    /// Passes received batches to `take`, a limited number per call. `take` returns whether the link may continue;
    /// otherwise the link reconnects. Never waits. Returns the number of batches, and the link's event.
    fn receive(
        &mut self,
        now_ns: u64,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> (usize, Option<LinkEvent>);

    /// Sends a request to the sender, if it is reachable.
    fn request(&mut self, head: &[u8]);

    /// Sends a probe to the sender, if it is reachable.
    fn probe(&mut self, head: &[u8]) {
        self.request(head);
    }

    /// Sends a report to the sender, on links whose sender does not know the positions of its receivers.
    fn report(&mut self, _head: &[u8]) {}

    /// Sets the counters that the link alone knows.
    fn count(&self, _counters: &mut ReceiverCounters) {}

    /// Reason why the connection ended or failed; returned once.
    fn last_error(&mut self) -> Option<String> {
        None
    }

    /// Next event of the carrier, for the log.
    fn carrier_event(&mut self) -> Option<CarrierEvent> {
        None
    }

    /// Batches of hosts that are not accepted, since the last call.
    fn refused(&mut self) -> u64 {
        0
    }

    /// Reason why the link has failed, if it has.
    fn failed(&mut self) -> Option<String> {
        None
    }
}
