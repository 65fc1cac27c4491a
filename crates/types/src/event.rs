//! Events: what a venue said, in our words, in order.

use crate::{BookKind, ChannelState, Instrument, Price, Quantity, Side, Validity};

coded! {
    /// What to do with a level, in the venue's positional terms.
    ///
    /// Source: FIX tag 279 MDUpdateAction; the CME client systems wiki leaves `DeleteThru` and
    /// `DeleteFrom` open, see `docs/venues/cme.md`.
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

/// How the venue names the level that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By its position from 1, the best: a book of few levels, kept by position.
    Position(u8),
    /// By its price alone: a book of every level, kept by price.
    Price,
}

/// A change of one level, as the venue states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelEvent {
    /// Which instrument.
    pub instrument: Instrument,
    /// Total number of orders at the level; -1 where the venue states none.
    pub orders: i32,
    /// Price of the level.
    pub price: Price,
    /// Quantity at the level.
    pub quantity: Quantity,
    /// How the level is found. A book that is kept the other way ignores the event.
    pub place: Place,
    /// What to do.
    pub action: UpdateAction,
    /// Which side.
    pub side: Side,
    /// Which book.
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
    /// Which instrument.
    pub instrument: Instrument,
    /// What to do.
    pub action: crate::OrderAction,
    /// Which side.
    pub side: Side,
}

/// A trade: aggressor, quantity, price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Which instrument.
    pub instrument: Instrument,
    /// Orders that took part; -1 where not stated.
    pub orders: i32,
    /// Trade price.
    pub price: Price,
    /// Traded quantity.
    pub quantity: Quantity,
    /// The side that took liquidity; `None` where the venue names none.
    pub aggressor: Option<Side>,
    /// New, or a correction (Change) or bust (Delete) of an earlier one.
    pub action: UpdateAction,
    /// The venue's trade id; 0 where there is none.
    pub trade_id: u64,
}

/// A figure about a session or a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Which instrument.
    pub instrument: Instrument,
    /// Which figure.
    pub kind: StatisticKind,
    /// Set, or taken back.
    pub action: UpdateAction,
    /// The price, NULL for figures that have none.
    pub price: Price,
    /// The quantity, NULL for figures that have none.
    pub quantity: Quantity,
}

coded! {
    /// Which figure a [`Statistic`] gives.
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
        /// A figure that the venue added after this was written.
        Other = 14,
    }
}

/// The trading state of an instrument or of a whole product group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradingStatus {
    /// The instrument; `None` where the status is of the whole group.
    pub instrument: Option<Instrument>,
    /// The group that it is about, as the venue wrote it.
    pub group: [u8; 6],
    /// The venue's own code of the state (CME: SecurityTradingStatus, tag 326); 255 where null.
    pub status: u8,
    /// The venue's code of the reason (CME: HaltReason, tag 327).
    pub reason: u8,
    /// The venue's code of an additional event (CME: SecurityTradingEvent, tag 1174).
    pub event: u8,
}

coded! {
    /// How far a venue's download is: after a logon it sends the definitions and whole books of all
    /// instruments that were chosen.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Phase {
        /// It has begun: instruments that are not told of yet may come.
        Begun = 0,
        /// It has ended: every selected instrument was defined, and its book was requested and arrived, or is
        /// published as not live.
        Ended = 1,
    }
}

/// Packet info: the venue packet that the events of a batch come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketInfo {
    /// The venue's packet sequence number.
    pub sequence: u64,
    /// When the venue sent the packet, nanoseconds since the Unix epoch.
    pub sending_ns: u64,
    /// When the packet was received, nanoseconds since the Unix epoch.
    pub receive_ns: u64,
}

/// One normalised event. Everything that reaches a book or a consumer is one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A level changed; the book is `Live` or `Natural` with it.
    Level(LevelEvent, Validity),
    /// All lists of the instrument's price book are to be emptied by a venue's event.
    BookEmptied(Instrument, Validity),
    /// An order changed.
    Order(OrderEvent, Validity),
    /// A trade, and when the venue says that its event began, nanoseconds since the Unix epoch.
    Trade(Trade, u64),
    /// A session or day figure.
    Statistic(Statistic),
    /// Trading state.
    Status(TradingStatus),
    /// The venue's event ends here: what was applied since the last end becomes visible.
    EndOfEvent {
        /// When the venue says that it began, nanoseconds since the Unix epoch.
        transact_ns: u64,
    },
    /// An instrument was defined, or redefined; details are in the venue's instrument table.
    Defined {
        /// Which.
        instrument: Instrument,
        /// What its price book is now.
        price: Validity,
        /// What its order book is now; `None` where the venue has no single orders.
        orders: Option<Validity>,
    },
    /// Packets `first..=last` are lost: every book is `Gapped` until confirmed, every order book
    /// is unknown and emptied, and the open event is forgotten.
    Lost {
        /// First lost packet.
        first: u64,
        /// Last lost packet.
        last: u64,
    },
    /// Every book and order book is empty and complete (channel reset, new numbering).
    Reset,
    /// The instrument's price book is emptied: it misses something from here on.
    BookLost(Instrument, Validity),
    /// Recovery of the price book begins: empty it and apply `RebuildLevel`s.
    RebuildBook(Instrument),
    /// A level of a snapshot or of the queue behind it.
    RebuildLevel(LevelEvent),
    /// The price book is whole again.
    BookRebuilt(Instrument, Validity),
    /// Recovery of the order book begins: empty it and apply `RebuildOrder`s.
    RebuildOrders(Instrument),
    /// An order of a snapshot or of the queue behind it.
    RebuildOrder(OrderEvent),
    /// The order book is whole again.
    OrdersRebuilt(Instrument, Validity),
    /// The price book is unchanged and of this validity.
    Validity(Instrument, Validity),
    /// State of every live book of the channel from now on, also in the middle of an event: the feed timed out,
    /// packets that may change the books are awaited, or neither any longer.
    Channel(ChannelState),
    /// An entry of the open event confirmed the price book: it is live with that event.
    Confirmed(Instrument),
    /// The venue's download has begun or ended.
    Download(Phase),
}

const _: () = assert!(size_of::<LevelEvent>() == 32);
const _: () = assert!(
    size_of::<Event>() <= 64,
    "an event is at most one cache line"
);
