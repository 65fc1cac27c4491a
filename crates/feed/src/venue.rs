//! What the gateway asks of a venue's feed.

use touchline_types::{
    CounterInfo, Event, Instrument, InstrumentDefinition, PacketInfo, ReceiveTime, Validity,
};

/// The events of one packet, in order.
#[derive(Debug)]
pub struct Batch {
    /// The packet they come from.
    pub packet_info: PacketInfo,
    /// The events.
    pub events: Vec<Event>,
}

impl Batch {
    /// Room for `events_max` events, taken now.
    #[must_use]
    pub fn new(events_max: usize) -> Batch {
        Batch {
            packet_info: PacketInfo::default(),
            events: Vec::with_capacity(events_max),
        }
    }
}

/// What a venue wants sent. The control step of the duty cycle carries it out, and hands what comes
/// of it to [`Venue::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask for packets that every line lost again.
    Replay {
        /// First packet, at least 1.
        first: u32,
        /// Last packet, not before the first.
        last: u32,
    },
}

/// A venue's feed: bytes and time in, events out.
pub trait Venue {
    /// Where a packet came in: which feed, which line.
    type Channel: Copy;

    /// What it counts.
    const TABLES: &'static [&'static [CounterInfo]];

    /// What was counted so far, in the order of [`Venue::TABLES`].
    fn counted(&self) -> impl Iterator<Item = u64>;

    /// Takes one packet. The caller then calls [`Venue::next`] with the same bytes until it is `false`.
    fn receive(&mut self, channel: Self::Channel, payload: &[u8], time: ReceiveTime);

    /// A batch with room for what any one packet can give, for [`Venue::next`].
    fn batch(&self) -> Batch;

    /// Fills `batch` with the next events. `false` if there are none.
    fn next(&mut self, payload: &[u8], batch: &mut Batch) -> bool;

    /// Time passed and no packet is there: what waited long enough is let go. The caller then calls
    /// [`Venue::next`] with an empty payload until it is `false`.
    fn advance(&mut self, now: ReceiveTime);

    /// No packet will come any more: nothing waits any longer. As [`Venue::advance`].
    fn finish(&mut self);

    /// What is to be done outside, for as long as it is of use. It stays the same until it is done or
    /// came to nothing. Nothing, where a venue has no such thing.
    fn action(&self) -> Option<Action> {
        None
    }

    /// The action came to nothing: the venue goes on without it, and wants none before `again_ns`
    /// (by the clock of [`ReceiveTime::mono_ns`]). As [`Venue::advance`].
    fn failed(&mut self, _again_ns: u64) {}

    /// The books ran out of room for this instrument's orders: its order book is lost from here.
    fn orders_overflowed(&mut self, instrument: Instrument);

    /// A change did not fit this instrument's price book: a level was there already, or was not. The
    /// book is as the change said; the venue may ask for a whole one.
    fn book_inconsistent(&mut self, _instrument: Instrument) {}

    /// Whether the venue is in the middle of an event, also where nothing of it reached a book.
    fn event_open(&self) -> bool;

    /// What a book is that is known to miss something.
    fn missing(&self) -> Validity;

    /// Whether the venue is heard, so that a book that is live is shown as live.
    fn is_fresh(&self) -> bool;

    /// Whether the venue has told of every instrument that it has.
    fn is_defined(&self) -> bool;

    /// Whether the venue tells of single orders, as far as was seen.
    fn orders_seen(&self) -> bool;

    /// How many instruments are known; [`Instrument`]s run from 0 to there.
    fn instruments(&self) -> usize;

    /// What is known of an instrument.
    fn definition(&self, instrument: Instrument) -> &InstrumentDefinition;

    /// The present validity of an instrument's price book.
    fn validity(&self, instrument: Instrument) -> Validity;

    /// The present validity of an instrument's order book.
    fn orders_validity(&self, instrument: Instrument) -> Validity;
}

/// A session feed: a venue with a connection of its own: what it sends comes through
/// [`Venue::receive`] in pieces of any length, and it is answered.
///
/// Who owns the connection says when it is there and when it is gone, sends what is to be sent, and
/// closes it when that is asked for.
pub trait SessionFeed: Venue {
    /// The connection is there. As [`Venue::advance`].
    fn connected(&mut self, time: ReceiveTime);

    /// The connection is gone, or was never made. As [`Venue::advance`].
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
