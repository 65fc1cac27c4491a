//! Events: normalised messages of a venue, in order.

use crate::{BookKind, ChannelState, Instrument, Price, Quantity, Side, Validity};

coded! {
    /// Action on a level, in the venue's positional terms.
    ///
    /// Source: FIX tag 279 MDUpdateAction; the CME client systems wiki does not specify
    /// `DeleteThru` and `DeleteFrom` completely, see `docs/venues/cme.md`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UpdateAction {
        /// Insert at the position; worse levels move down.
        New = 0,
        /// Replace the level at the position.
        Change = 1,
        /// Remove the level at the position; worse levels move up.
        Delete = 2,
        /// Remove the best level down to the position.
        DeleteThru = 3,
        /// Remove the position and every worse level.
        DeleteFrom = 4,
        /// As `Change`.
        Overlay = 5,
    }
}

/// Identification of the changed level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By its position from 1, the best: a book of few levels, kept by position.
    Position(u8),
    /// By its price: a book of every level, kept by price.
    Price,
}

/// A change of one level, as the venue states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelEvent {
    /// Instrument.
    pub instrument: Instrument,
    /// Total number of orders at the level; -1 if not stated.
    pub orders: i32,
    /// Price of the level.
    pub price: Price,
    /// Quantity at the level.
    pub quantity: Quantity,
    /// Identification of the level. A book that is kept in the other way ignores the event.
    pub place: Place,
    /// Action.
    pub action: UpdateAction,
    /// Side.
    pub side: Side,
    /// Book.
    pub book: BookKind,
}

/// A change of one order, as the venue states it. Null fields keep the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderEvent {
    /// The venue's order id.
    pub order_id: u64,
    /// Rank within its price, lowest first; `None` keeps the old one.
    pub priority: Option<u64>,
    /// Price; NULL keeps the old one.
    pub price: Price,
    /// Visible quantity; NULL keeps the old one.
    pub quantity: Quantity,
    /// Instrument.
    pub instrument: Instrument,
    /// Action.
    pub action: crate::OrderAction,
    /// Side.
    pub side: Side,
}

/// A trade: aggressor, quantity, price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Instrument.
    pub instrument: Instrument,
    /// Number of orders of the trade; -1 if not stated.
    pub orders: i32,
    /// Trade price.
    pub price: Price,
    /// Traded quantity.
    pub quantity: Quantity,
    /// Side of the aggressor; `None` if not stated.
    pub aggressor: Option<Side>,
    /// New, or a correction (Change) or bust (Delete) of an earlier one.
    pub action: UpdateAction,
    /// The venue's trade id; 0 without one.
    pub trade_id: u64,
}

/// A statistic of a session or a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Instrument.
    pub instrument: Instrument,
    /// Kind of statistic.
    pub kind: StatisticKind,
    /// Set, or deleted.
    pub action: UpdateAction,
    /// Price; NULL for statistics without one.
    pub price: Price,
    /// Quantity; NULL for statistics without one.
    pub quantity: Quantity,
}

coded! {
    /// Kind of a [`Statistic`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StatisticKind {
        /// Opening price, traded or indicative.
        Open = 0,
        /// Highest trade.
        High = 1,
        /// Lowest trade.
        Low = 2,
        /// Volume-weighted average price.
        Vwap = 3,
        /// Highest bid.
        HighestBid = 4,
        /// Lowest offer.
        LowestAsk = 5,
        /// Settlement price.
        Settlement = 6,
        /// Cleared volume.
        ClearedVolume = 7,
        /// Open interest.
        OpenInterest = 8,
        /// Fixing price.
        Fixing = 9,
        /// Electronic volume traded so far.
        Volume = 10,
        /// Upper price limit.
        HighLimit = 11,
        /// Lower price limit.
        LowLimit = 12,
        /// Largest price variation that the venue accepts.
        PriceBand = 13,
        /// A kind that the venue added after this version.
        Other = 14,
    }
}

/// Trading state of an instrument or of a whole product group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradingStatus {
    /// Instrument; `None` if the status applies to the whole group.
    pub instrument: Option<Instrument>,
    /// Product group, as the venue wrote it.
    pub group: [u8; 6],
    /// The venue's code of the state (CME: SecurityTradingStatus, tag 326); 255 if null.
    pub status: u8,
    /// The venue's code of the reason (CME: HaltReason, tag 327).
    pub reason: u8,
    /// The venue's code of an additional event (CME: SecurityTradingEvent, tag 1174).
    pub event: u8,
}

