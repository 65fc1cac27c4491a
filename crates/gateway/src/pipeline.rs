//! The path of a packet, on one screen.

use crate::books::{Limits, MarketBooks};
use crate::counters::Counters;
use crate::incident::GapReport;
use crate::latency_trace::LatencyTrace;
use crate::published::{BookHealth, Noted, PublishedStates};
use touchline_book::{OrderBooks, PriceBooks};
use touchline_feed::{Batch, Feed, ReceiveTime, Request, SessionFeed};
use touchline_instruments::Instruments;
use touchline_transport::Publish;
use touchline_transport::clock::ticks;

/// One venue connection's path: feed, books, publisher, in this order, on the caller's thread.
#[derive(Debug)]
pub struct Pipeline<F, P> {
    feed: F,
    instruments: Instruments,
    books: MarketBooks,
    publisher: P,
    states: PublishedStates,
    batch: Batch,
}

impl<F: Feed, P: Publish> Pipeline<F, P> {
    /// All memory is taken here.
    pub fn new(mut feed: F, publisher: P, limits: Limits) -> Pipeline<F, P> {
        Pipeline {
            instruments: feed.instruments(),
            books: MarketBooks::new(limits, feed.book_rules()),
            publisher,
            states: PublishedStates::new(limits.instruments_max),
            batch: feed.batch(),
            feed,
        }
    }

    /// Takes a packet of a capture through. `polled` is the tick of the receive call, 0 without a trace.
    #[inline]
    pub fn packet(
        &mut self,
        source: F::Source,
        payload: &[u8],
        receive_ns: u64,
        polled: u64,
    ) -> bool {
        self.packet_at(source, payload, ReceiveTime::at(receive_ns), polled)
    }

    /// Takes a packet through, or a piece of a stream. `polled` is the tick of the receive call, 0 without a trace. Whether
    /// a packet was processed in its order: this one, or one that waited for it.
    #[inline]
    pub fn packet_at(
        &mut self,
        source: F::Source,
        mut bytes: &[u8],
        time: ReceiveTime,
        polled: u64,
    ) -> bool {
        self.books.timestamps.polled = polled;
        self.batch.delivered = 0;
        loop {
            let Pipeline {
                feed,
                instruments,
                batch,
                ..
            } = self;
            batch.events.clear();
            let taken = feed.handle(source, bytes, time, instruments, batch);
            self.apply();
            self.run();
            bytes = &bytes[taken..];
            if bytes.is_empty() || taken == 0 {
                return self.batch.delivered > 0;
            }
        }
    }

    /// Time passed without a packet.
    pub fn advance(&mut self, now_ns: u64) {
        self.advance_at(ReceiveTime::at(now_ns));
    }

    /// Time passed without a packet: the wall clock, and the clock of what waits. The feed is called when something is due.
    pub fn advance_at(&mut self, now: ReceiveTime) {
        let next_ns = self.feed.next_timeout();
        if next_ns.is_some_and(|next_ns| now.mono_ns >= next_ns) {
            self.feed.handle_timeout(now);
            self.run();
        }
    }

    /// No packet will come any more.
    pub fn finish(&mut self) {
        self.feed.finish();
        self.run();
    }

    /// What is to be done outside of the path.
    pub fn request(&self) -> Option<Request> {
        self.feed.request()
    }

    /// Whether the request that stood last was filled; told once.
    pub fn take_filled(&mut self) -> bool {
        self.feed.take_filled()
    }

    /// The request came to nothing; none is wanted before `again_ns`.
    pub fn request_failed(&mut self, again_ns: u64) {
        self.feed.request_failed(again_ns);
        self.run();
    }

    /// Takes everything through that is due without further input.
    #[inline]
    fn run(&mut self) {
        while self.feed.poll(&mut self.instruments, &mut self.batch) {
            self.apply();
        }
    }

    /// The stages in order: the events of one packet, books, out; then back what the feed must know of the books.
    #[inline]
    fn apply(&mut self) {
        let Pipeline {
            feed,
            instruments,
            books,
            publisher,
            states,
            batch,
        } = self;
        if batch.events.is_empty() {
            return;
        }
        books.timestamps.packet = batch.packet_info;
        if books.trace {
            books.timestamps.decoded = ticks();
        }
        let mut noted = Noted { states, publisher };
        books.apply(&batch.events, batch.event_open, instruments, &mut noted);
        let feedback = books.feedback();
        if !feedback.is_empty() {
            feed.feedback(feedback);
            feedback.clear();
        }
        noted.commit();
    }

    /// What was published of the books and the channel.
    pub fn states(&self) -> &PublishedStates {
        &self.states
    }

    /// Gaps since this was called last.
    pub fn take_gaps(&mut self) -> Option<GapReport> {
        self.books.gaps.take()
    }

    /// How the channel stands for subscribers.
    pub fn book_health(&self) -> BookHealth {
        let (known, is_defined) = (self.instruments.len(), self.feed.is_defined());
        self.states.book_health(known, is_defined)
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
    pub fn feed(&self) -> &F {
        &self.feed
    }

    /// All instruments.
    pub fn instruments(&self) -> &Instruments {
        &self.instruments
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

impl<F: SessionFeed, P: Publish> Pipeline<F, P> {
    /// The connection to the venue is there.
    pub fn connected(&mut self, time: ReceiveTime) {
        self.feed.connected(time);
        self.run();
    }

    /// The connection to the venue is gone, or was never made.
    pub fn disconnected(&mut self, time: ReceiveTime) {
        self.feed.disconnected(time);
        self.run();
    }

    /// The connection is to be logged out.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.feed.log_out(time);
        self.run();
    }

    /// So many bytes of what the venue wants sent were sent.
    #[inline]
    pub fn sent(&mut self, bytes: usize, time: ReceiveTime) {
        self.feed.sent(bytes, time);
    }
}
