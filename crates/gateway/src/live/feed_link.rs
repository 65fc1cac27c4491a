//! What connects the path to its venue.

use super::{Error, Pause};
use crate::host_time::{Clocks, Now};
use crate::incident::Incident;
use crate::pipeline::Pipeline;
use touchline_feed::Feed;
use touchline_net::udp::Totals;
use touchline_transport::Publish;
use touchline_types::CounterInfo;

/// Feed link: brings what the venue sends to the path, and carries out what the venue's feed wants done.
pub trait FeedLink {
    /// Whose.
    type Feed: Feed;

    /// What it counts beside what every gateway counts.
    const TABLES: &'static [&'static [CounterInfo]];

    /// Fields of a gap in the log: which lines lost it, and what recovers the books.
    const GAP_FIELDS: &'static [(&'static str, &'static str)];

    /// What was counted so far, in the order of [`FeedLink::TABLES`].
    fn counted(&self) -> impl Iterator<Item = u64>;

    /// Takes what was received through the path, at most one packet of it, and never waits.
    ///
    /// # Errors
    /// It cannot go on.
    fn receive<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<Self::Feed, P>,
        clocks: &Clocks,
    ) -> Result<Work, Error>;

    /// Does what is no packet: asks again, connects, sends. It never waits.
    fn control<P: Publish>(&mut self, pipeline: &mut Pipeline<Self::Feed, P>, now: Now);

    /// What became of the connection since this was called last; at most one a [`FeedLink::control`].
    fn take_incident(&mut self) -> Option<Incident> {
        None
    }

    /// Logs out of the venue, where there is a session; false if it is not over yet.
    fn log_out<P: Publish>(&mut self, _pipeline: &mut Pipeline<Self::Feed, P>, _now: Now) -> bool {
        true
    }

    /// Whether the path has taken everything that the venue sent during a pause of the duty cycle. Asked
    /// with each look until it has.
    fn is_caught_up(&mut self, pause: &Pause) -> bool;

    /// What happened at the sockets so far. May ask the kernel.
    fn tally(&mut self) -> Totals;
}

/// What a round of the loop had to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing was there.
    None,
    /// Something that is not measured: a copy, or what is not of the venue.
    Done,
    /// Something new went through the path.
    Packet {
        /// Ticks when it was polled.
        polled: u64,
        /// How long it had waited until then, if somebody stamped it before.
        waited_ns: Option<u64>,
    },
}
