//! What the pipeline asks of a venue's feed.

use crate::{Feedback, Request};
use touchline_instruments::Instruments;
use touchline_types::{CounterInfo, Event, PacketInfo, ReceiveTime, Validity};

/// Batch: the events of one packet, in order.
#[derive(Debug)]
pub struct Batch {
    /// The packet that they come from.
    pub packet_info: PacketInfo,
    /// The events.
    pub events: Vec<Event>,
    /// Whether the venue is in the middle of an event behind this batch, also where nothing of it reached a book.
    pub event_open: bool,
    /// Packets that were processed in their order since the batch was made or this was taken.
    pub delivered: u32,
}

impl Batch {
    /// Room for `events_max` events, taken now.
    #[must_use]
    pub fn new(events_max: usize) -> Batch {
        Batch {
            packet_info: PacketInfo::default(),
            events: Vec::with_capacity(events_max),
            event_open: false,
            delivered: 0,
        }
    }

    /// Where a feed writes.
    #[inline]
    pub fn output<'a>(&'a mut self, instruments: &'a mut Instruments) -> Output<'a> {
        Output {
            instruments,
            events: &mut self.events,
        }
    }
}

/// Where a feed writes: the events of a batch, and the table of instruments.
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

/// What books are, as a feed's venue has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookRules {
    /// A book that is known to miss something.
    pub missing: Validity,
    /// A book that a change did not fit, until the feed says more of it.
    pub inconsistent: Validity,
}

/// A venue's feed: bytes and time in, events out.
///
/// The caller takes each batch to the books before the next call, tells what they found by [`Feed::feedback`], and calls
/// [`Feed::poll`] until it is `false` after every other call that takes `&mut self`.
pub trait Feed {
    /// Where bytes came in: which stream of the venue, which line.
    type Source: Copy;

    /// What it counts.
    const TABLES: &'static [&'static [CounterInfo]];

    /// What was counted so far, in the order of [`Feed::TABLES`].
    fn counted(&self) -> impl Iterator<Item = u64>;

    /// The table of instruments that this feed adds to, with those that its settings name. It is taken once.
    fn instruments(&mut self) -> Instruments;

    /// A batch with room for what any one call can give.
    fn batch(&self) -> Batch;

    /// What its books are.
    fn book_rules(&self) -> BookRules;

    /// Takes a packet, or a piece of a stream of bytes, and fills the emptied `batch` with what follows from it at once;
    /// gives how many bytes of it were taken. The rest is to be handed in again after [`Feed::poll`] was `false`; if
    /// nothing is taken then, nothing will be.
    fn handle(
        &mut self,
        source: Self::Source,
        bytes: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize;

    /// Fills `batch` with the next events that do not need further input. `false` if there are none.
    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool;

    /// Time passed and nothing is there to be handled: what waited long enough is let go.
    fn handle_timeout(&mut self, now: ReceiveTime);

    /// When [`Feed::handle_timeout`] has something to do at the earliest, in nanoseconds of [`ReceiveTime::mono_ns`]; looked
    /// at then, it may be nothing. `None`: never, unless something comes. A clock that steps back is the feed's to bear.
    fn next_timeout(&self) -> Option<u64>;

    /// No packet will come any more: nothing waits any longer.
    fn finish(&mut self);

    /// What is to be done outside, for as long as it is of use. It stays the same until it is done or
    /// came to nothing. Nothing, where a venue has no such thing.
    fn request(&self) -> Option<Request> {
        None
    }

    /// Whether the request that stood last was filled; told once.
    fn take_filled(&mut self) -> bool {
        false
    }

    /// The request failed: the feed continues without it, and wants none before `again_ns` (by the clock of
    /// [`ReceiveTime::mono_ns`]).
    fn request_failed(&mut self, _again_ns: u64) {}

    /// What the books found in the last batch.
    fn feedback(&mut self, feedback: &Feedback);

    /// Whether the venue has told of every instrument that it has.
    fn is_defined(&self) -> bool;
}

/// A session feed: a feed with a connection of its own: what its venue sends comes through
/// [`Feed::handle`] in pieces of any length, and it is answered.
///
/// The owner of the connection reports when it opens and closes, sends outgoing bytes, and closes it on request.
pub trait SessionFeed: Feed {
    /// The connection is there.
    fn connected(&mut self, time: ReceiveTime);

    /// The connection is gone, or was never made.
    fn disconnected(&mut self, time: ReceiveTime);

    /// Bytes that are to be sent, in order.
    fn outgoing(&self) -> &[u8];

    /// So many of them were sent.
    fn sent(&mut self, bytes: usize, time: ReceiveTime);

    /// Whether the connection is to be closed, once everything was sent.
    fn is_over(&self) -> bool;

    /// Why it is to be closed, for people. It may hold what the venue said, as it was said.
    fn reason(&self) -> String;

    /// An orderly end is wanted: the venue takes its leave, and is over when it was answered.
    fn log_out(&mut self, time: ReceiveTime);
}
