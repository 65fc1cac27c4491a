//! Link to a multicast venue: sockets, and retransmission of lost packets.

use super::feed_link::{FeedLink, Work};
use super::{Error, Pause};
use crate::host_time::{Clocks, Now};
use crate::incident::{CopiesReport, Incident};
use crate::latency_trace::LatencyTrace;
use crate::pipeline::Pipeline;
use crate::retransmission::Retransmission;
use crate::routes::Routes;
use touchline_feed::Feed;
use touchline_net::udp::Totals;
use touchline_net::{PacketSource, Received};
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_types::CounterInfo;

/// Calls in a row that only refused packets, before a round counts as idle.
const REFUSED_MAX: u32 = 64;

/// Sockets `S` of one channel of any venue's feed, and its retransmission client.
#[derive(Debug)]
pub struct Multicast<S, F: Feed, R> {
    source: S,
    routes: Routes<F::Source>,
    retransmission: Option<R>,
    counters: MulticastCounters,
    /// Latest receive timestamp.
    latest_ns: u64,
    /// Calls in a row that only refused packets.
    refused: u32,
    /// Packets delivered in sequence on arrival.
    delivered: u64,
    /// Their number when the sockets were found empty after a pause.
    drained_at: Option<u64>,
    /// Packets whose bytes differ from those of another copy, since the last incident.
    differing: Option<CopiesReport>,
}

touchline_types::counters! {
    /// Counters of a channel's sockets.
    pub struct MulticastCounters {
        packets_unrouted: "packets" = "Packets to a group and port that the channel does not have.",
    }
}

impl<S: PacketSource, F: Feed, R: Retransmission<F>> Multicast<S, F, R> {
    /// A link that has received nothing yet. The pipeline must know the limits of `retransmission`.
    pub fn new(
        source: S,
        routes: Routes<F::Source>,
        retransmission: Option<R>,
    ) -> Multicast<S, F, R> {
        Multicast {
            source,
            routes,
            retransmission,
            counters: MulticastCounters::default(),
            latest_ns: 0,
            refused: 0,
            delivered: 0,
            drained_at: None,
            differing: None,
        }
    }
}

impl<S: PacketSource, F: Feed, R: Retransmission<F>> FeedLink for Multicast<S, F, R> {
    type Feed = F;

    const TABLES: &'static [&'static [CounterInfo]] = &[MulticastCounters::TABLE, R::TABLE];

    const GAP_FIELDS: &'static [(&'static str, &'static str)] =
        &[("line", "both"), ("action", "snapshot")];

    fn counted(&self) -> impl Iterator<Item = u64> {
        let asked = R::counted(self.retransmission.as_ref());
        self.counters.counts().chain(asked)
    }

    #[inline]
    fn receive<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<F, P>,
        clocks: &Clocks,
    ) -> Result<Work, Error> {
        let packet = match self.source.receive()? {
            Received::Packet(packet) => packet,
            // More packets may wait, so the call is not idle; but a flood of unknown sources does not stop the timeouts.
            Received::Refused if self.refused < REFUSED_MAX => {
                self.refused += 1;
                return Ok(Work::Done);
            }
            Received::Refused | Received::Nothing | Received::End => {
                self.refused = 0;
                return Ok(Work::None);
            }
        };
        self.refused = 0;
        let polled = ticks();
        let is_latest = packet.receive_ns > self.latest_ns;
        self.latest_ns = packet.receive_ns;
        let Some(route) = self.routes.find(packet.destination) else {
            self.counters.packets_unrouted += 1;
            return Ok(Work::Done);
        };
        let time = clocks.receive_time(packet.receive_ns);
        let is_processed = pipeline.packet_at(route, packet.payload, time, polled);
        if let Some(copy) = pipeline.take_differing() {
            self.differing = Some(CopiesReport::after(self.differing, copy, packet.source));
        }
        if !is_processed {
            return Ok(Work::Done);
        }
        self.delivered += 1;
        let polled_ns = clocks.wall_ns(polled);
        let waited_ns = LatencyTrace::waited_ns(packet.timestamp, packet.receive_ns, polled_ns);
        Ok(Work::Packet {
            polled,
            waited_ns,
            is_latest,
        })
    }

    /// Requests awaited packets, and takes their answers. Keeps the groups joined.
    fn control<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now) {
        self.source.look_after();
        if let Some(retransmission) = &mut self.retransmission {
            retransmission.poll(pipeline, now);
        }
    }

    fn take_incident(&mut self) -> Option<Incident> {
        self.differing.take().map(Incident::CopiesDiffer)
    }

    /// Whether the backlog is processed, and either no packet was dropped meanwhile, or the incremental feed has been
    /// received in sequence since.
    fn is_caught_up(&mut self, pause: &Pause) -> bool {
        if !pause.is_drained {
            self.drained_at = None;
            return false;
        }
        let drained_at = *self.drained_at.get_or_insert(self.delivered);
        self.delivered > drained_at || self.source.tally().dropped_kernel == pause.dropped
    }

    fn tally(&mut self) -> Totals {
        self.source.tally()
    }
}
