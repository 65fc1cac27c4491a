//! The path of a packet.

use crate::books::{Limits, MarketBooks};
use crate::counters::Counters;
use crate::incident::GapReport;
use crate::latency_trace::LatencyTrace;
use crate::recent::Recent;
use touchline_book::{OrderBooks, PriceBooks};
use touchline_feed::{Batch, DifferingCopy, Feed, ReceiveTime, Request, SessionFeed, Warning};
use touchline_instruments::Instruments;
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_transport::market::{BookHealth, Noted, PublishedStates};

/// Path of one venue connection: feed, books, publisher, in this order, on the caller's thread.
#[derive(Debug)]
pub struct Pipeline<F, P> {
    feed: F,
    instruments: Instruments,
    books: MarketBooks,
    publisher: P,
    states: PublishedStates,
    batch: Batch,
    /// Instruments whose data is kept in the caches, if any is.
    recent: Option<Recent>,
}

impl<F: Feed, P: Publish> Pipeline<F, P> {
    /// Allocates all memory.
    pub fn new(mut feed: F, publisher: P, limits: Limits) -> Pipeline<F, P> {
        Pipeline {
            instruments: feed.instruments(),
            books: MarketBooks::new(limits, feed.book_rules()),
            publisher,
            states: PublishedStates::new(limits.instruments_max),
            batch: feed.batch(),
            recent: None,
            feed,
        }
    }

    /// Processes a packet of a capture. `polled` is the tick of the receive call, 0 without a trace.
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

