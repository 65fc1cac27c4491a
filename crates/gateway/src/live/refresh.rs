//! Order books for those who joined late.
//!
//! A price book has an image that a late joiner takes; an order book has none, it can be of any
//! length. While the channel is quiet each is published whole now and then, in turn.

use crate::Pipeline;
use touchline_feed::Feed;
use touchline_transport::Publish;
use touchline_types::Instrument;

/// Whose turn it is.
#[derive(Debug, Default)]
pub struct OrderRefresh {
    next: usize,
}

impl OrderRefresh {
    /// Publishes the next order book, if there are any; says whether it did.
    pub fn step<F: Feed, P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>) -> bool {
        let known = pipeline.instruments().len();
        if !pipeline.feed().orders_seen() || known == 0 {
            return false;
        }
        self.next = (self.next + 1) % known;
        pipeline.refresh_orders(Instrument(self.next as u32))
    }
}
