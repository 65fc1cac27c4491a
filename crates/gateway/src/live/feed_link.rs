//! Link between the path and its venue.

use super::liveness::Pause;
use super::tap::Tap;
use crate::host_time::{Clocks, Now};
use crate::incident::Incident;
use crate::pipeline::Pipeline;
use touchline_feed::Feed;
use touchline_net::udp::Totals;
use touchline_transport::Publish;
use touchline_transport::shm::Damage;
use touchline_types::CounterInfo;

/// Feed link: passes received data to the path, and carries out the requests of the venue's feed.
pub trait FeedLink {
    /// The venue's feed.
    type Feed: Feed;

    /// Its counters.
    const TABLES: &'static [&'static [CounterInfo]];

    /// Fields of a gap in the log: affected lines, and recovery action.
    const GAP_FIELDS: &'static [(&'static str, &'static str)];

    /// Present values, in the order of [`FeedLink::TABLES`].
    fn counted(&self) -> impl Iterator<Item = u64>;

    /// Takes received data through the path, at most one packet, without waiting.
    ///
    /// # Errors
    /// The link failed.
    fn receive<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<Self::Feed, P>,
        clocks: &Clocks,
    ) -> Result<Work, Error>;

    /// Does work other than receiving: requests, connects, sends. Never waits.
    fn control<P: Publish>(&mut self, pipeline: &mut Pipeline<Self::Feed, P>, now: Now);

    /// Incident of the connection since the last call. [`FeedLink::control`] adds at most two; the second is returned by the next
    /// call.
    fn take_incident(&mut self) -> Option<Incident> {
        None
    }

    /// Logs out of the venue if there is a session; false while it is not finished.
    fn log_out<P: Publish>(&mut self, _pipeline: &mut Pipeline<Self::Feed, P>, _now: Now) -> bool {
        true
    }

    /// Whether the path has processed everything that the venue sent during a pause of the duty cycle. Called with each
    /// timer until it has.
    fn is_caught_up(&mut self, pause: &Pause) -> bool;

    /// Copies the bytes that a connection receives; a link of packets has none.
    fn tap(&mut self, _tap: Tap) {}

    /// Totals of the sockets. May query the kernel.
    fn tally(&mut self) -> Totals;
}

/// Work of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// None.
    None,
    /// Unmeasured work: a duplicate, or data not from the venue.
    Done,
    /// A new packet went through the path.
    Packet {
        /// Ticks at the poll.
        polled: u64,
        /// Time between its timestamp and the poll, if it has a timestamp.
        waited_ns: Option<u64>,
        /// Whether its timestamp is later than that of every packet before it. Others may have been raised to the latest one, so
        /// that receive times do not step back between sockets: such a timestamp is not the packet's arrival time.
        is_latest: bool,
    },
}

/// Error that ends a gateway.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A socket failed.
    #[error(transparent)]
    Source(#[from] touchline_net::Error),
    /// The bus can no longer be written.
    #[error(transparent)]
    Bus(#[from] Damage),
}