coded! {
    /// Phase of a venue's download: after a logon it sends the definitions and whole books of all
    /// selected instruments.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Phase {
        /// Started: further instruments may arrive.
        Begun = 0,
        /// Completed: every selected instrument was defined, and its book was requested and arrived, or is published as
        /// not live.
        Ended = 1,
    }
}

/// Packet info: the venue packet that the events of a batch come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketInfo {
    /// The venue's packet sequence number.
    pub sequence: u64,
    /// Sending time of the packet, nanoseconds since the Unix epoch.
    pub sending_ns: u64,
    /// Receive time of the packet, nanoseconds since the Unix epoch.
    pub receive_ns: u64,
}

/// Normalised event. Everything that reaches a book or a consumer is one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A level changed; the book is `Live` or `Natural` with it.
    Level(LevelEvent, Validity),
    /// A venue's event empties all lists of the instrument's price book.
    BookEmptied(Instrument, Validity),
    /// An order changed.
    Order(OrderEvent, Validity),
    /// A trade, and the venue's time of its event, nanoseconds since the Unix epoch.
    Trade(Trade, u64),
    /// A statistic of a session or a day, and the venue's time of its event, nanoseconds since the Unix epoch; of a
    /// snapshot, the time of the instrument's last event in it.
    Statistic(Statistic, u64),
    /// Trading state, and the venue's time of its event, nanoseconds since the Unix epoch; 0 if not stated.
    Status(TradingStatus, u64),
    /// End of the venue's event: the changes since the last end become visible.
    EndOfEvent {
        /// The venue's time of the event, nanoseconds since the Unix epoch.
        transact_ns: u64,
    },
    /// An instrument was defined, or redefined; details are in the venue's instrument table.
    Defined {
        /// Instrument.
        instrument: Instrument,
        /// Validity of its price book.
        price: Validity,
        /// Validity of its order book; `None` if the venue sends no single orders.
        orders: Option<Validity>,
    },
    /// Packets `first..=last` are lost: every book is `Gapped` until confirmed, every order book is
    /// unknown and emptied, and the open event is discarded.
    Lost {
        /// First lost packet.
        first: u64,
        /// Last lost packet.
        last: u64,
        /// Whether this is the start of reception in mid-session: none of the earlier packets was expected.
        is_join: bool,
    },
    /// Every book and order book is empty and complete: a channel reset, and the venue's time of it, nanoseconds since the
    /// Unix epoch, or a sequence reset, without one.
    Reset(Option<u64>),
    /// The instrument's price book is emptied: it has a gap.
    BookLost(Instrument, Validity),
    /// Start of the recovery of the price book: empty it and apply `RebuildLevel`s.
    RebuildBook(Instrument),
    /// A level of a snapshot or of the queue behind it.
    RebuildLevel(LevelEvent),
    /// The price book is complete. With the venue's time of its event, nanoseconds since the Unix epoch, 0 if unknown, if its
    /// messages state one.
    BookRebuilt(Instrument, Validity, Option<u64>),
    /// The instrument's order book is emptied: it has a gap.
    OrdersLost(Instrument, Validity),
    /// Start of the recovery of the order book: empty it and apply `RebuildOrder`s.
    RebuildOrders(Instrument),
    /// An order of a snapshot or of the queue behind it.
    RebuildOrder(OrderEvent),
    /// The order book is complete.
    OrdersRebuilt(Instrument, Validity),
    /// The price book is unchanged and has this validity.
    Validity(Instrument, Validity),
    /// State of every live book of the channel from now on, also in the middle of an event: a feed timeout, awaited
    /// packets that may change the books, or the end of either.
    Channel(ChannelState),
    /// An entry of the open event confirmed the price book: it is live with that event.
    Confirmed(Instrument),
    /// Start or end of the venue's download.
    Download(Phase),
}

const _: () = assert!(size_of::<LevelEvent>() == 32);
const _: () = assert!(
    size_of::<Event>() <= 64,
    "an event is at most one cache line"
);