    /// Processes a packet or a part of a stream. `polled` is the tick of the receive call, 0 without a trace. Returns
    /// whether a packet was processed in sequence: this one, or one that waited for it.
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
            batch.quotes.clear();
            let taken = feed.handle(source, bytes, time, instruments, batch);
            assert!(
                taken <= bytes.len(),
                "a feed takes at most the bytes that it is given"
            );
            self.apply();
            self.run();
            bytes = &bytes[taken..];
            if bytes.is_empty() || taken == 0 {
                return self.batch.delivered > 0;
            }
        }
    }

    /// Lets the feed add events of its own, without a packet.
    pub fn without_packet<R>(
        &mut self,
        act: impl FnOnce(&mut F, &mut Instruments, &mut Batch) -> R,
    ) -> R {
        self.batch.events.clear();
        self.batch.quotes.clear();
        let result = act(&mut self.feed, &mut self.instruments, &mut self.batch);
        self.apply();
        self.run();
        result
    }

    /// Advances the time without a packet.
    pub fn advance(&mut self, now_ns: u64) {
        self.advance_at(ReceiveTime::at(now_ns));
    }

    /// Advances both clocks without a packet. The feed is called if it has due work.
    pub fn advance_at(&mut self, now: ReceiveTime) {
        let next_ns = self.feed.next_timeout();
        if next_ns.is_some_and(|next_ns| now.mono_ns >= next_ns) {
            self.feed.handle_timeout(now);
            self.run();
        }
    }

    /// The wall clock was set by this much, nanoseconds, before the times of later calls.
    #[cold]
    pub fn wall_stepped(&mut self, step_ns: i64) {
        self.feed.wall_stepped(step_ns);
    }

    /// Ends the input.
    pub fn finish(&mut self) {
        self.feed.finish();
        self.run();
        let Pipeline {
            instruments,
            books,
            publisher,
            states,
            ..
        } = self;
        let mut noted = Noted { states, publisher };
        books.finish(instruments, &mut noted);
        noted.commit();
    }

    /// Request of the feed to be carried out outside of the path.
    pub fn request(&self) -> Option<Request> {
        self.feed.request()
    }

    /// Whether the last request was filled; reported once.
    pub fn take_filled(&mut self) -> bool {
        self.feed.take_filled()
    }

    /// The last packet whose bytes differ from another line's copy, since the last call.
    #[inline]
    pub fn take_differing(&mut self) -> Option<DifferingCopy> {
        self.feed.take_differing()
    }

    /// The request failed; the next one is allowed from `again_ns` on.
    pub fn request_failed(&mut self, again_ns: u64) {
        self.feed.request_failed(again_ns);
        self.run();
    }

    /// Processes everything that is due without further input.
    #[inline]
    fn run(&mut self) {
        while self.feed.poll(&mut self.instruments, &mut self.batch) {
            self.apply();
        }
    }

    /// Runs the stages in order: the events of one packet, books, publisher; then the feedback to the feed.
    #[inline]
    fn apply(&mut self) {
        let Pipeline {
            feed,
            instruments,
            books,
            publisher,
            states,
            batch,
            recent,
        } = self;
        if batch.events.is_empty() && batch.quotes.is_empty() {
            return;
        }
        if let Some(recent) = recent {
            recent.note(&batch.events);
        }
        books.timestamps.packet = batch.packet_info;
        if books.trace {
            books.timestamps.decoded = ticks();
        }
        let mut noted = Noted { states, publisher };
        books.apply(&batch.events, batch.event_open, instruments, &mut noted);
        if !batch.quotes.is_empty() {
            books.quotes(&batch.quotes, &mut noted);
        }
        let feedback = books.feedback();
        if !feedback.is_empty() {
            feed.feedback(feedback);
            feedback.clear();
        }
        noted.commit();
    }

    /// Sets whether [`Pipeline::warm`] has an effect; the default is no. If so, the pipeline stores the instruments of each packet.
    pub fn set_keep_warm(&mut self, keep_warm: bool) {
        self.recent = keep_warm.then(Recent::new);
    }

    /// Reads the memory that a packet of one of the last instruments needs, so that it is in the caches when one comes after a pause.
    /// Nothing changes. For a loop that has nothing else to do; it takes as long as a few dozen reads.
    pub fn warm(&mut self) {
        if let Some(instrument) = self.recent.as_mut().and_then(Recent::next) {
            self.feed.warm(instrument);
            self.books.prices.warm(instrument);
            self.books.orders.warm(instrument);
            self.publisher.warm(instrument);
        }
    }

    /// Published states of the books and the channel.
    pub fn states(&self) -> &PublishedStates {
        &self.states
    }

    /// Number of packets before the first received one, if reception has started in mid-session since the last call.
    pub fn take_missed(&mut self) -> Option<u64> {
        self.books.missed.take()
    }

    /// Gaps since the last call.
    pub fn take_gaps(&mut self) -> Option<GapReport> {
        self.books.gaps.take()
    }

    /// Book health as seen by subscribers.
    pub fn book_health(&self) -> BookHealth {
        let (known, is_defined) = (self.instruments.len(), self.feed.is_defined());
        self.states.book_health(known, is_defined)
    }

    /// Latency trace of the last packet.
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

    /// Sets whether updates carry a latency trace; the default is yes.
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

    /// The price books between two packets; they may contain half of an open event.
    pub fn prices(&self) -> &PriceBooks {
        &self.books.prices
    }

    /// The order books, likewise.
    pub fn orders(&self) -> &OrderBooks {
        &self.books.orders
    }

    /// Counters.
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
    /// The connection to the venue is established.
    pub fn connected(&mut self, time: ReceiveTime) {
        self.feed.connected(time);
        self.run();
    }

    /// The connection to the venue was lost or failed.
    pub fn disconnected(&mut self, time: ReceiveTime) {
        self.feed.disconnected(time);
        self.run();
    }

    /// Something that the venue sent, for the log.
    pub fn take_warning(&mut self) -> Option<Warning> {
        self.feed.take_warning()
    }

    /// Requests a logout.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.feed.log_out(time);
        self.run();
    }

    /// This many bytes of the feed's output were sent.
    #[inline]
    pub fn sent(&mut self, bytes: usize, time: ReceiveTime) {
        self.feed.sent(bytes, time);
    }
}
