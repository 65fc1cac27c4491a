//! What carries out a feed's wish to have packets again.

use crate::Pipeline;
use crate::host_time::Now;
use std::convert::Infallible;
use touchline_feed::Feed;
use touchline_transport::Publish;
use touchline_types::CounterInfo;

/// Retransmission: carries out [`touchline_feed::Request::Retransmit`] of a feed beside the path, in the venue's way.
pub trait Retransmission<F: Feed> {
    /// What it counts.
    const TABLE: &'static [CounterInfo];

    /// What was counted so far, in the order of [`Retransmission::TABLE`]; zeros where nothing is asked for.
    fn counted(this: Option<&Self>) -> impl Iterator<Item = u64>;

    /// Does what can be done now, and never waits.
    fn poll<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now);
}

/// Of a venue that sends nothing again.
impl<F: Feed> Retransmission<F> for Infallible {
    const TABLE: &'static [CounterInfo] = &[];

    fn counted(_: Option<&Infallible>) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn poll<P: Publish>(&mut self, _: &mut Pipeline<F, P>, _: Now) {
        match *self {}
    }
}
