//! The path of a packet, on one screen.

use crate::anatomy::Marks;
use crate::counters::Counters;
use crate::stages::{Limits, Stages};
use touchline_book::{OrderBooks, PriceBooks};
use touchline_feed::{Action, Batch, Dialogue, Venue, When};
use touchline_net::clock::ticks;
use touchline_transport::Publish;
use touchline_types::Instrument;

/// One venue connection's path: feed, books, publisher, in this order, on the caller's thread.
#[derive(Debug)]
pub struct Pipeline<V, P> {
    venue: V,
    stages: Stages,
    publisher: P,
    batch: Batch,
}

impl<V: Venue, P: Publish> Pipeline<V, P> {
    /// All memory is taken here.
    pub fn new(venue: V, publisher: P, limits: Limits) -> Pipeline<V, P> {
        let batch = venue.batch();
        Pipeline {
            venue,
            stages: Stages::new(limits),
            publisher,
            batch,
        }
    }

    /// Takes a packet of a capture through. `polled` is the mark of the receive call, 0 without marks.
    #[inline]
    pub fn packet(&mut self, channel: V::Channel, payload: &[u8], receive_ns: u64, polled: u64) {
        self.packet_at(channel, payload, When::at(receive_ns), polled);
    }

    /// Takes a packet through. `polled` is the mark of the receive call, 0 without marks.
    #[inline]
    pub fn packet_at(&mut self, channel: V::Channel, payload: &[u8], when: When, polled: u64) {
        self.stages.stamps.polled = polled;
        self.venue.receive(channel, payload, when);
        self.run(payload);
    }

    /// Time passed without a packet.
    pub fn advance(&mut self, now_ns: u64) {
        self.advance_at(When::at(now_ns));
    }

    /// Time passed without a packet: the wall clock, and the clock of what waits.
    pub fn advance_at(&mut self, now: When) {
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
            stages,
            publisher,
            batch,
        } = self;
        while venue.next(payload, batch) {
            stages.stamps.packet = batch.headline;
            if stages.marks {
                stages.stamps.decoded = ticks();
            }
            stages.introduce(venue, publisher);
            for event in &batch.events {
                stages.event(event, venue, publisher);
            }
            publisher.commit();
        }
    }

    /// Publishes an order book whole, for those who joined late. `false` if it is not to be shown now:
    /// the venue is in the middle of an event, or the book is too long to be published beside the
    /// path (4,096 orders).
    pub fn refresh_orders(&mut self, instrument: Instrument) -> bool {
        let shown = self
            .stages
            .refresh_orders(instrument, &self.venue, &mut self.publisher);
        self.publisher.commit();
        shown
    }

    /// When the packet that went through last passed each stage.
    #[inline]
    pub fn marks(&self, polled: u64, done: u64, waited_ns: Option<u64>) -> Marks {
        Marks {
            polled,
            decoded: self.stages.stamps.decoded,
            applied: self.stages.stamps.applied,
            done,
            waited_ns,
        }
    }

    /// Whether updates carry marks; they do unless told otherwise.
    pub fn set_marks(&mut self, marks: bool) {
        self.stages.marks = marks;
    }

    /// The venue's feed.
    pub fn venue(&self) -> &V {
        &self.venue
    }

    /// The price books, as they are between two packets; an open event may be half in them.
    pub fn prices(&self) -> &PriceBooks {
        &self.stages.prices
    }

    /// The order books, likewise.
    pub fn orders(&self) -> &OrderBooks {
        &self.stages.orders
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.stages.counters
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

impl<V: Dialogue, P: Publish> Pipeline<V, P> {
    /// The connection to the venue is there.
    pub fn connected(&mut self, when: When) {
        self.venue.connected(when);
        self.run(&[]);
    }

    /// The connection to the venue is gone, or was never made.
    pub fn disconnected(&mut self, when: When) {
        self.venue.disconnected(when);
        self.run(&[]);
    }

    /// An orderly end of the connection is wanted.
    pub fn leave(&mut self, when: When) {
        self.venue.leave(when);
        self.run(&[]);
    }

    /// So many bytes of what the venue wants sent were sent.
    #[inline]
    pub fn sent(&mut self, bytes: usize, when: When) {
        self.venue.sent(bytes, when);
    }
}
