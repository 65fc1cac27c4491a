//! Retransmission of packets that a feed awaits.

use crate::Pipeline;
use crate::host_time::Now;
use std::convert::Infallible;
use touchline_feed::Feed;
use touchline_transport::Publish;
use touchline_types::CounterInfo;

/// Retransmission: carries out [`touchline_feed::Request::Retransmit`] of a feed beside the path, by the venue's
/// protocol.
pub trait Retransmission<F: Feed> {
    /// Its counters.
    const TABLE: &'static [CounterInfo];

    /// Present values, in the order of [`Retransmission::TABLE`]; zeros without a client.
    fn counted(this: Option<&Self>) -> impl Iterator<Item = u64>;

    /// Does all work possible now; never waits.
    fn poll<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now);
}

/// For venues without retransmission.
impl<F: Feed> Retransmission<F> for Infallible {
    const TABLE: &'static [CounterInfo] = &[];

    fn counted(_: Option<&Infallible>) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn poll<P: Publish>(&mut self, _: &mut Pipeline<F, P>, _: Now) {
        match *self {}
    }
}
