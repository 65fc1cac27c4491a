//! The path of a packet, on one screen.

use crate::counters::Counters;
use crate::latency_trace::LatencyTrace;
use crate::market_books::{Limits, MarketBooks};
use touchline_book::{OrderBooks, PriceBooks};
use touchline_feed::{Action, Batch, ReceiveTime, SessionFeed, Venue};
use touchline_net::clock::ticks;
use touchline_transport::Publish;
use touchline_types::Instrument;

/// One venue connection's path: feed, books, publisher, in this order, on the caller's thread.
#[derive(Debug)]
pub struct Pipeline<V, P> {
    venue: V,
    books: MarketBooks,
    publisher: P,
    batch: Batch,
}

impl<V: Venue, P: Publish> Pipeline<V, P> {
    /// All memory is taken here.
    pub fn new(venue: V, publisher: P, limits: Limits) -> Pipeline<V, P> {
        let batch = venue.batch();
        Pipeline {
            venue,
            books: MarketBooks::new(limits),
            publisher,
            batch,
        }
    }

    /// Takes a packet of a capture through. `polled` is the tick of the receive call, 0 without a trace.
    #[inline]
    pub fn packet(&mut self, channel: V::Channel, payload: &[u8], receive_ns: u64, polled: u64) {
        self.packet_at(channel, payload, ReceiveTime::at(receive_ns), polled);
    }

    /// Takes a packet through. `polled` is the tick of the receive call, 0 without a trace.
    #[inline]
    pub fn packet_at(
        &mut self,
        channel: V::Channel,
        payload: &[u8],
        time: ReceiveTime,
        polled: u64,
    ) {
        self.books.timestamps.polled = polled;
        self.venue.receive(channel, payload, time);
        self.run(payload);
    }

    /// Time passed without a packet.
    pub fn advance(&mut self, now_ns: u64) {
        self.advance_at(ReceiveTime::at(now_ns));
    }

    /// Time passed without a packet: the wall clock, and the clock of what waits.
    pub fn advance_at(&mut self, now: ReceiveTime) {
        self.venue.advance(now);
        self.run(&[]);
    }

    /// No packet will come any more.
    pub fn finish(&mut self) {
        self.venue.finish();
        self.run(&[]);
    }

    /// What is to be done outside of the path.
    pub fn action(&self) -> Option<Action> {
        self.venue.action()
    }

    /// The action came to nothing; none is wanted before `again_ns`.
    pub fn failed(&mut self, again_ns: u64) {
        self.venue.failed(again_ns);
        self.run(&[]);
    }

    /// The stages in order: events of one packet at a time, books, and out.
    #[inline]
    fn run(&mut self, payload: &[u8]) {
        let Pipeline {
            venue,
            books,
            publisher,
            batch,
        } = self;
        while venue.next(payload, batch) {
            books.timestamps.packet = batch.packet_info;
            if books.trace {
                books.timestamps.decoded = ticks();
            }
            books.announce_instruments(venue, publisher);
            for event in &batch.events {
                books.event(event, venue, publisher);
            }
            publisher.commit();
        }
    }

    /// Publishes an order book whole, for those who joined late. `false` if it is not to be shown now:
    /// the venue is in the middle of an event, or the book is too long to be published beside the
    /// path (4,096 orders).
    pub fn refresh_orders(&mut self, instrument: Instrument) -> bool {
        let shown = self
            .books
            .refresh_orders(instrument, &self.venue, &mut self.publisher);
        self.publisher.commit();
        shown
    }

    /// When the packet that went through last passed each stage.
    #[inline]
    pub fn latency_trace(&self, polled: u64, done: u64, waited_ns: Option<u64>) -> LatencyTrace {
        LatencyTrace {
            polled,
            decoded: self.books.timestamps.decoded,
            applied: self.books.timestamps.applied,
            done,
            waited_ns,
        }
    }

    /// Whether updates carry a latency trace; they do unless told otherwise.
    pub fn set_trace(&mut self, trace: bool) {
        self.books.trace = trace;
    }

    /// The venue's feed.
    pub fn venue(&self) -> &V {
        &self.venue
    }

    /// The price books, as they are between two packets; an open event may be half in them.
    pub fn prices(&self) -> &PriceBooks {
        &self.books.prices
    }

    /// The order books, likewise.
    pub fn orders(&self) -> &OrderBooks {
        &self.books.orders
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.books.counters
    }

    /// The publisher.
    pub fn publisher(&self) -> &P {
        &self.publisher
    }

    /// The publisher.
    pub fn publisher_mut(&mut self) -> &mut P {
        &mut self.publisher
    }
}

impl<V: SessionFeed, P: Publish> Pipeline<V, P> {
    /// The connection to the venue is there.
    pub fn connected(&mut self, time: ReceiveTime) {
        self.venue.connected(time);
        self.run(&[]);
    }

    /// The connection to the venue is gone, or was never made.
    pub fn disconnected(&mut self, time: ReceiveTime) {
        self.venue.disconnected(time);
        self.run(&[]);
    }

    /// The connection is to be logged out.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.venue.log_out(time);
        self.run(&[]);
    }

    /// So many bytes of what the venue wants sent were sent.
    #[inline]
    pub fn sent(&mut self, bytes: usize, time: ReceiveTime) {
        self.venue.sent(bytes, time);
    }
}
