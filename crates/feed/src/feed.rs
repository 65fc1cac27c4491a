//! Interface between the pipeline and a venue's feed.

use crate::{Feedback, QuoteBatch, Request};
use touchline_instruments::Instruments;
use touchline_types::{CounterInfo, Event, Instrument, PacketInfo, ReceiveTime, Validity};

/// Batch: the events of one packet, in order.
#[derive(Debug)]
pub struct Batch {
    /// Packet of the events.
    pub packet_info: PacketInfo,
    /// The events.
    pub events: Vec<Event>,
    /// Quotes of providers, published behind the events; of venues that have them.
    pub quotes: QuoteBatch,
    /// Whether the venue's event continues after this batch, also if no part of it reached a book.
    pub event_open: bool,
    /// Number of processed packets since the batch was created or this was read.
    pub delivered: u32,
}

impl Batch {
    /// Allocates for `events_max` events.
    #[must_use]
    pub fn new(events_max: usize) -> Batch {
        Batch {
            packet_info: PacketInfo::default(),
            events: Vec::with_capacity(events_max),
            quotes: QuoteBatch::default(),
            event_open: false,
            delivered: 0,
        }
    }

    /// Output of a feed.
    #[inline]
    pub fn output<'a>(&'a mut self, instruments: &'a mut Instruments) -> Output<'a> {
        Output {
            instruments,
            events: &mut self.events,
        }
    }
}

/// Output of a feed: the events of a batch, and the table of instruments.
#[derive(Debug)]
pub struct Output<'a> {
    /// All instruments; a feed adds to them and defines them.
    pub instruments: &'a mut Instruments,
    /// The events of the batch.
    pub events: &'a mut Vec<Event>,
}

impl Output<'_> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// A packet whose bytes differ from those of another line's copy: one of the two is forged or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferingCopy {
    /// Its sequence number.
    pub number: u64,
    /// Its line, which brought it later than the other copy came.
    pub line: &'static str,
}

/// Validities that a venue's feed gives to books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookRules {
    /// A book with a gap.
    pub missing: Validity,
    /// A book after an inconsistent change, until the feed recovers it.
    pub inconsistent: Validity,
}

/// A venue's feed: bytes and time in, events out.
///
/// The caller applies each batch to the books before the next call, reports the result with [`Feed::feedback`], and
/// calls [`Feed::poll`] until it is `false` after every other call that takes `&mut self`.
pub trait Feed {
    /// Source of bytes: stream and line of the venue.
    type Source: Copy;

    /// Counters of the feed.
    const TABLES: &'static [&'static [CounterInfo]];

    /// Values of the counters, in the order of [`Feed::TABLES`].
    fn counted(&self) -> impl Iterator<Item = u64>;

    /// The table of instruments for this feed, with those of its settings. Called once.
    fn instruments(&mut self) -> Instruments;

    /// A batch with room for the events of any one call.
    fn batch(&self) -> Batch;

    /// Validities of its books.
    fn book_rules(&self) -> BookRules;

    /// Processes a packet, or a piece of a byte stream, and fills the emptied `batch` with its first events; returns
    /// the number of consumed bytes. Call it again with the rest after [`Feed::poll`] was `false`; if no byte is
    /// consumed then, drop the rest.
    fn handle(
        &mut self,
        source: Self::Source,
        bytes: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize;

    /// Fills `batch` with further events that need no more input. `false` if there are none.
    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool;

    /// Processes timeouts; called when no input is available.
    fn handle_timeout(&mut self, now: ReceiveTime);

    /// The host's wall clock was set by this much, nanoseconds: times of later calls have the step in [`ReceiveTime::wall_ns`], and
    /// those of earlier calls do not.
    fn wall_stepped(&mut self, step_ns: i64);

    /// Time of the next call of [`Feed::handle_timeout`], in nanoseconds of [`ReceiveTime::mono_ns`]; the call may have
    /// nothing to do. `None`: not before further input. The feed tolerates a clock that steps back.
    fn next_timeout(&self) -> Option<u64>;

    /// End of input: releases everything that waits.
    fn finish(&mut self);

    /// Request to the feed's link, stated until it is filled or has failed. `None` for venues without requests.
    fn request(&self) -> Option<Request> {
        None
    }

    /// Whether the last request was filled; returned once.
    fn take_filled(&mut self) -> bool {
        false
    }

    /// The last packet whose bytes differ from another line's copy, since the last call.
    #[inline]
    fn take_differing(&mut self) -> Option<DifferingCopy> {
        None
    }

    /// The request failed: the feed continues without it, and wants none before `again_ns` (by the clock of
    /// [`ReceiveTime::mono_ns`]).
    fn request_failed(&mut self, _again_ns: u64) {}

    /// Reads its state of an instrument, so that it is in the caches.
    fn warm(&self, _instrument: Instrument) {}

    /// Result of the books for the last batch.
    fn feedback(&mut self, feedback: &Feedback);

    /// Whether the venue has defined every instrument.
    fn is_defined(&self) -> bool;
}

/// Warning about a venue's message, for the log. Texts may contain text of the venue, unescaped, and no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The venue rejected a request or a message: its message, with the reason.
    Rejected(String),
    /// The venue makes a book inconsistent again and again.
    BookFails {
        /// The book, and the error in it.
        reason: String,
        /// Times in a row.
        count: u32,
        /// Its message.
        message: String,
    },
}

/// Feed with a connection of its own: the venue's bytes reach it through [`Feed::handle`] in pieces of any length, and
/// it sends bytes.
///
/// The owner of the connection reports when it opens and closes, sends outgoing bytes, and closes it on request.
pub trait SessionFeed: Feed {
    /// The connection is established.
    fn connected(&mut self, time: ReceiveTime);

    /// The connection is closed, or could not be established.
    fn disconnected(&mut self, time: ReceiveTime);

    /// Bytes to send, in order.
    fn outgoing(&self) -> &[u8];

    /// This number of bytes was sent.
    fn sent(&mut self, bytes: usize, time: ReceiveTime);

    /// Whether the connection must be closed after the outgoing bytes.
    fn is_over(&self) -> bool;

    /// Reason of the close, for logs: equal for equal failures. It may contain text of the venue, unescaped.
    fn reason(&self) -> String;

    /// The venue's message that caused the close, for logs, without secrets; empty if none did. The same holds for its text.
    fn evidence(&self) -> String;

    /// Whether received bytes have a secret of the login in them, and so must not be kept.
    fn has_secret(&self, bytes: &[u8]) -> bool;

    /// Something that the venue sent, for logs: each one once, and the first of those that come together.
    fn take_warning(&mut self) -> Option<Warning>;

    /// Starts a logout; the feed is over when the venue has answered.
    fn log_out(&mut self, time: ReceiveTime);
}
